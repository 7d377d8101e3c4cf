//! What the seats own, cities and coins, and what their specials do to it (chapters 3 and 6).

use crate::cards::{card, Card, CardKind, Colour, Colours, CARDS};
use crate::config::{Config, CITY_SIZE, MAX_PLAYERS, START_COINS};
use crate::effects::{Effect, Occasion};
use crate::list::List;

/// One number for each seat; those of seats that aren't at the table are 0.
pub type BySeat = [i32; MAX_PLAYERS];

/// What one seat owns.
#[derive(Clone, Copy, Debug)]
pub struct City {
    /// The cards by position.
    pub cards: List<CITY_SIZE>,
    pub coins: i32,
    /// The income of the cards without what effects add.
    pub printed_income: i32,
    /// What the special does; it is another special's if the Sphinx has copied one.
    pub effect: Effect,
    /// How often the effect still applies, if that is limited; else 0.
    pub uses: u8,
    /// Where the special is.
    pub special_at: Option<u8>,
    /// The cards by colour.
    pub colours: Colours,
    owned: u128,
    inhabitants: i32,
    hearts: i32,
    copied_income: i32,
}

const EMPTY: City = City {
    cards: List::EMPTY,
    coins: START_COINS,
    printed_income: 0,
    effect: Effect::None,
    uses: 0,
    special_at: None,
    colours: Colours::NONE,
    owned: 0,
    inhabitants: 0,
    hearts: 0,
    copied_income: 0,
};

impl City {
    /// Whether a card with this number is in the city.
    pub fn owns(&self, number: u8) -> bool {
        self.owned >> number & 1 == 1
    }

    /// Inhabitants and hearts as printed, not cut at 0, without what effects add.
    pub fn symbols(&self) -> (i32, i32) {
        (self.inhabitants, self.hearts)
    }

    /// The number of the special.
    pub fn special(&self) -> Option<u8> {
        self.special_at.and_then(|position| self.cards.get(position as usize)).copied()
    }

    /// The coins that the owner would pay for a card now, after discounts (article 3.7).
    pub fn price(&self, card: &Card) -> i32 {
        if self.applies() {
            self.effect.price(card)
        } else {
            card.cost
        }
    }

    /// Whether the effect is not used up.
    pub fn applies(&self) -> bool {
        self.effect.uses() == 0 || self.uses > 0
    }

    /// Counts one application of a limited effect, if the occasion uses it up.
    pub fn used(&mut self, occasion: Occasion) {
        if self.uses > 0 && self.effect.used_by() == Some(occasion) {
            self.uses -= 1;
        }
    }
}

/// Cities and coins by seat. It doesn't know whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct Cities {
    pub config: Config,
    seats: [City; MAX_PLAYERS],
    /// Whether any special does anything; as long as none does, incomes are the printed ones.
    pub effects: bool,
}

impl Cities {
    pub fn new(config: Config) -> Cities {
        Cities { config, seats: [EMPTY; MAX_PLAYERS], effects: false }
    }

    /// The city of a seat, which is below the number of players.
    pub fn of(&self, seat: usize) -> &City {
        &self.seats[seat]
    }

    pub fn of_mut(&mut self, seat: usize) -> &mut City {
        &mut self.seats[seat]
    }

    /// All cities, by seat.
    pub fn all(&self) -> &[City] {
        &self.seats[..self.config.players()]
    }

    /// How many cards the city with the most of them has.
    pub fn longest(&self) -> usize {
        self.all().iter().map(|city| city.cards.len()).max().unwrap_or(0)
    }

    /// How many cards of a colour a city has, the Happy Market included.
    pub fn count(&self, seat: usize, colour: Colour) -> i32 {
        self.of(seat).colours.count(colour)
    }

    /// The coins that a seat would gain in an income phase held now (articles 3.1, 6.2).
    pub fn income(&self, seat: usize) -> i32 {
        if self.effects {
            self.incomes()[seat]
        } else {
            self.of(seat).printed_income
        }
    }

