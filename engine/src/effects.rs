//! What a special does beyond its printed values: the one place that knows one special from another (chapter 6).
//!
//! An effect has the name that the card tables give it. Its hooks are those of the Python rules: they read the
//! cities and return what is to happen; only the engine changes anything.

use crate::cards::{card, Card, CardKind, Colour};
use crate::cities::{BySeat, Cities};
use crate::config::MAX_PLAYERS;

pub use crate::tables::Effect;

/// What uses up one application of an effect that applies a limited number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The owner buys a card.
    Purchase,
    IncomePhase,
}

/// The lowest price of each deck, from deck 1.
const LOWEST_PRICES: [i32; 3] = [1, 4, 6];

/// What no seat gains.
const NOTHING: BySeat = [0; MAX_PLAYERS];

impl Effect {
    /// How many times `price` or `with_income` applies; 0 if there is no limit.
    pub fn uses(self) -> u8 {
        match self {
            Effect::NextCardFree => 1,
            Effect::OpponentIncomeNextTwoPhases => 2,
            _ => 0,
        }
    }

    /// What uses up one of these times.
    pub fn used_by(self) -> Option<Occasion> {
        match self {
            Effect::NextCardFree => Some(Occasion::Purchase),
            Effect::OpponentIncomeNextTwoPhases => Some(Occasion::IncomePhase),
            _ => None,
        }
    }

    /// The price that the owner pays for a card, if the effect applies.
    pub fn price(self, card: &Card) -> i32 {
        let discount = |colour| if card.colour == Some(colour) { (card.cost - 3).max(0) } else { card.cost };
        match self {
            Effect::Discount3Blue => discount(Colour::Blue),
            Effect::Discount3Green => discount(Colour::Green),
            Effect::Discount3Orange => discount(Colour::Orange),
            Effect::CentreCostsDeckMinimum if card.deck > 0 => LOWEST_PRICES[card.deck as usize - 1],
            Effect::NextCardFree => 0,
            _ => card.cost,
        }
    }

    /// The coins that the owner takes when buying nothing (article 3.6).
    pub fn coin_gain(self) -> i32 {
        match self {
            Effect::BuyingNothingGains8 => 8,
            _ => 1,
        }
    }

    /// Coins that the owner gains whenever a seat buys a card at a price.
    pub fn paid(self, cities: &Cities, owner: usize, buyer: usize, price: i32) -> i32 {
        let toll = self == Effect::CoinWhenNeighbourSpends4 && price >= 4;
        i32::from(toll && cities.config.neighbours(owner).contains(&buyer) && owner != buyer)
    }

    /// Coins gained at once when the special is taken; it is in its place by then.
    pub fn taken(self, cities: &Cities, owner: usize) -> BySeat {
        match self {
            Effect::CoinsNowPerCard => only(owner, cities.of(owner).cards.len() as i32),
            Effect::CoinsNowTwiceIncomeLosePointsIncome => only(owner, 2 * cities.income(owner)),
            Effect::EveryPlayerGains1Now => [1; MAX_PLAYERS],
            _ => NOTHING,
        }
    }

    /// Whether the special, when taken, discards the last card of the city and takes its position.
    pub fn replaces_last(self) -> bool {
        self == Effect::ReplaceLastCard
    }

    /// Income on top of the printed one, evaluated whenever income is asked for (6.2).
    pub fn income(self, cities: &Cities, owner: usize, position: usize) -> i32 {
        let count = |colour| cities.count(owner, colour);
        match self {
            Effect::CopyPreviousCard => previous(cities, owner, position).income,
            Effect::Income3PerPurple => 3 * count(Colour::Purple),
            Effect::Income2IfFewestYellow => {
                let own = count(Colour::Yellow);
                let mut others = cities.config.opponents(owner);
                2 * i32::from(others.all(|other| cities.count(other, Colour::Yellow) >= own))
            }
            Effect::Income1PerBlue => count(Colour::Blue),
            Effect::Income1PerHeartInhabitantPair => {
                let (inhabitants, hearts) = cities.of(owner).symbols();
                inhabitants.min(hearts).max(0)
            }
            Effect::Income2PerGreen => 2 * count(Colour::Green),
            Effect::Income1PerColourBefore => {
                let before = cities.of(owner).cards.iter().take(position);
                let colours = before.filter_map(|&number| card(number).colour);
                colours.fold(0u32, |seen, colour| seen | 1 << colour as u32).count_ones() as i32
            }
            _ => 0,
        }
    }

