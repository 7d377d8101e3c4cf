use std::error::Error as StdError;
use std::time::Duration;
use std::{fmt, io, iter};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// Why a bot can't play, or plays no more.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// One line for a person: what happened, and what to do.
    pub text: String,
    /// The server's reason, as in the contract, such as `REPLACED`; empty if it gave none.
    pub reason: String,
    /// The exit status of a program that ends with this error: 1 if the server broke the protocol, else 2.
    pub exit_status: u8,
    /// How long to wait at least before another attempt; `None` if it is pointless.
    pub(crate) retry_after: Option<Duration>,
    /// Whether a look at the server may find a better explanation.
    pub(crate) is_vague: bool,
}

impl Error {
    /// Returns an error after which another attempt is pointless.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), reason: String::new(), exit_status: 2, retry_after: None, is_vague: false }
    }

    /// Returns an error after which another attempt may succeed at once.
    fn passing(text: String) -> Self {
        Self { retry_after: Some(Duration::ZERO), ..Self::new(text) }
    }

    pub(crate) fn of_protocol(server: &str, what: &str) -> Self {
        Self { exit_status: 1, ..Self::new(format!("{server} broke the protocol: {what}")) }
    }

    /// Returns the error of a bot whose last attempt to reach a lost server ended with this one.
    pub(crate) fn after(self, server: &str, time: Duration) -> Self {
        Self { text: format!("no connection to {server} for {} s: {}", time.as_secs(), self.text), ..self }
    }

    /// Explains a status; `action` is what the server did with the bot.
    pub(crate) fn of_status(server: &str, status: &Status, action: &str) -> Self {
        // tonic has no codes of its own for a stream that breaks and for a message that can't be read.
        if status.source().is_some() || status.message().starts_with("protocol error: missing grpc-status") {
            return Self::of_transport(server, status);
        }
        if status.code() == Code::Internal && status.message().starts_with("failed to decode Protobuf") {
            return Self::of_protocol(server, "a message can't be read");
        }
        let retry_after = match status.get_details_retry_info() {
            Some(info) => Some(info.retry_delay.unwrap_or_default()),
            None => (status.code() == Code::Unavailable).then_some(Duration::ZERO),
        };
        let reason = status.get_details_error_info().map_or_else(String::new, |info| info.reason);
        let text = format!("{server} {action}: {}", one_line(status.message()));
        Self { reason, retry_after, ..Self::new(text) }
    }

    /// Explains a connection that fails.
    pub(crate) fn of_transport(server: &str, error: &(dyn StdError + 'static)) -> Self {
        let sources = || iter::successors(Some(error), |error| (*error).source());
        let known = sources().filter_map(|source| source.downcast_ref()).find_map(|error| Self::of_io(server, error));
        known.unwrap_or_else(|| {
            let cause = one_line(&sources().last().unwrap_or(error).to_string());
            Self { is_vague: true, ..Self::passing(format!("{server} can't be reached: {cause}")) }
        })
    }

    fn of_io(server: &str, error: &io::Error) -> Option<Self> {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            let text = format!("nothing listens on {server}; start a server there with: happycity serve");
            return Some(Self::passing(text));
        }
        #[cfg(feature = "tls")]
        {
            use rustls::CertificateError::{NotValidForName, NotValidForNameContext};
            use rustls::Error::{InvalidCertificate, InvalidMessage};

            let text = match error.get_ref()?.downcast_ref()? {
                InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
                    format!("the certificate of {server} is for another name")
                }
                InvalidCertificate(_) => {
                    format!("the certificate of {server} is not trusted; set HAPPYCITY_CA to the file of its CA")
                }
                InvalidMessage(_) => format!("{server} does not use TLS; write HAPPYCITY_SERVER=grpc://{server}"),
                _ => return None,
            };
            Some(Self::new(text))
        }
        #[cfg(not(feature = "tls"))]
        None
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Error {}

/// Looks why there is no connection to a server, as tonic's errors don't tell it.
pub(crate) async fn probe(server: &str, tls: bool) -> Option<Error> {
    const PROBE_TIME: Duration = Duration::from_secs(2);
    /// HTTP/2 begins with this text and a frame of settings, type 4, from both sides.
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

    if server.starts_with("unix:") {
        return None;
    }
    let Ok(addresses) = lookup_host(server).await else {
        return Some(Error::passing(format!("the host name of {server} can't be resolved")));
    };
    if tls {
        return None;
    }
    let addresses: Vec<_> = addresses.collect();
    let mut stream = timeout(PROBE_TIME, TcpStream::connect(&*addresses)).await.ok()?.ok()?;
    let mut frame = [0; 9];
    let exchange = async {
        stream.write_all(PREFACE).await?;
        stream.read_exact(&mut frame).await
    };
    let is_http2 = matches!(timeout(PROBE_TIME, exchange).await, Ok(Ok(_))) && frame[3] == 4;
    let advice = format!("if it uses TLS, write HAPPYCITY_SERVER=grpcs://{server}");
    (!is_http2).then(|| Error::new(format!("{server} does not answer without TLS; {advice}")))
}

/// Returns a text in one line without control characters: fit for a terminal, wherever it came from.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
