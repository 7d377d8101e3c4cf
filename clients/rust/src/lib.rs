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
//! starts, and makes the bot that plays it. Many games are played at once. The crate connects, reconnects, handles
//! batches and pings, and says goodbye. [`run`] is a whole program; [`play`] is for programs that do other things too.
//!
//! The messages are those of the contract, module [`v1`].

#![warn(missing_docs)]

mod bot;
mod catalogue;
mod client;
mod decision;
mod error;
mod player;
mod session;
mod settings;
/// Messages and clients of the contract, as generated from its files.
#[rustfmt::skip]
pub mod v1;

pub use bot::{Bot, Choice, GameOver};
pub use catalogue::cards;
pub use client::{play, run};
pub use decision::Decision;
pub use error::Error;
pub use settings::{Settings, UNLIMITED};
pub use tonic;
pub use v1::{
    BotInfo, Card, CardInfo, CardKind, Colour, ColourCount, Ending, Event, EventKind, GameStarted, Mode, Move,
    MoveKind, Phase, Scoring, SeatResult, SeatState, View, VoidReason,
};
