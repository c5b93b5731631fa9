//! Whom an https address is believed: the system's authorities or named ones, and what to do where the proof fails.

use super::{Answer, ClientError};
use reqwest::{Certificate, ClientBuilder};
use rustls::{CertificateError, Error, InvalidMessage};
use std::io;

/// A client that trusts the authorities of a PEM text alone; the system's where none is given.
pub(super) fn by(builder: ClientBuilder, authority: Option<&[u8]>) -> Answer<ClientBuilder> {
    let Some(pem) = authority else { return Ok(builder) };
    let none = || ClientError::Refused("the authority's file (--ca) holds no certificate: it must be PEM".to_owned());
    let certificates = Certificate::from_pem_bundle(pem).map_err(|_| none())?;
    if certificates.is_empty() {
        return Err(none());
    }
    Ok(builder.tls_certs_only(certificates))
}

/// What is wrong with the proof, and what to do; none where something else is.
pub(super) fn advice(error: &reqwest::Error) -> Option<String> {
    Some(match found(error)? {
        Error::InvalidCertificate(why) => of(why),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "what answers there does not speak https; is the address http://…?".to_owned()
        }
        _ => return None,
    })
}

fn of(why: &CertificateError) -> String {
    match why {
        CertificateError::UnknownIssuer => {
            "who signed its certificate is not trusted here; where that authority's certificate came \
             to you another way, name its file with --ca"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; whoever runs it must renew it, or this machine's clock is wrong".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; this machine's clock may be wrong".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            format!("its certificate is for other names than this address; use one that it is for: {}", presented.join(", "))
        }
        // The library names this one by its text alone.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is an authority's own (CA:TRUE), which no \
             server may show; have it sign one for the server"
                .to_owned()
        }
        other => format!("its certificate is refused: {other}"),
    }
}

/// The innermost error of TLS: it stands inside errors of input and output, which do not give it as their source.
fn found<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e Error> {
    let mut cause = Some(error);
    while let Some(here) = cause {
        if let Some(tls) = here.downcast_ref() {
            return Some(tls);
        }
        let inside = here.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = inside.map(|inner| inner as &(dyn std::error::Error + 'static)).or_else(|| here.source());
    }
    None
}
