//! Connects bots to a Happy City arena.
//!
//! A bot is one function that answers a decision with the position of a move:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use happycity::{Choice, Decision, Settings};
//!
//! fn first(_: &Decision) -> Choice {
//!     Ok(0) // the first move is always the neutral one
//! }
//!
//! fn main() -> ExitCode {
//!     happycity::run(|_| first, Settings::default())
//! }
//! ```
//!
//! A bot with a memory is a type that is a [`Bot`]; the first argument of [`run`] is called for each game that
//! starts, and makes the bot that plays it. Many games are played at once. Connecting, batches, signs of life, lost
//! connections and the goodbye are the crate's business; [`run`] is all of a program, [`play`] is for programs that
//! do other things too.
//!
//! The messages are those of the protocol, module [`v1`].

#![warn(missing_docs)]

mod backoff;
mod bot;
#[rustfmt::skip]
mod cards;
mod catalogue;
mod channel;
mod chores;
mod connection;
mod decision;
mod error;
mod games;
mod logger;
mod outbox;
mod parting;
mod play;
mod run;
mod settings;
#[cfg(test)]
mod tests;
mod thinkers;
mod transport;
/// Messages and services of the protocol, as generated from its files.
#[rustfmt::skip]
pub mod v1;

pub use bot::{Bot, Choice};
pub use catalogue::{CardInfo, cards};
pub use channel::{Bearer, Channel, retry_after, wait_for};
pub use decision::Decision;
pub use error::Error;
pub use play::play;
pub use run::run;
pub use settings::Settings;
pub use tonic;
pub use v1::copy::Source as CopySource;
pub use v1::r#move::Kind as MoveKind;
pub use v1::{
    Card, CardKind, Colour, Event, EventKind, GameStarted, Mode, Move, Phase, Result as GameResult, Scoring, SeatState,
    View, VoidReason,
};

/// The version of the protocol that this crate speaks.
pub const PROTOCOL_VERSION: u32 = 1;
