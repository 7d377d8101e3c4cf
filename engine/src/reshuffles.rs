//! Rebuilding decks from their discard piles (articles 3.5, 5.5).

use core::fmt::Write;

use crate::list::List;
use crate::position::DECKS;
use crate::random::{FastRandom, PythonRandom, Random};

/// What Python's generator is seeded by.
pub(crate) type Text = List<64>;

/// The randomness of reshuffles: it depends on the deal's seed, the deck and how often that deck was rebuilt
/// before, and on nothing that players do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reshuffles {
    pub(crate) seed: u64,
    /// How often each deck was rebuilt.
    pub(crate) rebuilt: [u16; DECKS],
    /// Whether orders are the arena's; sampled worlds have cheaper ones.
    pub(crate) by_contract: bool,
}

impl Reshuffles {
    /// Reshuffles of a deal, or of a sampled world.
    pub fn new(seed: u64, by_contract: bool) -> Reshuffles {
        Reshuffles { seed, rebuilt: [0; DECKS], by_contract }
    }

    /// Shuffles the cards of a discard pile, which are in table order; the first one will be on top.
    pub fn shuffle(&mut self, index: usize, cards: &mut [u8]) {
        let times = self.rebuilt[index];
        self.rebuilt[index] = times.wrapping_add(1);
        if self.by_contract {
            let mut text = Text::EMPTY;
            // Writing fails for want of room only, of which there is enough for the largest numbers.
            let _ = write!(text, "happycity reshuffle {} {} {}", self.seed, index + 1, times);
            PythonRandom::of_text(&text).shuffle(cards);
        } else {
            FastRandom::new(self.seed ^ (u64::from(times) << 2 | index as u64)).shuffle(cards);
        }
    }
}
