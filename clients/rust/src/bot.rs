use std::error;

use crate::{Decision, GameStarted, SeatResult, VoidReason};

/// The position of the chosen move, or why there is none.
pub type Choice = Result<usize, Box<dyn error::Error + Send + Sync>>;

/// A bot plays one game in one seat. Its methods are called one after the other, not always on the same thread.
///
/// Any `FnMut(&Decision) -> Choice` is a bot.
pub trait Bot: Send {
    /// Returns the position of the chosen move in `decision.moves`, counted from 0.
    ///
    /// With an error, a panic or a position that doesn't exist, the bot crashes: it gives up this game, is not called
    /// again, and its other games go on. An error has no effect once the decision is closed; see
    /// [`Decision::is_open`].
    ///
    /// It may block: a bot that awaits futures calls [`Handle::block_on`](tokio::runtime::Handle::block_on) of
    /// `Handle::current()`.
    fn choose(&mut self, decision: &Decision) -> Choice;

    /// Is called with how the game ended. It is the last call.
    fn game_over(&mut self, _over: &GameOver) {}

    /// Is called if the match was voided and does not count. It is the last call.
    fn game_voided(&mut self, _match_id: i64, _reason: VoidReason) {}
}

impl<F: FnMut(&Decision) -> Choice + Send> Bot for F {
    fn choose(&mut self, decision: &Decision) -> Choice {
        self(decision)
    }
}

/// How a game ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GameOver {
    /// The match.
    pub match_id: i64,
    /// By seat: points, place, how the seat ended, and more.
    pub seats: Vec<SeatResult>,
}

/// Makes the bot of each game. It hides their type, so that all that follows is compiled once, with this crate.
pub(crate) type Factory = dyn Fn(&GameStarted) -> Box<dyn Bot> + Send + Sync;