    /// Every seat's income.
    pub fn incomes(&self) -> BySeat {
        let mut incomes = [0; MAX_PLAYERS];
        for (seat, city) in self.all().iter().enumerate() {
            incomes[seat] = city.printed_income;
            if let (true, Some(position)) = (self.effects, city.special_at) {
                incomes[seat] += city.copied_income + city.effect.income(self, seat, position as usize);
            }
        }
        let early = incomes;
        if self.effects {
            for (seat, city) in self.all().iter().enumerate() {
                incomes[seat] += city.effect.late_income(self, seat, &early);
            }
        }
        incomes
    }

    /// Puts a card on the next free position of a city, and says whether there was one (articles 3.7, 3.9, 3.10).
    pub fn add(&mut self, seat: usize, number: u8) -> bool {
        let added = card(number);
        let city = self.of_mut(seat);
        let position = city.cards.len() as u8;
        if !city.cards.push(number) {
            return false;
        }
        city.owned |= 1 << number;
        city.colours.add(added.colour);
        city.printed_income += added.income;
        city.inhabitants += added.inhabitants;
        city.hearts += added.hearts;
        if added.kind == CardKind::Special {
            city.special_at = Some(position);
            city.effect = added.effect;
            city.uses = added.effect.uses();
            self.effects |= added.effect != Effect::None;
        }
        true
    }

    /// The cities with cards at the end of one of them.
    pub(crate) fn with_cards(&self, seat: usize, cards: &[u8]) -> Cities {
        let mut changed = *self;
        for &number in cards {
            changed.add(seat, number);
        }
        changed
    }

    /// The cities with another special in the place of that of a city.
    pub(crate) fn with_special(&self, seat: usize, special: u8) -> Cities {
        let (mut changed, city) = (*self, self.of(seat));
        *changed.of_mut(seat) = City { coins: city.coins, ..EMPTY };
        for (position, &number) in (0..).zip(city.cards.iter()) {
            changed.add(seat, if city.special_at == Some(position) { special } else { number });
        }
        changed
    }

    /// Takes the last card, which is not a special, out of a city.
    pub fn remove_last(&mut self, seat: usize) -> Option<u8> {
        let city = self.of_mut(seat);
        let number = city.cards.pop()?;
        let removed = card(number);
        city.owned &= !(1 << number);
        city.colours.remove(removed.colour);
        city.printed_income -= removed.income;
        city.inhabitants -= removed.inhabitants;
        city.hearts -= removed.hearts;
        Some(number)
    }

    /// Lets the special of a city have the values and the effect of another one (article 6.3).
    pub fn copy_special(&mut self, seat: usize, special: u8) {
        self.copy_values(seat, special);
        let city = self.of_mut(seat);
        city.effect = card(special).effect;
        city.uses = 0; // the game is over next
    }

    /// Adds the printed values of another card to the special of a city (article 6.3).
    pub fn copy_values(&mut self, seat: usize, number: u8) {
        let copied = card(number);
        let city = self.of_mut(seat);
        city.copied_income += copied.income;
        city.inhabitants += copied.inhabitants;
        city.hearts += copied.hearts;
    }

    /// The points of a city with its inhabitants and hearts (articles 4.2, 4.3, 6.3).
    pub fn score(&self, seat: usize) -> Score {
        let city = self.of(seat);
        let (mut inhabitants, mut hearts) = city.symbols();
        if let Some(position) = city.special_at {
            let more = city.effect.symbols(self, seat, position as usize);
            inhabitants += more.0;
            hearts += more.1;
        }
        let points = self.config.happiness(inhabitants, hearts);
        let points = city.effect.points(self, seat, points);
        Score { points, coins: city.coins, inhabitants: inhabitants.max(0), hearts: hearts.max(0) }
    }
}

/// How a game ended for one seat (articles 4.2, 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    pub points: i32,
    pub coins: i32,
    pub inhabitants: i32,
    pub hearts: i32,
}

const _: () = assert!(CARDS.len() <= 128, "a city's cards are bits of a u128");
