//! Connects bots to a Happy City arena.
//!
//! A bot is a function that answers a decision with the position of a move:
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
//!     happycity::run(|_| first, Settings { games: Some(20), ..Settings::default() })
//! }
//! ```
//!
//! A bot with a memory is a type that implements [`Bot`]. The first argument of [`run`] makes one for each game; many
//! games are played at once. [`run`] is a whole program, [`play`] is for programs that do other things too.
//!
//! The messages are those of the contract, module [`v1`].
//!
//! With the feature `engine`, [`Decision`] has the method `position`, from which a bot can search, and the module
//! `engine` is the crate `happycity-engine`.

#![warn(missing_docs)]

mod catalogue;
mod client;
mod decision;
mod error;
mod pauses;
mod player;
mod recorded;
mod session;
mod settings;
#[cfg(test)]
#[path = "../tests/unit/mod.rs"]
mod tests;
/// Messages and clients of the contract, as generated from its files.
#[rustfmt::skip]
pub mod v1;

pub use catalogue::cards;
pub use client::{play, run};
pub use decision::{Bot, Choice, Decision};
pub use error::Error;
#[cfg(feature = "engine")]
pub use happycity_engine as engine;
pub use recorded::{ask, read_decision};
pub use settings::Settings;
pub use tonic;
pub use v1::{
    BotInfo, Card, CardInfo, CardKind, Clock, Colour, ColourCount, Ending, Event, EventKind, GameStarted, MatchResult,
    Mode, Move, MoveKind, Phase, Scoring, SeatResult, SeatState, View, VoidReason,
};
