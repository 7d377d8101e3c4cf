//! Worlds that look like a view: what is hidden, drawn at random so that nothing seen contradicts it.

use crate::cities::Cities;
use crate::config::Mode;
use crate::error::Error;
use crate::list::List;
use crate::position::{pick, Awaited, Phase, Position, DECKS, DECK_SIZE};
use crate::random::Random;
use crate::reshuffles::Reshuffles;
use crate::view::View;

/// Samples positions that look like a view.
#[derive(Clone, Copy, Debug)]
pub struct Worlds {
    seen: Position,
    /// For each deck the cards that aren't known to be anywhere, in table order.
    hidden: [List<DECK_SIZE>; DECKS],
    left: [usize; DECKS],
}

impl Worlds {
    /// Prepares to sample. The cards in the discard piles may be known, in any order: then they stay there. Else the
    /// unseen cards of each deck are spread over deck and discard pile in their known sizes.
    ///
    /// # Errors
    /// `Error::Impossible`: no game can look like this view, or have these cards in its discard piles.
    pub fn new(view: &View, discarded: Option<&[u8]>) -> Result<Worlds, Error> {
        view.check()?;
        if view.phase == Phase::Over {
            return Err(Error::Impossible("phase"));
        }
        let mut worlds = Worlds { seen: seen(view), hidden: [List::EMPTY; DECKS], left: view.decks };
        for (deck, hidden) in worlds.hidden.iter_mut().enumerate() {
            *hidden = view.hidden_cards(deck).ok_or(Error::Impossible("decks"))?;
        }
        if let Some(discarded) = discarded {
            for &number in discarded {
                let deck = worlds.hidden.iter().position(|hidden| hidden.contains(&number));
                let deck = deck.ok_or(Error::Impossible("discarded"))?;
                worlds.hidden[deck].remove(number);
                worlds.seen.piles[deck].push(number);
            }
            if (0..DECKS).any(|deck| worlds.hidden[deck].len() != view.decks[deck]) {
                return Err(Error::Impossible("discarded"));
            }
        }
        Ok(worlds)
    }

    /// Draws a world. With Python's generator it is the world of `Game.worlds`.
    pub fn sample<R: Random>(&self, random: &mut R) -> Position {
        let mut world = self.seen;
        world.reshuffles = random.reshuffles();
        for (deck, hidden) in self.hidden.iter().enumerate() {
            let mut order = *hidden;
            random.shuffle(&mut order);
            let (left, discarded) = order.split_at(self.left[deck].min(order.len()));
            world.decks[deck] = List::from_slice(left).unwrap_or(List::EMPTY);
            discarded.iter().for_each(|&number| {
                world.piles[deck].push(number);
            });
        }
        let box_top = pick(self.seen.box_specials(), random);
        if world.config().mode == Mode::Expert {
            world.box_top = box_top;
        }
        world.resume();
        world
    }
}

/// What a checked view shows of a position, at which the step hasn't listed its moves.
pub(crate) fn seen(view: &View) -> Position {
    let mut position = Position {
        cities: Cities::new(view.config),
        centre: view.centre,
        specials: view.specials,
        dwellings: view.dwellings,
        round: view.round,
        seat: view.seat,
        phase: view.phase,
        awaited: Awaited::Nothing,
        open: false,
        decks: [List::EMPTY; DECKS],
        piles: [List::EMPTY; DECKS],
        box_top: 0,
        sphinx_copy: 0,
        reshuffles: Reshuffles::fast(0),
        legal: List::EMPTY,
    };
    position.centre.sort_unstable();
    for (seat, shown) in view.players().iter().enumerate() {
        shown.city.iter().for_each(|&number| position.cities.add(seat, number));
        let city = position.cities.of_mut(seat);
        city.coins = shown.coins;
        city.uses = shown.uses;
    }
    position
}
