//! How the champion of the Python package `happycity_bots` tries purchases and specials out in sampled worlds.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use crate::config::CENTRE_SIZE;
use crate::error::Error;
use crate::list::List;
use crate::moves::{Move, MoveKind};
use crate::network::Network;
use crate::planner::{Plan, Planner, Situation};
use crate::position::{Phase, Position, DECKS, DECK_SIZE};
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

impl Planner {
    /// Returns the same as `plan`, but weighs draws card by card, by what is left in the decks: see
    /// `happycity_bots.draws`.
    pub fn plan_ahead(&mut self, position: &Position, network: &Network) -> Plan {
        let mut plan = self.plan(position, network);
        if matches!(position.phase, Phase::Discard | Phase::Draw) {
            let draws = Draws::of(self.situation(position, network), position);
            for (worth, chosen) in plan.worths.iter_mut().zip(position.legal_moves()) {
                let mut centre = position.centre;
                centre.remove(if let MoveKind::Discard(number) = chosen.kind() { number } else { 0 });
                *worth = match chosen.kind() {
                    MoveKind::Draw(deck) => draws.after(&centre, &draws.decks[deck as usize - 1]),
                    _ => draws.best(&centre),
                };
            }
        }
        plan
    }
}

/// What may be drawn in a turn, cards that gain nothing as 0.
struct Draws<'a> {
    situation: &'a Situation,
    decks: [List<DECK_SIZE>; DECKS],
}

impl Draws<'_> {
    fn of<'a>(situation: &'a Situation, position: &Position) -> Draws<'a> {
        let (view, mut decks) = (position.view(), position.piles);
        for (index, deck) in decks.iter_mut().enumerate() {
            *deck = view.hidden_cards(index).filter(|hidden| !hidden.is_empty()).unwrap_or(*deck);
            deck.iter_mut().filter(|number| !situation.is_of_use(**number)).for_each(|number| *number = 0);
            deck.sort_unstable();
        }
        Draws { situation, decks }
    }

    /// What a turn is worth with these cards in the centre, once it is full.
    fn best(&self, centre: &List<CENTRE_SIZE>) -> f64 {
        if centre.len() == CENTRE_SIZE {
            return self.situation.worth_of_offer(centre);
        }
        let decks = self.decks.iter().filter(|deck| !deck.is_empty());
        decks.map(|deck| self.after(centre, deck)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The same after a card of a deck, the mean over its cards.
    fn after(&self, centre: &List<CENTRE_SIZE>, deck: &[u8]) -> f64 {
        let (mut last, mut worth, mut total) = (None, 0.0, 0.0);
        for &number in deck {
            if last.replace(number) != Some(number) {
                let mut more = *centre;
                more.push(number);
                worth = self.best(&more);
            }
            total += worth;
        }
        total / deck.len() as f64
    }
}

/// Brings moves into the order of their worths; equal ones stay in theirs.
fn best_first(moves: &mut [(Move, f64)]) {
    moves.sort_by(|one, other| other.1.partial_cmp(&one.1).unwrap_or(Ordering::Equal));
}
