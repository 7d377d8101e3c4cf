use crate::cards::CARDS;
use crate::{Card, CardKind, Colour, Mode};

/// A card's printed values.
#[derive(Debug, PartialEq, Eq)]
pub struct CardInfo {
    /// The card.
    pub card: Card,
    /// The id in notation and records, such as `film_studios`.
    pub id: &'static str,
    /// The name for people, in English.
    pub name: &'static str,
    /// What it is.
    pub kind: CardKind,
    /// The deck it is in, 1 to 3; 0 unless it is a building.
    pub deck: u32,
    /// Its colour, if it has one.
    pub colour: Colour,
    /// Its printed price in coins.
    pub cost: u32,
    /// Coins in each income phase.
    pub income: i32,
    /// Inhabitants at the end.
    pub inhabitants: i32,
    /// Hearts at the end.
    pub hearts: i32,
    /// Copies in the box of the game.
    pub copies: u32,
    /// For a special: at least so many cards of these colours a city must have, all of them.
    pub condition: &'static [(Colour, u32)],
    /// For a special: the mode whose set it belongs to.
    pub special_set: Mode,
    /// For a special: what it does beyond the values above, in words; empty if nothing.
    pub effect: &'static str,
    /// For a special: how often its effect applies; 0 if there is no limit.
    pub uses: u32,
}

/// Returns the printed values of all cards, in the order of their numbers, which begin with 1.
pub fn cards() -> &'static [CardInfo] {
    &CARDS[1..]
}

impl Card {
    /// Returns the card's printed values. All are 0 for [`Card::Unspecified`], which stands for no card and for
    /// one that this version doesn't know.
    pub fn info(self) -> &'static CardInfo {
        &CARDS[self as usize]
    }
}
