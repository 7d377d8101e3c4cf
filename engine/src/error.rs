//! What the engine refuses.

use core::fmt;

/// Why something was refused; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The move is not among the legal ones.
    IllegalMove,
    /// The card is not among those of which one is awaited.
    NotAwaited,
    /// A card is awaited: reveal it first.
    Awaiting,
    /// No game can look like this: the part is the first one that is impossible.
    Impossible(&'static str),
    /// Weights of another size than the layers of a network.
    #[cfg(feature = "network")]
    Weights,
    /// Bytes that are not a position, or not a view.
    Malformed(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::IllegalMove => formatter.write_str("the move is not legal here"),
            Error::NotAwaited => formatter.write_str("the card is not awaited"),
            Error::Awaiting => formatter.write_str("a card is awaited; reveal it first"),
            Error::Impossible(part) => write!(formatter, "{}: no game can look like this", part),
            #[cfg(feature = "network")]
            Error::Weights => formatter.write_str("weights: no network has these sizes"),
            Error::Malformed(part) => write!(formatter, "{}: not the bytes of a position or view", part),
        }
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Error {}
