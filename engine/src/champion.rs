//! How the champion of the Python package `happycity_bots` tries purchases and specials out in sampled worlds.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::moves::Move;
use crate::network::Network;
use crate::planner::Planner;
use crate::position::{Phase, Position};
use crate::random::Random;
use crate::view::Worlds;

/// What the trials for one decision may cost, and what is tried.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Trials of all moves together.
    pub trials: usize,
    /// How long to try, if `trials` is 0.
    pub time: Duration,
    /// Trials that the first judgement of a move counts as.
    pub confidence: f64,
    /// How far behind the best move another one may be to be tried; 2 is from the last place to the first.
    pub near: f64,
    /// Moves that are tried, at most.
    pub most: usize,
}

impl Search {
    /// Returns the move to play; none if there is none to choose.
    ///
    /// # Errors
    /// `Error::Impossible`: no game can look like this.
    pub fn choose<R: Random>(
        &self,
        network: &Network,
        planner: &mut Planner,
        position: &Position,
        random: &mut R,
    ) -> Result<Option<Move>, Error> {
        let plan = planner.plan(position, network);
        let tries = matches!(position.phase, Phase::Buy | Phase::Special);
        if !tries || (self.trials == 0 && self.time.is_zero()) {
            return Ok(position.legal_move(plan.best()));
        }
        let worlds = Worlds::new(&position.view())?;
        self.pick(network, &worlds, position.legal_moves().zip(plan.worths().iter().copied()).collect(), random)
            .map(Some)
    }

    /// Returns the move that does best, by its worth and by trials in sampled worlds of those near the best one: sequential
    /// halving, as `happycity_bots.halving` has it.
    ///
    /// # Errors
    /// `Error::IllegalMove`: one of the moves is.
    pub fn pick<R: Random>(
        &self,
        network: &Network,
        worlds: &Worlds,
        mut left: Vec<(Move, f64)>,
        random: &mut R,
    ) -> Result<Move, Error> {
        best_first(&mut left);
        left.truncate(self.most);
        let least = left.first().ok_or(Error::IllegalMove)?.1 - self.near;
        left.retain(|candidate| candidate.1 >= least);
        left.iter_mut().for_each(|candidate| candidate.1 *= self.confidence);
        let stages = left.len().next_power_of_two().trailing_zeros();
        let (began, mut tried) = (Instant::now(), 0);
        for stage in 1..=stages {
            let (goal, due) = (tried + self.trials / (stages as usize * left.len()), self.time * stage / stages);
            while tried < goal || tried == 0 || (self.trials == 0 && began.elapsed() < due) {
                let world = worlds.sample(random);
                for candidate in &mut left {
                    candidate.1 += network.trial(&world, candidate.0)?;
                }
                tried += 1;
            }
            best_first(&mut left);
            left.truncate((left.len() + 1) / 2);
        }
        left.first().map(|best| best.0).ok_or(Error::IllegalMove)
    }
}

/// Brings moves into the order of their worths; equal ones stay in theirs.
fn best_first(moves: &mut [(Move, f64)]) {
    moves.sort_by(|one, other| other.1.partial_cmp(&one.1).unwrap_or(Ordering::Equal));
}
