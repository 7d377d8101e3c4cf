use std::error;
use std::sync::Arc;

use crate::{Decision, GameStarted, SeatResult, VoidReason};

/// The position of the chosen move, or why there is none.
pub type Choice = Result<usize, Box<dyn error::Error + Send + Sync>>;

/// A bot plays one game in one seat. Its methods are called one after the other, not always on the same thread.
///
/// Any `FnMut(&Decision) -> Choice` is a bot.
pub trait Bot: Send {
    /// Returns the position of the chosen move in `decision.moves`, counted from 0.
    ///
    /// With an error, a panic or a position that doesn't exist, the bot crashes: it gives up this game, and its other
    /// games go on. An error that comes when the decision is not open any more has no effect; see
    /// [`Decision::is_open`].
    fn choose(&mut self, decision: &Decision) -> Choice;

    /// Takes note of how the game ended. It is the last call.
    fn game_over(&mut self, _over: &GameOver) {}

    /// Takes note that the match was voided and counts for nobody. It is the last call.
    fn game_voided(&mut self, _match_id: i64, _reason: VoidReason) {}
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

impl<F: FnMut(&Decision) -> Choice + Send> Bot for F {
    fn choose(&mut self, decision: &Decision) -> Choice {
        self(decision)
    }
}

/// What makes the bot of each game.
pub(crate) type Factory = dyn Fn(&GameStarted) -> Box<dyn Bot> + Send + Sync;

/// Hides what kind of bots a factory makes, so that all that follows is compiled once, with this crate.
pub(crate) fn any_bot<F, B>(factory: F) -> Arc<Factory>
where
    F: Fn(&GameStarted) -> B + Send + Sync + 'static,
    B: Bot + 'static,
{
    Arc::new(move |start| Box::new(factory(start)))
}
