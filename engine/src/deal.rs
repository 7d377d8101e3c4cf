//! Deals: all that is random in a game, fixed in advance (articles 2, 5.4).

use core::fmt::Write;

use crate::cards::{deck_cards, specials_of};
use crate::config::Config;
use crate::error::Error;
use crate::list::List;
use crate::position::{DECKS, DECK_SIZE, MAX_SPECIALS};
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
            *deck = all_of(deck_cards(number));
            random.shuffle(deck);
            deck.reverse();
        }
        let mut set = all_of::<64>(specials_of(config.mode));
        random.shuffle(&mut set);
        let (specials, rest) = set.split_at(config.players() + 2);
        Deal {
            config,
            seed,
            decks,
            specials: all_of(specials.iter().copied()),
            box_top: rest.first().copied().unwrap_or(0),
        }
    }

    /// Returns the deal with these orders, top or first card first.
    ///
    /// # Errors
    /// `Error::Impossible`: a deck or the specials lack a card or have one too many.
    pub fn new(config: Config, seed: u64, decks: [&[u8]; DECKS], specials: [&[u8]; 2]) -> Result<Deal, Error> {
        let [table, in_box] = specials;
        let mut deal = Deal {
            config,
            seed,
            decks: [List::EMPTY; DECKS],
            specials: List::from_slice(table).ok_or(Error::Impossible("specials"))?,
            box_top: in_box.first().copied().unwrap_or(0),
        };
        for (number, (deck, cards)) in (1..).zip(deal.decks.iter_mut().zip(decks)) {
            *deck = List::from_slice(cards).ok_or(Error::Impossible("decks"))?;
            let mut sorted = *deck;
            sorted.sort_unstable();
            if sorted != all_of(deck_cards(number)) {
                return Err(Error::Impossible("decks"));
            }
            deck.reverse();
        }
        let mut set = List::<64>::EMPTY;
        let fits = table.iter().chain(in_box).all(|&special| set.push(special));
        set.sort_unstable();
        if !fits || table.len() != config.players() + 2 || set != all_of(specials_of(config.mode)) {
            return Err(Error::Impossible("specials"));
        }
        Ok(deal)
    }
}

/// Collects cards in a list that has room for them.
pub(crate) fn all_of<const N: usize>(cards: impl Iterator<Item = u8>) -> List<N> {
    let mut list = List::EMPTY;
    cards.for_each(|number| {
        list.push(number);
    });
    list
}
