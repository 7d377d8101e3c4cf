//! Plays any legal move, all equally likely.

use std::process::ExitCode;

use happycity::{Bot, Choice, Decision, GameStarted, Settings};

/// Draws all its randomness from the seed of its game, so a match that is played again goes the same way.
struct Random(fastrand::Rng);

impl Random {
    fn new(start: &GameStarted) -> Self {
        Self(fastrand::Rng::with_seed(start.seed))
    }
}

impl Bot for Random {
    fn choose(&mut self, decision: &Decision) -> Choice {
        Ok(self.0.usize(..decision.moves.len()))
    }
}

fn main() -> ExitCode {
    happycity::run(Random::new, Settings { games: Some(0), ..Settings::default() })
}