    /// The same for an effect that compares incomes: it gets every seat's income without late ones.
    pub fn late_income(self, cities: &Cities, owner: usize, incomes: &BySeat) -> i32 {
        let lowest = || cities.config.opponents(owner).all(|other| incomes[owner] < incomes[other]);
        3 * i32::from(self == Effect::Income3IfStrictlyLowestIncome && lowest())
    }

    /// Coins that the owner gains at the start of every income phase (6.1).
    pub fn before_income(self, cities: &Cities, owner: usize) -> i32 {
        let pays = self == Effect::Gain2BeforeIncomeIfAnyCoin && cities.of(owner).coins != 0;
        2 * i32::from(pays)
    }

    /// Coins that the owner gains along with the incomes, but not part of the owner's income.
    pub fn with_income(self, cities: &Cities, owner: usize, incomes: &BySeat) -> i32 {
        if self != Effect::OpponentIncomeNextTwoPhases {
            return 0;
        }
        cities.config.opponents(owner).map(|other| incomes[other]).max().unwrap_or(0)
    }

    /// Coins gained, or lost if negative, at the end of every income phase.
    pub fn after_income(self, cities: &Cities, owner: usize) -> BySeat {
        let mut gains = NOTHING;
        if self == Effect::Steal1FromRichestAfterIncome {
            let opponents = || cities.config.opponents(owner);
            let most = opponents().map(|other| cities.of(other).coins).max().unwrap_or(0);
            for victim in opponents().filter(|&other| most > 0 && cities.of(other).coins == most) {
                gains[victim] -= 1;
                gains[owner] += 1;
            }
        }
        gains
    }

    /// Whether the owner chooses a special at the end whose values and effect this one gets (6.3).
    pub fn chooses_copy(self) -> bool {
        self == Effect::CopyOpponentSpecialOrBox
    }

    /// The card whose values this special gets at the end: what is better for the owner's points, the left
    /// neighbour's on a tie (ruling).
    pub fn copied(self, cities: &Cities, owner: usize, position: usize) -> Option<u8> {
        if self != Effect::CopyNeighbourSamePosition {
            return None;
        }
        let (inhabitants, hearts) = cities.of(owner).symbols();
        let points = |number: u8| {
            let card = card(number);
            cities.config.happiness(inhabitants + card.inhabitants, hearts + card.hearts)
        };
        let mut best: Option<u8> = None;
        for neighbour in cities.config.neighbours(owner) {
            match cities.of(neighbour).cards.get(position) {
                Some(&number)
                    if card(number).kind != CardKind::Special
                        && best.map_or(true, |chosen| points(number) > points(chosen)) =>
                {
                    best = Some(number);
                }
                _ => {}
            }
        }
        best
    }

