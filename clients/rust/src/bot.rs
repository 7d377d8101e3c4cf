use std::error;
use std::sync::Arc;

use crate::{Decision, GameResult, GameStarted, VoidReason};

/// The position of the chosen move, or why there is none.
pub type Choice = Result<usize, Box<dyn error::Error + Send + Sync>>;

/// A bot plays one game. Its methods are called one after the other, not always on the same thread.
///
/// Any `FnMut(&Decision) -> Choice` is a bot.
pub trait Bot: Send {
    /// Returns the position of the chosen move in `decision.moves`, counted from 0.
    ///
    /// An error, a panic or a position that doesn't exist resigns this game; the bot's other games go on. An error
    /// that comes when the decision is not open any more resigns nothing; see [`Decision::is_open`].
    fn choose(&mut self, decision: &Decision) -> Choice;

    /// Hears how the game ended. Nothing is asked after that.
    fn game_over(&mut self, _result: &GameResult) {}

    /// Hears that the game was broken off and counts for nobody. Nothing is asked after that.
    fn game_voided(&mut self, _reason: VoidReason) {}
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
