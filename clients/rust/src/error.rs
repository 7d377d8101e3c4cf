use std::error::Error as StdError;
use std::time::Duration;
use std::{fmt, iter};

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
}

impl Error {
    /// Returns an error after which another attempt is pointless.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), reason: String::new(), exit_status: 2, retry_after: None }
    }

    pub(crate) fn of_protocol(server: &str, what: &str) -> Self {
        Self { exit_status: 1, ..Self::new(format!("{server} broke the protocol: {what}")) }
    }

    /// Explains a status with which a stream ended; `url` is the server's address with its scheme.
    pub(crate) fn of_status(server: &str, url: &str, status: &Status, is_welcomed: bool) -> Self {
        let message = one_line(status.message());
        // tonic has no codes of its own for a message that can't be read and for a stream that breaks.
        if status.code() == Code::Internal && message.starts_with("failed to decode Protobuf") {
            return Self::of_protocol(server, "a message can't be read");
        }
        let is_lost = status.source().is_some() || message.starts_with("protocol error: missing grpc-status");
        if is_lost && !is_welcomed {
            let text = format!("{server} can't be reached: {}; `happycity status {url}` says why", cause(status));
            return Self { retry_after: Some(Duration::ZERO), ..Self::new(text) };
        }
        let reason = status.get_details_error_info().map_or_else(String::new, |info| info.reason);
        let is_closed = match status.code() {
            Code::Unavailable => true,
            Code::Cancelled => reason.is_empty(), // by a server that closes
            _ => false,
        };
        let retry_after = match status.get_details_retry_info() {
            Some(info) => Some(info.retry_delay.unwrap_or_default()),
            None => (is_lost || is_closed).then_some(Duration::ZERO),
        };
        let action = if is_welcomed { "ended the session" } else { "refused the bot" };
        let text = if is_lost { cause(status) } else { message };
        Self { reason, retry_after, ..Self::new(format!("{server} {action}: {text}")) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Error {}

/// Returns the text of the innermost cause of an error; the errors around it say only where it happened.
pub(crate) fn cause(error: &(dyn StdError + 'static)) -> String {
    let innermost = iter::successors(Some(error), |error| (*error).source()).last();
    one_line(&innermost.unwrap_or(error).to_string())
}

/// Returns a text in one line without control characters: fit for a terminal, wherever it came from.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