    /// Inhabitants and hearts at the end, on top of the printed ones.
    pub fn symbols(self, cities: &Cities, owner: usize, position: usize) -> (i32, i32) {
        let count = |colour| cities.count(owner, colour);
        let next_door = |colour| {
            let [left, right] = cities.config.neighbours(owner);
            cities.count(left, colour).max(cities.count(right, colour))
        };
        match self {
            Effect::CopyPreviousCard => {
                let card = previous(cities, owner, position);
                (card.inhabitants, card.hearts)
            }
            Effect::HeartsIfSmallCity => match cities.of(owner).cards.len() {
                10 => (0, 0),
                9 => (0, 2),
                _ => (0, 4),
            },
            Effect::Hearts321MostBlue => (0, by_most(cities, owner, Colour::Blue, [3, 2, 1])),
            Effect::InhabitantPerOrangeOfLeftNeighbour => {
                (cities.count(cities.config.neighbours(owner)[0], Colour::Orange), 0)
            }
            Effect::AdjacentSameColour => match alike_around(cities, owner, position) {
                0 | 1 => (0, 0),
                2 => (1, 1),
                _ => (1, 2),
            },
            Effect::InhabitantPerBlueOfOneNeighbour => (next_door(Colour::Blue), 0),
            Effect::HeartPerGreen => (0, count(Colour::Green)),
            Effect::Hearts3IfIncomeBelowNeighboursElse1 => {
                let incomes = cities.incomes();
                let neighbours = cities.config.neighbours(owner);
                (0, if neighbours.iter().all(|&other| incomes[owner] < incomes[other]) { 3 } else { 1 })
            }
            Effect::Hearts3IfStrictlyMostGreenElse1 => (0, by_most(cities, owner, Colour::Green, [3, 1, 1])),
            Effect::HeartPerYellowOfOneNeighbour => (0, next_door(Colour::Yellow)),
            Effect::Hearts3IfNextTwoShareColourElse1 => {
                let cards = &cities.of(owner).cards;
                let colour = |at| cards.get(at).and_then(|&number| card(number).colour);
                let shared = colour(position + 1).is_some() && colour(position + 1) == colour(position + 2);
                (0, if shared { 3 } else { 1 })
            }
            Effect::Hearts3IfNoOrange if count(Colour::Orange) == 0 => (0, 3),
            Effect::Inhabitants4IfNoGreen if count(Colour::Green) == 0 => (4, 0),
            _ => (0, 0),
        }
    }

    /// The owner's final points, from the points so far.
    pub fn points(self, cities: &Cities, owner: usize, points: i32) -> i32 {
        match self {
            Effect::CoinsNowTwiceIncomeLosePointsIncome => (points - cities.income(owner)).max(0),
            Effect::DoublePointsBelow30 if points < 30 => 2 * points,
            _ => points,
        }
    }
}

fn only(seat: usize, coins: i32) -> BySeat {
    let mut gains = NOTHING;
    gains[seat] = coins;
    gains
}

/// The card before the special. It is the last one, as in Python, of a city that begins with the special, which
/// estimates ask about before the first market is drafted.
fn previous(cities: &Cities, owner: usize, position: usize) -> &'static Card {
    let cards = &cities.of(owner).cards;
    card(position.checked_sub(1).map_or(cards.last(), |at| cards.get(at)).copied().unwrap_or(0))
}

/// One of three amounts: the owner has strictly the most cards of a colour, ties for the most, or has fewer.
fn by_most(cities: &Cities, owner: usize, colour: Colour, [strictly, tied, otherwise]: [i32; 3]) -> i32 {
    let own = cities.count(owner, colour);
    let most = cities.config.opponents(owner).map(|other| cities.count(other, colour)).max().unwrap_or(0);
    match own.cmp(&most) {
        core::cmp::Ordering::Greater => strictly,
        core::cmp::Ordering::Equal => tied,
        core::cmp::Ordering::Less => otherwise,
    }
}

/// How many cards left, right, above and below a position share one colour, at most; the grid has two rows of
/// five (3.9).
fn alike_around(cities: &Cities, owner: usize, position: usize) -> i32 {
    let cards = &cities.of(owner).cards;
    let mut alike = [0; 6];
    let mut look = |at: usize| {
        if let Some(colour) = cards.get(at).and_then(|&number| card(number).colour) {
            alike[colour as usize] += 1;
        }
    };
    if position % 5 > 0 {
        look(position - 1);
    }
    if position % 5 < 4 {
        look(position + 1);
    }
    look(if position < 5 { position + 5 } else { position - 5 });
    alike.iter().copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards::deck_cards;

    /// The lowest prices are those of the card table.
    #[test]
    fn lowest_prices() {
        for deck in 1..=3 {
            let lowest = deck_cards(deck).map(|number| card(number).cost).min();
            assert_eq!(lowest, Some(LOWEST_PRICES[deck as usize - 1]));
        }
    }
}
