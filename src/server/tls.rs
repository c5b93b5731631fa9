//! TLS on the server's own port: the certificate that it shows, and what who comes in clear is told.

use super::error::Rejection;
use crate::model::{Code, Refusal};
use axum::Router;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A handshake must be whole within this time.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// What each TLS connection begins with: the type of a record that carries a handshake (RFC 8446, 5.1).
const HANDSHAKE_RECORD: u8 = 22;

/// Why a certificate cannot be served with; a fragment that reads well after the file's name.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate's file has none.
    #[error("holds no certificate: it must be PEM, the server's own first, then those that signed it")]
    NoCertificate,
    /// The key's file has none.
    #[error("holds no private key: it must be PEM, as `openssl genpkey` or an ACME client writes it")]
    NoKey,
    /// The key's file needs a passphrase, and nobody is there to type it.
    #[error("is locked by a passphrase: `openssl pkey -in FILE -out UNLOCKED` writes one that is not")]
    Locked,
    /// The key is of another certificate.
    #[error("is not the key of that certificate: name the two files that were made together")]
    OtherKey,
    /// Something else that TLS does not take.
    #[error("cannot be served with: {0}")]
    Unfit(rustls::Error),
}

/// What a server proves its name with. Cheap to clone.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(…)")
    }
}

/// The certificates of a PEM text, the server's own first.
#[derive(Debug, Clone)]
pub struct Chain(Vec<CertificateDer<'static>>);

impl Chain {
    /// Reads them.
    ///
    /// # Errors
    /// There are none.
    pub fn read(pem: &[u8]) -> Result<Self, TlsError> {
        let all = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(|_| TlsError::NoCertificate)?;
        if all.is_empty() { Err(TlsError::NoCertificate) } else { Ok(Self(all)) }
    }
}

/// How a connection began.
pub enum Begun {
    /// As it should.
    Secure(Box<TlsStream<TcpStream>>),
    /// In clear; nothing was read yet.
    Clear(TcpStream),
}

impl Tls {
    /// Certificates with the private key of the first, a PEM text.
    ///
    /// # Errors
    /// No key, or none that fits.
    pub fn new(Chain(chain): Chain, key: &[u8]) -> Result<Self, TlsError> {
        let locked = key.windows(9).any(|bytes| bytes == b"ENCRYPTED");
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| if locked { TlsError::Locked } else { TlsError::NoKey })?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
        let mut config = config.map_err(|why| match why {
            rustls::Error::InconsistentKeys(_) => TlsError::OtherKey,
            why => TlsError::Unfit(why),
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Begins a connection; none where it broke or took too long.
    pub async fn begin(&self, stream: TcpStream) -> Option<Begun> {
        let began = async {
            let mut first = [0];
            let there = stream.peek(&mut first).await.ok()?;
            if there == 1 && first[0] != HANDSHAKE_RECORD {
                return Some(Begun::Clear(stream));
            }
            let secure = self.0.accept(stream).await;
            secure.inspect_err(|error| tracing::debug!(%error, "a handshake failed")).ok().map(|it| Begun::Secure(Box::new(it)))
        };
        tokio::time::timeout(HANDSHAKE, began).await.ok().flatten()
    }
}

/// What whoever comes in clear is told, whatever they ask.
pub fn in_clear() -> Router {
    Router::new().fallback(async || {
        let refusal = Refusal::new(Code::Invalid, "this port speaks https alone");
        Rejection(refusal.hint("write https:// in place of http://; a token that was sent in clear should be revoked"))
    })
}
