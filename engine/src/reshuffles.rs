//! Rebuilding decks from their discard piles (articles 3.5, 5.5).

use core::fmt::{self, Write};

use crate::position::DECKS;
use crate::random::{FastRandom, PythonRandom, Random};

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
    /// Reshuffles of a deal of the arena.
    pub fn by_contract(seed: u64) -> Reshuffles {
        Reshuffles { seed, rebuilt: [0; DECKS], by_contract: true }
    }

    /// Reshuffles of a sampled world.
    pub fn fast(seed: u64) -> Reshuffles {
        Reshuffles { seed, rebuilt: [0; DECKS], by_contract: false }
    }

    /// Shuffles the cards of a discard pile, which are in table order; the first one will be on top.
    pub fn shuffle(&mut self, index: usize, cards: &mut [u8]) {
        let times = self.rebuilt[index];
        self.rebuilt[index] = times.wrapping_add(1);
        if cards.len() < 2 {
            return;
        }
        if self.by_contract {
            let mut text = Text::default();
            // Writing fails for want of room only, of which there is enough for the largest numbers.
            let _ = write!(text, "happycity reshuffle {} {} {}", self.seed, index + 1, times);
            PythonRandom::of_text(text.as_bytes()).shuffle(cards);
        } else {
            FastRandom::new(self.seed ^ (u64::from(times) << 2 | index as u64)).shuffle(cards);
        }
    }
}

/// A short text without allocation.
pub(crate) struct Text {
    bytes: [u8; 64],
    len: usize,
}

impl Default for Text {
    fn default() -> Text {
        Text { bytes: [0; 64], len: 0 }
    }
}

impl Text {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
