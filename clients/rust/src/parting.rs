use std::collections::HashMap;
use std::error::Error as _;
use std::time::Duration;

use tonic::{Code, Status, transport};
use tonic_types::StatusExt;

use crate::PROTOCOL_VERSION;
use crate::error::Error;
use crate::settings::Setup;
use crate::transport::innermost;

/// How a stream ended.
#[derive(Debug)]
pub(crate) struct Parting {
    pub(crate) code: Code,
    /// The server's, as in the protocol; empty if it gave none.
    pub(crate) reason: String,
    /// One line for a person.
    pub(crate) text: String,
    metadata: HashMap<String, String>,
    /// How long the server wants to be left alone.
    pub(crate) retry_after: Duration,
    /// Whether this side found that the server can't be played on.
    unusable: bool,
}

impl Parting {
    pub(crate) fn good() -> Self {
        Self::of(Code::Ok, "")
    }

    pub(crate) fn silent() -> Self {
        Self::of(Code::Unavailable, "no sign of life from the server")
    }

    pub(crate) fn unusable(text: impl Into<String>) -> Self {
        Self { unusable: true, ..Self::of(Code::FailedPrecondition, text) }
    }

    fn of(code: Code, text: impl Into<String>) -> Self {
        Self {
            code,
            reason: String::new(),
            text: text.into(),
            metadata: HashMap::new(),
            retry_after: Duration::ZERO,
            unusable: false,
        }
    }

    /// Tells whether another attempt may go well.
    pub(crate) fn is_passing(&self) -> bool {
        match self.reason.as_str() {
            "SHUTTING_DOWN" | "NO_HEARTBEAT" | "STALLED" | "RATE_LIMITED" | "TOO_MANY_STREAMS" => true,
            "" => !refuses(self.code),
            _ => self.code == Code::Unavailable,
        }
    }

    /// Returns the error of a bot that the server won't have.
    pub(crate) fn refused(&self, setup: &Setup) -> Error {
        let Setup { server, name, .. } = setup;
        let text = if self.unusable {
            format!("{server} can't be played on: {}", self.text)
        } else if self.reason == "UNSUPPORTED_VERSION" {
            let bound = |key: &str| self.metadata.get(key).map_or("?", String::as_str);
            format!(
                "{server} speaks versions {} to {} of the protocol, this bot version {PROTOCOL_VERSION}; \
                 update whichever is older",
                bound("supported_min"),
                bound("supported_max"),
            )
        } else {
            format!("{server} ended the session of {name:?}: {}", self.text)
        };
        self.error(setup, text)
    }

    /// Returns the error of a bot that found no server, or lost it for good.
    pub(crate) fn lost(&self, setup: &Setup) -> Error {
        let advice = if setup.encrypted {
            "is the server running there, and does it use TLS with a certificate of that CA?"
        } else {
            "is the server running there? (start one with: happycity serve)"
        };
        self.error(setup, format!("no connection to {}: {}; {advice}", setup.server, self.text))
    }

    fn error(&self, setup: &Setup, text: String) -> Error {
        Error::Connection {
            server: setup.server.clone(),
            name: setup.name.clone(),
            code: self.code,
            reason: self.reason.clone(),
            text,
        }
    }
}

/// Tells whether a status means no even without a reason of the server's.
fn refuses(code: Code) -> bool {
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
impl From<Status> for Parting {
    fn from(status: Status) -> Self {
        // Where nothing came from the server, the status itself says little.
        let text = status.source().map_or_else(|| status.message().to_owned(), innermost);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut parting = Self::of(status.code(), line);
        if let Some(info) = status.get_details_error_info() {
            parting.reason = info.reason;
            parting.metadata = info.metadata;
        }
        if let Some(wait) = parting.metadata.get("retry_after_ms").and_then(|wait| wait.parse::<u32>().ok()) {
            parting.retry_after = Duration::from_millis(wait.into());
        }
        parting
    }
}

/// No connection to begin with.
impl From<transport::Error> for Parting {
    fn from(error: transport::Error) -> Self {
        Self::of(Code::Unavailable, innermost(&error))
    }
}
