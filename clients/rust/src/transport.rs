//! The way to the server: its address, encrypted or not.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{error, fs, iter};

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Uri};

use crate::error::Error;

/// As many bytes as the server may send in one batch, which can hold any number of games.
pub(crate) const LARGEST_MESSAGE: usize = 64 << 20;

pub(crate) struct Tls {
    pub(crate) wanted: bool,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl Tls {
    pub(crate) fn encrypts(&self) -> bool {
        self.wanted || self.ca.is_some() || self.cert.is_some() || self.key.is_some()
    }

    /// Reads the files.
    fn config(&self) -> Result<ClientTlsConfig, Error> {
        let config = match &self.ca {
            Some(ca) => ClientTlsConfig::new().ca_certificate(trusted(ca)?),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        match (&self.cert, &self.key) {
            (None, None) => Ok(config),
            (None, _) => Err(wrong("cert", "it is missing; key needs it too")),
            (_, None) => Err(wrong("key", "it is missing; cert needs it too")),
            (Some(cert), Some(key)) => Ok(config.identity(Identity::from_pem(read("cert", cert)?, read("key", key)?))),
        }
    }

    /// Returns what is wrong where the config can't be used.
    fn refused(&self, error: &tonic::transport::Error) -> Error {
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => wrong(
                "cert",
                format!("{cert:?} and {key:?} are no certificate and its key in PEM: {}", innermost(error)),
            ),
            _ => wrong("tls", innermost(error)),
        }
    }
}

/// Prepares connections to a server. HTTP's pings find a dead machine before the server's own do; the server allows
/// one every 10 s.
pub(crate) fn endpoint(server: &str, tls: &Tls) -> Result<Endpoint, Error> {
    let address = address(server, if tls.encrypts() { "https" } else { "http" })?;
    let no_address = |error| wrong("server", format!("{server:?} is no address: {}", innermost(&error)));
    let endpoint = Endpoint::from_shared(address)
        .map_err(no_address)?
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    if !tls.encrypts() {
        return Ok(endpoint);
    }
    endpoint.tls_config(tls.config()?).map_err(|error| tls.refused(&error))
}

fn address(server: &str, scheme: &str) -> Result<String, Error> {
    if is_unix(server) {
        return Ok(server.to_owned());
    }
    let uri: Option<Uri> = format!("{scheme}://{server}").parse().ok();
    let plain = |uri: &Uri| uri.authority().is_some_and(|authority| authority.as_str() == server);
    match uri.filter(plain) {
        Some(uri) if uri.port_u16().is_some() => Ok(uri.to_string()),
        _ => Err(wrong("server", format!("{server:?} is no address; host:port is needed"))),
    }
}

fn is_unix(server: &str) -> bool {
    server.strip_prefix("unix:").is_some_and(|path| !path.is_empty())
}

/// Returns whether an address stays on this machine. Names are not looked up.
pub(crate) fn is_loopback(server: &str) -> bool {
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    is_unix(server) || host == "localhost" || ip.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

fn trusted(ca: &Path) -> Result<Certificate, Error> {
    let pem = read("ca", ca)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(Certificate::from_pem(pem)),
        _ => Err(wrong("ca", format!("{ca:?} holds no certificates in PEM"))),
    }
}

fn read(setting: &'static str, file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(|error| wrong(setting, format!("{file:?} can't be read: {error}")))
}

fn wrong(setting: &'static str, text: impl Into<String>) -> Error {
    Error::Setting { setting, text: text.into() }
}

/// Returns the cause of an error of tonic, which by itself says little.
pub(crate) fn innermost(error: &(dyn error::Error + 'static)) -> String {
    iter::successors(Some(error), |error| error.source()).last().unwrap_or(error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only addresses that can't leave the machine are loopback.
    #[test]
    fn loopback() {
        for server in ["127.0.0.1:50051", "127.8.8.8:1", "localhost:1", "localhost", "[::1]:1", "unix:/tmp/socket"] {
            assert!(is_loopback(server), "{server}");
        }
        for server in ["10.0.0.1:1", "0.0.0.0:1", "example.org:1", "localhost.example.org:1", "", "[fe80::1]:1"] {
            assert!(!is_loopback(server), "{server}");
        }
    }

    /// What can't be connected to is an error at once.
    #[test]
    fn addresses() {
        let tls = Tls { wanted: false, ca: None, cert: None, key: None };
        for server in ["127.0.0.1:50051", "[::1]:1", "example.org:443", "unix:/tmp/socket", "unix:socket"] {
            endpoint(server, &tls).unwrap();
        }
        for server in ["", "localhost", "http://localhost:1", "localhost:1/path", "localhost:many", "a b:1", "unix:"] {
            assert!(matches!(endpoint(server, &tls), Err(Error::Setting { setting: "server", .. })), "{server}");
        }
    }
}
