//! Deals: all that is random in a game, fixed in advance (articles 2, 5.4).

use core::fmt::Write;

use crate::cards::{deck_cards, specials_of};
use crate::config::Config;
use crate::error::Error;
use crate::list::List;
use crate::position::{DECKS, DECK_SIZE, MAX_SET, MAX_SPECIALS};
use crate::random::{PythonRandom, Random};
use crate::reshuffles::Text;

/// Every card order of one game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    pub config: Config,
    /// What drives the reshuffles.
    pub seed: u64,
    /// Decks 1, 2 and 3; the top card is last.
    pub decks: [List<DECK_SIZE>; DECKS],
    /// The specials on the table: players + 2 of the mode's set (article 2.4).
    pub specials: List<MAX_SPECIALS>,
    /// The first special of the box: the only one that can leave it.
    pub box_top: u8,
}

impl Deal {
    /// Deals as the arena does from a seed.
    pub fn shuffle(config: Config, seed: u64) -> Deal {
        let mut text = Text::default();
        let _ = write!(text, "happycity deal {}", seed); // there is room for it
        let mut random = PythonRandom::of_text(text.as_bytes());
        let mut decks = [List::EMPTY; DECKS];
        for (number, deck) in (1..).zip(decks.iter_mut()) {
            *deck = deck_cards(number).collect();
            random.shuffle(deck);
            deck.reverse();
        }
        let mut set: List<MAX_SET> = specials_of(config.mode).collect();
        random.shuffle(&mut set);
        let (specials, rest) = set.split_at(config.players() + 2);
        Deal {
            config,
            seed,
            decks,
            specials: specials.iter().copied().collect(),
            box_top: rest.first().copied().unwrap_or(0),
        }
    }

    /// Returns the deal with these orders, top or first card first.
    ///
    /// # Errors
    /// `Error::Impossible`: a deck or the specials lack a card or have one too many.
    pub fn new(config: Config, seed: u64, decks: [&[u8]; DECKS], specials: [&[u8]; 2]) -> Result<Deal, Error> {
        let [table, in_box] = specials;
        let set: List<MAX_SET> = specials_of(config.mode).collect();
        if table.len() != config.players() + 2 || !same_cards(table.iter().chain(in_box), &set) {
            return Err(Error::Impossible("specials"));
        }
        let mut deal = Deal {
            config,
            seed,
            decks: [List::EMPTY; DECKS],
            specials: table.iter().copied().collect(),
            box_top: in_box.first().copied().unwrap_or(0),
        };
        for (number, (deck, cards)) in (1..).zip(deal.decks.iter_mut().zip(decks)) {
            *deck = deck_cards(number).collect();
            if !same_cards(cards.iter(), deck) {
                return Err(Error::Impossible("decks"));
            }
            *deck = cards.iter().rev().copied().collect();
        }
        Ok(deal)
    }
}

/// Whether cards in any order are exactly those of a list.
fn same_cards<'a, const N: usize>(mut cards: impl Iterator<Item = &'a u8>, list: &List<N>) -> bool {
    let mut left = *list;
    cards.all(|&number| left.remove(number)) && left.is_empty()
}
