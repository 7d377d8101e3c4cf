//! The cards of Happy City (chapter 1), by the numbers that they have in the contract and in the Python rules.

use crate::config::Mode;
use crate::effects::Effect;
pub use crate::tables::{BUILDINGS, CARDS, FIRST_DWELLING, FIRST_SPECIAL, SPECIALS};

/// A card's colour (article 1.5); the value is the contract's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Yellow = 1,
    Blue = 2,
    Green = 3,
    Orange = 4,
    Purple = 5,
}

/// How many colours there are.
pub const COLOURS: usize = 5;
/// How many dwellings there are, each of which has a stack.
pub const DWELLINGS: usize = 3;
/// The white side of the Happy Market: the first card of a family city (article 2.6). The coloured ones follow.
pub const HAPPY_MARKET: u8 = FIRST_DWELLING + DWELLINGS as u8;

/// What a card is, which decides how it enters a city.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardKind {
    Building,
    Dwelling,
    Market,
    Special,
}

/// One row of the card tables.
#[derive(Debug)]
pub struct Card {
    /// The name in notation and records, such as `film_studios`.
    pub id: &'static str,
    pub kind: CardKind,
    /// How many of this card the box of the game holds.
    pub copies: u8,
    /// 1 to 3 for a building, else 0.
    pub deck: u8,
    pub colour: Option<Colour>,
    /// The printed price in coins, before any discount.
    pub cost: i32,
    /// Coins each income phase, as printed.
    pub income: i32,
    pub inhabitants: i32,
    pub hearts: i32,
    /// For a special: the mode whose set it belongs to.
    pub special_set: Option<Mode>,
    /// For a special: how many cards of each colour a city must show (article 3.10).
    pub condition: [u8; COLOURS],
    /// Income, and coins once, that it usually brings, as the quick policy estimates them.
    pub usual_coins: (f64, f64),
    /// Coins that a discount saves on the average card and at most, as the features estimate them.
    pub savings: (f64, f64),
    /// Whether other cards may change what the effect adds to its owner's city.
    pub looks_at_cities: bool,
    /// What it does beyond its printed values (chapter 6).
    pub effect: Effect,
}

/// What has the number 0.
pub const NO_CARD: Card = Card {
    id: "",
    kind: CardKind::Market,
    copies: 0,
    deck: 0,
    colour: None,
    cost: 0,
    income: 0,
    inhabitants: 0,
    hearts: 0,
    special_set: None,
    condition: [0; COLOURS],
    usual_coins: (0.0, 0.0),
    savings: (0.0, 0.0),
    looks_at_cities: false,
    effect: Effect::None,
};

/// The card with a number.
pub fn card(number: u8) -> &'static Card {
    // Of numbers, only those from outside can be wrong, and these are checked where they come in.
    CARDS.get(number as usize).unwrap_or(&CARDS[0])
}

/// The numbers of all cards of one building deck (1-3), each copy once, in table order.
pub fn deck_cards(deck: u8) -> impl Iterator<Item = u8> {
    (1..=BUILDINGS)
        .filter(move |&number| card(number).deck == deck)
        .flat_map(|number| core::iter::repeat(number).take(card(number).copies as usize))
}

/// The numbers of one mode's specials, in table order.
pub fn specials_of(mode: Mode) -> impl Iterator<Item = u8> {
    (FIRST_SPECIAL..FIRST_SPECIAL + SPECIALS).filter(move |&number| card(number).special_set == Some(mode))
}

/// The cards of a city by colour, as packed counters: five bits a colour, of which a count needs four (it is at
/// most 10) and the fifth is a guard bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colours(u32);

const GUARD_BITS: u32 = 0b10000_10000_10000_10000_10000;

impl Colours {
    /// No card.
    pub const NONE: Colours = Colours(0);

    const fn of_condition(condition: [u8; COLOURS]) -> Colours {
        let mut packed = 0;
        let mut colour = 0;
        while colour < COLOURS {
            packed |= (condition[colour] as u32) << (5 * colour);
            colour += 1;
        }
        Colours(packed)
    }

    fn one(colour: Option<Colour>) -> u32 {
        colour.map_or(0, |colour| 1 << (5 * (colour as u32 - 1)))
    }

    /// Counts one card more.
    pub fn add(&mut self, colour: Option<Colour>) {
        self.0 += Colours::one(colour);
    }

    /// Counts one card less.
    pub fn remove(&mut self, colour: Option<Colour>) {
        self.0 -= Colours::one(colour);
    }

    /// How many cards of a colour there are.
    pub fn count(&self, colour: Colour) -> i32 {
        (self.0 >> (5 * (colour as u32 - 1)) & 15) as i32
    }

    /// How many cards there are of each colour.
    pub fn counts(&self) -> [u8; COLOURS] {
        core::array::from_fn(|colour| (self.0 >> (5 * colour) & 15) as u8)
    }

    /// Whether the condition of a special is met: with all guard bits set, subtracting it clears the guard bit
    /// of each colour that the city lacks.
    pub fn meet(&self, special: u8) -> bool {
        let condition = CONDITIONS.get(special as usize).map_or(0, |condition| condition.0);
        ((self.0 | GUARD_BITS) - condition) & GUARD_BITS == GUARD_BITS
    }
}

static CONDITIONS: [Colours; CARDS.len()] = {
    let mut conditions = [Colours(0); CARDS.len()];
    let mut number = 0;
    while number < CARDS.len() {
        conditions[number] = Colours::of_condition(CARDS[number].condition);
        number += 1;
    }
    conditions
};
