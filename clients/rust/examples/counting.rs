use std::collections::HashSet;
use std::process::ExitCode;

use happycity::{Bot, Card, Choice, Decision, EventKind, GameStarted, MatchResult, Settings};

/// Plays one game, so its fields are the memory of that game.
struct Counting {
    seat: usize,
    rng: fastrand::Rng,
    seen: HashSet<Card>,
}

impl Counting {
    fn new(start: &GameStarted) -> Self {
        // With the seed of the game, a match that is played again goes the same way.
        let rng = fastrand::Rng::with_seed(start.seed);
        Self { seat: start.seat as usize, rng, seen: HashSet::new() }
    }
}

impl Bot for Counting {
    fn choose(&mut self, decision: &Decision) -> Choice {
        for event in &decision.events {
            if event.kind() == EventKind::Draw {
                self.seen.insert(event.card());
            }
        }
        Ok(self.rng.usize(..decision.moves.len()))
    }

    fn game_over(&mut self, _match_id: i64, result: &MatchResult) {
        let own = &result.seats[self.seat];
        eprintln!("place {} with {} points; saw {} cards", own.place, own.points, self.seen.len());
    }
}

fn main() -> ExitCode {
    happycity::run(Counting::new, Settings::default())
}
