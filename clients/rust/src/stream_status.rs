use std::error::Error as _;
use std::time::Duration;

use tonic::{Code, Status, transport};
use tonic_types::StatusExt;

use crate::error::Error;
use crate::reasons::RETRYABLE;
use crate::settings::Setup;
use crate::text::one_line;
use crate::transport::innermost;

/// The domain of the contract's reasons.
const DOMAIN: &str = "happycity.dev";
/// A server is not obeyed that asks for a longer pause.
const LONGEST_RETRY: Duration = Duration::from_secs(3600);

/// How a stream or a call ended.
#[derive(Debug)]
pub(crate) struct StreamStatus {
    pub(crate) code: Code,
    /// The server's reason, as in the contract; empty if it gave none.
    pub(crate) reason: String,
    /// One line for a person.
    pub(crate) text: String,
    /// How long the server asks to wait before another attempt, if it says so.
    pub(crate) retry_after: Option<Duration>,
}

impl StreamStatus {
    pub(crate) fn new(code: Code, text: &str) -> Self {
        Self { code, reason: String::new(), text: one_line(text), retry_after: None }
    }

    /// Returns whether another attempt may succeed.
    pub(crate) fn is_retryable(&self) -> bool {
        if self.reason.is_empty() {
            return !is_refusal(self.code);
        }
        // A reason that this version doesn't know says it by its code.
        RETRYABLE.contains(&self.reason.as_str()) || self.code == Code::Unavailable
    }

    /// Returns the error of a bot that the server refuses.
    pub(crate) fn refused(&self, setup: &Setup) -> Error {
        self.error(format!("{} ended the session of {:?}: {}", setup.server, setup.name, self.text))
    }

    /// Returns the error of a bot that found no server, or lost it for good.
    pub(crate) fn lost(&self, setup: &Setup) -> Error {
        let advice = if setup.encrypted {
            "is the server running there, and does it use TLS with a certificate of that CA?"
        } else {
            "is the server running there? (start one with: happycity serve)"
        };
        self.error(format!("no connection to {}: {}; {advice}", setup.server, self.text))
    }

    fn error(&self, text: String) -> Error {
        Error::Connection { code: self.code, reason: self.reason.clone(), text }
    }
}

/// Returns whether a code without a reason of the contract means that another attempt is pointless.
fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::Unauthenticated
            | Code::PermissionDenied
            | Code::Unimplemented
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::NotFound
    )
}

/// The end of a stream by the server, or by what is between.
impl From<Status> for StreamStatus {
    fn from(status: Status) -> Self {
        // Where nothing came from the server, the cause says more than the status.
        let text = status.source().map_or_else(|| status.message().to_owned(), innermost);
        let mut ended = Self::new(status.code(), &text);
        if let Some(info) = status.get_details_error_info().filter(|info| info.domain == DOMAIN) {
            ended.reason = info.reason;
            ended.retry_after =
                status.get_details_retry_info().and_then(|info| info.retry_delay).map(|delay| delay.min(LONGEST_RETRY));
        }
        ended
    }
}

/// No connection to begin with.
impl From<transport::Error> for StreamStatus {
    fn from(error: transport::Error) -> Self {
        Self::new(Code::Unavailable, &innermost(&error))
    }
}

#[cfg(test)]
mod tests {
    use tonic::codegen::Bytes;
    use tonic_types::ErrorDetails;

    use super::*;

    fn ended(code: Code, reason: &str) -> StreamStatus {
        StreamStatus { reason: reason.to_owned(), ..StreamStatus::new(code, "") }
    }

    /// Another attempt may succeed after the reasons that the contract names, else as the code says.
    #[test]
    fn retryable() {
        assert!(ended(Code::Aborted, "STALLED").is_retryable());
        assert!(ended(Code::ResourceExhausted, "TOO_MANY_OPEN").is_retryable());
        assert!(!ended(Code::Aborted, "REPLACED").is_retryable());
        assert!(ended(Code::Unavailable, "OF_A_NEWER_SERVER").is_retryable());
        assert!(!ended(Code::Aborted, "OF_A_NEWER_SERVER").is_retryable());
        assert!(ended(Code::Internal, "").is_retryable());
        assert!(!ended(Code::PermissionDenied, "").is_retryable());
    }

    /// A pause that the server asks for is read, but not an endless one.
    #[test]
    fn retry_after() {
        for (asked, read) in [(0, 0), (1500, 1500), (u64::MAX, 3_600_000)] {
            let mut details = ErrorDetails::with_error_info("RATE_LIMITED", DOMAIN, []);
            details.set_retry_info(Some(Duration::from_millis(asked)));
            let status = StreamStatus::from(Status::with_error_details(Code::ResourceExhausted, "", details));
            assert_eq!(status.retry_after, Some(Duration::from_millis(read)));
        }
    }

    /// Details that are damaged, or of another service, are none; the text is fit for a terminal.
    #[test]
    fn strange_details() {
        let foreign = ErrorDetails::with_error_info("RATE_LIMITED", "example.org", []);
        let no_domain = ErrorDetails::with_error_info("RATE_LIMITED", "", []);
        for status in [
            Status::with_details(Code::Aborted, "\x1b[2J gone\nfor good", Bytes::from_static(b"\xff\xff\xff")),
            Status::with_error_details(Code::Aborted, "\x1b[2J gone\nfor good", foreign),
            Status::with_error_details(Code::Aborted, "\x1b[2J gone\nfor good", no_domain),
        ] {
            let ended = StreamStatus::from(status);
            assert_eq!((ended.code, ended.reason.as_str(), ended.retry_after), (Code::Aborted, "", None));
            assert_eq!(ended.text, "[2J gone for good");
        }
    }
}
