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
//!     happycity::run(|_| first, Settings::default())
//! }
//! ```
//!
//! A bot with a memory is a type that implements [`Bot`]. The first argument of [`run`] is called for each game that
//! starts, and makes the bot that plays it. Many games are played at once. The crate takes care of connecting, batches,
//! pings, lost connections and the goodbye. [`run`] is a whole program; [`play`] is for programs that do other things
//! too.
//!
//! The messages are those of the contract, module [`v1`].

#![warn(missing_docs)]

mod backoff;
mod bot;
#[rustfmt::skip]
mod cards;
mod catalogue;
mod channel;
mod connection;
mod crash;
mod crash_log;
mod decision;
mod error;
mod logger;
mod outbox;
mod play;
mod player;
mod reasons;
mod run;
mod settings;
mod stream_status;
mod tasks;
mod text;
mod thinkers;
mod transport;
/// Messages and clients of the contract, as generated from its files.
#[rustfmt::skip]
pub mod v1;
mod worker_streams;

pub use bot::{Bot, Choice, GameOver};
pub use catalogue::{CardInfo, cards};
pub use channel::{Bearer, Channel, retry_after, wait_for};
#[doc(hidden)]
pub use connection::GOODBYE_MILLISECONDS;
pub use decision::Decision;
pub use error::Error;
pub use play::play;
pub use run::run;
pub use settings::{Settings, UNLIMITED};
pub use tonic;
pub use v1::{
    BotInfo, Card, CardKind, Colour, Ending, Event, EventKind, GameStarted, Mode, Move, MoveKind, Phase, Scoring,
    SeatResult, SeatState, View, VoidReason,
};
