use std::fmt;

use tonic::Code;

/// Why a bot can't play, or plays no more. Displayed, it is one line that says what to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting can't be used.
    #[non_exhaustive]
    Setting {
        /// The field of [`Settings`](crate::Settings), or the variable of the environment.
        setting: &'static str,
        /// What is wrong, and what to do.
        text: String,
    },
    /// The server can't be reached, refused the bot, or went away for too long.
    #[non_exhaustive]
    Connection {
        /// The status code with which the server, or gRPC, ended the stream.
        code: Code,
        /// The server's reason, as in the contract, such as `REPLACED`; empty if it gave none.
        reason: String,
        /// What happened, and what to do.
        text: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Setting { setting, text } => write!(f, "{setting}: {text}"),
            Error::Connection { text, .. } => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
