//! The rules of Happy City for search and self-play: a model for clients, proven equal to the arena's engine.
//!
//! ```
//! use happycity_engine::{Config, FastRandom, Mode, Position, Random, Scoring};
//!
//! let config = Config::new(4, Mode::Family, Scoring::Product).unwrap();
//! let mut position = Position::deal(config, 1);
//! let mut random = FastRandom::new(7);
//! while let Some(chosen) = position.legal_move(random.below(position.move_count())) {
//!     position.apply(chosen).unwrap();
//! }
//! assert!(position.outcome().is_some());
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

mod bytes;
mod cards;
#[cfg(feature = "network")]
mod champion;
mod cities;
mod config;
mod effects;
mod error;
#[cfg_attr(not(feature = "network"), allow(dead_code))]
mod features;
mod list;
mod moves;
#[cfg(feature = "network")]
mod network;
mod observation;
mod planner;
mod position;
mod quick;
mod random;
mod reshuffles;
mod tables;
mod view;

pub use bytes::MAX_BYTES;
pub use cards::{card, Card, CardKind, Colour, BUILDINGS, CARDS, FIRST_DWELLING, FIRST_SPECIAL, SPECIALS};
#[cfg(feature = "network")]
pub use champion::Search;
pub use cities::{BySeat, Cities, City, Score};
pub use config::{Config, Mode, Scoring, CITY_SIZE, LAST_ROUND, MAX_PLAYERS};
pub use effects::Effect;
pub use error::Error;
pub use features::{Row, FEATURES};
pub use list::List;
pub use moves::{Move, MoveKind, MOVE_COUNT};
#[cfg(feature = "network")]
pub use network::Network;
pub use observation::row_size;
pub use planner::{Judge, Plan, Planner, Points};
pub use position::{Awaited, Outcome, Phase, Position, DECKS, MAX_MOVES};
pub use quick::{success, Fast};
pub use random::{FastRandom, PythonRandom, Random};
pub use reshuffles::Reshuffles;
pub use view::{View, Worlds};
