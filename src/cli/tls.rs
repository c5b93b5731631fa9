//! The certificate that `serve` and `relay` show: `--tls-cert` and `--tls-key`.

use super::exit::Failure;
use crate::server::tls::{Chain, Tls, TlsError};
use std::path::{Path, PathBuf};

/// The files of a certificate.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TlsFiles {
    /// Serve over TLS with this certificate: PEM, the server's own first, then those that signed it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of that certificate: PEM, without a passphrase
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
}

impl TlsFiles {
    /// Reads them, where they are named.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not what it should be; the text names it.
    pub fn read(&self) -> Result<Option<Tls>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(None) };
        let unfit = |option: &str, file: &Path, why: TlsError| Failure::usage(format!("{option} {} {why}", file.display()));
        let chain = Chain::read(&bytes("--tls-cert", certificate)?).map_err(|why| unfit("--tls-cert", certificate, why))?;
        Tls::new(chain, &bytes("--tls-key", key)?).map(Some).map_err(|why| unfit("--tls-key", key, why))
    }
}

fn bytes(option: &str, file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|why| {
        let text = format!("{option} {} cannot be read: {why}", file.display());
        Failure::usage(text).hint("name a file that the user of this process may read")
    })
}
