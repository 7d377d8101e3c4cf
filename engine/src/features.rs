//! Positions as numbers for a value of seats: the rows of the Python module `happycity_evaluation.features`, which
//! says what they mean. Numbers are computed in the same order, so that they are the same.

use crate::cards::{card, BUILDINGS, COLOURS, DWELLINGS, FIRST_DWELLING};
use crate::cities::{Cities, City};
use crate::config::{Mode, Scoring, CITY_SIZE, LAST_ROUND};
use crate::effects::{Effect, Occasion};
use crate::list::List;
use crate::position::Position;
use crate::quick::{changes_points, round_half_even, Outlook, Value, STRETCH};
use crate::tables::{TWO_PER_COLOUR, USUAL_CARDS};

/// How many numbers a row has.
pub const FEATURES: usize = 15 + GAINS + COLOURS + 1 + DWELLINGS + 2 * GOAL;
const GAINS: usize = FARTHEST + 2;
const GOAL: usize = 2 + COLOURS;
/// Specials that miss more cards than this are out of sight.
const FARTHEST: usize = 3;
/// How likely a special is to be won, by the cards that its condition still misses.
pub(crate) const REACH: [f64; 6] = [1.0, 0.41, 0.26, 0.24, 0.12, 0.06];
const PACE: f64 = 0.98;
const SLACK: f64 = 0.15;
const PACE_PRIOR: i32 = 17;
const RIVALS_BUYS: f64 = 0.85;
const FOCUS: f64 = 1.2;
const BEST_OF_FREE: f64 = 0.75;
const PASSES: f64 = 0.15;
/// Shares of the expected points at which a rule about final points is asked.
const SPREAD: [f64; 5] = [0.75, 0.9, 1.0, 1.1, 1.25];

/// What a special is worth, and the cities by which its effect changes the final points, if it does.
type Worth = (Value, Option<Cities>);

impl Position {
    /// The row of a seat before the turn of the seat to decide.
    pub fn features(&self, seat: usize) -> [f64; FEATURES] {
        let (cities, config, city) = (&self.cities, self.config(), self.cities.of(seat));
        let (turns, free) = (self.turns_to_come(seat), free_of(city));
        let moved = seat < self.seat as usize;
        let income = cities.incomes()[seat];
        let mut coins = f64::from(city.coins + if moved { income } else { 0 });
        let own = (city.symbols().0.into(), city.symbols().1.into());
        let mut sums = Value { income: income.into(), inhabitants: own.0, hearts: own.1, coins, positions: 0 };
        let mut shift = 0.0;
        if city.effect != Effect::None {
            let (value, rule) = owned(cities, seat, turns, free, &self.specials);
            sums = Value { income: city.printed_income.into(), ..sums }.plus(&Value { coins: 0.0, ..value });
            let worth = Outlook::new(config.scoring, free, turns).of(&sums);
            shift = rule.map_or(0.0, |table| final_points(&table, seat, worth) - worth);
            coins += value.coins - price_of_buying(city);
        }
        let promised = if city.special_at.is_some() || free == 0 {
            Promised::default()
        } else {
            self.promised(seat, &sums, turns, free)
        };
        let rivals = || config.opponents(seat).map(|rival| free_of(cities.of(rival)));
        let (expert, sum) = (config.mode == Mode::Expert, config.scoring == Scoring::Sum);
        let table =
            [config.players() as f64, one_if(expert), one_if(sum), self.round.into(), seat as f64, one_if(moved)];
        let has_special = one_if(city.special_at.is_some());
        let own = [coins, sums.income, sums.inhabitants, sums.hearts, free.into(), has_special, turns];
        let fastest = rivals().min().unwrap_or(0).into();
        let mean = f64::from(rivals().sum::<i32>()) / (config.players() - 1) as f64;
        let colours = city.colours.counts().map(f64::from);
        let dwellings: [f64; DWELLINGS] = core::array::from_fn(|dwelling| {
            one_if(self.dwellings[dwelling] > 0 && !city.owns(FIRST_DWELLING + dwelling as u8))
        });
        let [first, second] = &promised.goals;
        let parts: [&[f64]; 9] =
            [&table, &own, &[fastest, mean], &promised.gains, &colours, &[shift], &dwellings, first, second];
        let mut row = [0.0; FEATURES];
        row.iter_mut().zip(parts.iter().flat_map(|part| part.iter())).for_each(|(place, number)| *place = *number);
        row
    }

    /// How many turns a seat will still have, unless it ends the game.
    fn turns_to_come(&self, seat: usize) -> f64 {
        let to_play = |seat| i32::from(seat >= self.seat as usize);
        let fill = self
            .config()
            .opponents(seat)
            .map(|rival| rounds_to_fill(self.cities.of(rival).cards.len() as i32, self.round, to_play(rival)));
        fill.fold(f64::from(LAST_ROUND - self.round), f64::min) + f64::from(to_play(seat))
    }

    /// What the specials on the table promise to a seat that has these sums and none of them.
    fn promised(&self, seat: usize, sums: &Value, turns: f64, free: i32) -> Promised {
        let (cities, scoring, mut promised) = (&self.cities, self.config().scoring, Promised::default());
        let now = Outlook::new(scoring, free, turns).of(sums);
        let later = Outlook::new(scoring, free - 1, turns);
        let rivals = || self.config().opponents(seat).map(|rival| cities.of(rival));
        for &special in self.specials.iter() {
            let lacks = lacks(special, cities.of(seat));
            let missing = total(&lacks);
            if missing > FARTHEST + 1 {
                continue;
            }
            let (value, rule) = taken(cities, seat, special, turns, free - 1, &self.specials);
            let worth = later.of(&sums.plus(&value));
            let gain = rule.map_or(worth, |table| final_points(&table, seat, worth)) - now;
            if gain > 0.0 && missing <= FARTHEST {
                let able = rivals().filter(|city| free_of(city) > 0 && city.special_at.is_none());
                let nearest = able.map(|city| total(&self::lacks(special, city))).min();
                let rival = nearest.unwrap_or(FARTHEST + 1).min(FARTHEST + 1);
                promised.add(gain, missing, rival, &lacks);
            }
        }
        promised
    }
}

/// What specials promise to a city: see `happycity_evaluation.features.Reach`.
#[derive(Default)]
struct Promised {
    gains: [f64; GAINS],
    /// The two best specials in sight, and what is expected of them.
    goals: [[f64; GOAL]; 2],
    worths: [f64; 2],
}

impl Promised {
    fn add(&mut self, gain: f64, missing: usize, rival: usize, lacks: &[u8; COLOURS]) {
        let (place, worth) = (missing.max(1) - 1, gain * REACH[missing]);
        self.gains[place] = self.gains[place].max(gain);
        if place < 2 {
            self.gains[FARTHEST + place] += 1.0;
        }
        if worth > self.worths[1] {
            let rank = usize::from(worth <= self.worths[0]);
            self.goals[1] = self.goals[0];
            self.worths[1] = self.worths[0];
            let goal = &mut self.goals[rank];
            goal[..2].copy_from_slice(&[gain, rival as f64]);
            goal[2..].copy_from_slice(&lacks.map(f64::from));
            self.worths[rank] = worth;
        }
    }
}

/// The rounds after a round until a city of this size is full, from its pace so far. `to_play` is how many turns of that
/// round its owner still has.
pub(crate) fn rounds_to_fill(size: i32, round: u8, to_play: i32) -> f64 {
    if size >= CITY_SIZE as i32 {
        return 0.0;
    }
    let pace = f64::from(size - 1 + PACE_PRIOR) / f64::from(i32::from(round) - to_play + PACE_PRIOR);
    f64::from(CITY_SIZE as i32 - size - to_play) * PACE / pace + SLACK
}

fn one_if(true_of_it: bool) -> f64 {
    u8::from(true_of_it).into()
}

pub(crate) fn free_of(city: &City) -> i32 {
    CITY_SIZE as i32 - city.cards.len() as i32
}

/// How many cards of each colour the condition of a special still misses in a city.
pub(crate) fn lacks(special: u8, city: &City) -> [u8; COLOURS] {
    let (condition, counts) = (card(special).condition, city.colours.counts());
    core::array::from_fn(|colour| condition[colour].saturating_sub(counts[colour]))
}

pub(crate) fn total(lacks: &[u8; COLOURS]) -> usize {
    lacks.iter().copied().map(usize::from).sum()
}

/// What a city gains by taking a special now, whether its condition is met or not.
pub(crate) fn taken(cities: &Cities, seat: usize, special: u8, turns: f64, free: i32, specials: &[u8]) -> Worth {
    let printed = Value::printed(special);
    let effect = card(special).effect;
    if effect == Effect::None {
        return (printed, None);
    }
    let having = cities.with_cards(seat, &[special]);
    let (extra, rule) = owned(&having, seat, turns, free, specials);
    let at_once = margin((0..cities.config.players()).zip(effect.taken(&having, seat)), cities, seat);
    let value = printed.plus(&extra);
    (Value { coins: extra.coins + at_once, ..value }, rule)
}

/// What the effect of a city's special adds to the printed values from now on.
pub(crate) fn owned(table: &Cities, seat: usize, turns: f64, free: i32, specials: &[u8]) -> Worth {
    let city = table.of(seat);
    if city.effect.chooses_copy() {
        return copied(table, seat, specials);
    }
    let turns = turns.min(free.into());
    let now = effect_values(table, seat);
    let (mut income, mut inhabitants, mut hearts) = (f64::from(now[0]), now[1], now[2]);
    if city.special().map_or(false, |special| card(special).looks_at_cities) {
        let later = effect_values(&grown(table, seat, round_half_even(turns)), seat);
        income += f64::from(later[0] - now[0]) / 2.0;
        (inhabitants, hearts) = (later[1], later[2]);
    }
    let coins = savings(city, city.uses, turns.min(f64::from(free) * STRETCH)) + limited_income(table, seat);
    income += stream(table, seat);
    let value = Value { income, inhabitants: inhabitants.into(), hearts: hearts.into(), coins, positions: 0 };
    (value, rule_of(table, seat))
}

/// What a copy chosen at the end will add: the best special of a rival, else a usual one.
fn copied(table: &Cities, seat: usize, specials: &[u8]) -> Worth {
    let copy = |special: u8| {
        let table = table.with_special(seat, special);
        let [_, inhabitants, hearts] = effect_values(&table, seat);
        (card(special).inhabitants + inhabitants, card(special).hearts + hearts, rule_of(&table, seat))
    };
    let value = |inhabitants, hearts| Value { income: 0.0, inhabitants, hearts, coins: 0.0, positions: 0 };
    let owned = table.config.opponents(seat).filter_map(|rival| table.of(rival).special());
    // The first one of the best.
    let best = owned.map(copy).reduce(|best, next| if next.0 + next.1 > best.0 + best.1 { next } else { best });
    if let Some((inhabitants, hearts, rule)) = best {
        return (value(inhabitants.into(), hearts.into()), rule);
    }
    let sums =
        specials.iter().map(|&special| copy(special)).fold((0, 0), |sums, next| (sums.0 + next.0, sums.1 + next.1));
    let count = specials.len().max(1) as f64;
    (value(f64::from(sums.0) / count, f64::from(sums.1) / count), None)
}

/// Income, inhabitants and hearts that an effect adds to a city if the game ended now.
pub(crate) fn effect_values(table: &Cities, seat: usize) -> [i32; 3] {
    let city = table.of(seat);
    let position = city.special_at.unwrap_or(0) as usize;
    let (inhabitants, hearts) = city.effect.symbols(table, seat, position);
    let copied = card(city.effect.copied(table, seat, position).unwrap_or(0));
    let income = table.income(seat) - city.printed_income;
    [income, inhabitants + copied.inhabitants, hearts + copied.hearts]
}

/// The table at the end: rivals have grown evenly, the owner by the cards that the effect gains by.
fn grown(table: &Cities, seat: usize, turns: i32) -> Cities {
    let room = |seat: usize| turns.min(free_of(table.of(seat))).max(0) as usize;
    let preferred = preferred_cards(table, seat);
    let mut grown = table.with_cards(seat, &preferred[..room(seat).min(preferred.len())]);
    for rival in table.config.opponents(seat) {
        grown = grown.with_cards(rival, &USUAL_CARDS[..room(rival).min(USUAL_CARDS.len())]);
    }
    grown
}

/// Usual cards by colours, those that an effect gains by most first, without those it loses by.
fn preferred_cards(table: &Cities, seat: usize) -> List<{ USUAL_CARDS.len() }> {
    let sum = |table: &Cities| effect_values(table, seat).iter().sum::<i32>();
    let room = (free_of(table.of(seat)) as usize).min(2);
    let gains = TWO_PER_COLOUR.map(|cards| sum(&table.with_cards(seat, &cards[..room])) - sum(table));
    let colour = |number: u8| card(number).colour.map_or(0, |colour| colour as usize - 1);
    let gain = |number: u8| gains[colour(number)];
    let place = |number: u8, same: fn(u8, u8) -> bool| USUAL_CARDS.iter().position(|&other| same(other, number));
    let mut preferred: List<{ USUAL_CARDS.len() }> =
        USUAL_CARDS.iter().copied().filter(|&number| gain(number) >= 0).collect();
    // The cards of a colour stay together and in their order, and colours of equal gains too.
    let same_colour = |one: u8, other: u8| card(one).colour == card(other).colour;
    let key = |number: u8| (-gain(number), place(number, same_colour), place(number, |one, other| one == other));
    preferred.sort_unstable_by_key(|&number| key(number));
    preferred
}

/// The coins a round that an effect brings besides the income, compared with the rivals'.
fn stream(table: &Cities, seat: usize) -> f64 {
    let effect = table.of(seat).effect;
    let mut coins = PASSES * f64::from(effect.coin_gain() - 1) + f64::from(effect.before_income(table, seat));
    let gains = effect.after_income(table, seat);
    let owner_last = table.config.opponents(seat).chain(core::iter::once(seat));
    coins += margin(owner_last.map(|seat| (seat, gains[seat])), table, seat);
    for buyer in table.config.opponents(seat) {
        let on_sale = (1..=BUILDINGS).chain(FIRST_DWELLING..FIRST_DWELLING + DWELLINGS as u8).map(card);
        let count = on_sale.clone().count();
        let tolls: i32 = on_sale.map(|card| effect.paid(table, seat, buyer, card.cost)).sum();
        coins += RIVALS_BUYS * f64::from(tolls) / count as f64;
    }
    coins
}

/// The coins of the income phases in which a limited effect will still apply.
fn limited_income(table: &Cities, seat: usize) -> f64 {
    let city = table.of(seat);
    (i32::from(city.uses) * city.effect.with_income(table, seat, &table.incomes())).into()
}

/// The coins that a seat gains, less what its opponents gain on average.
fn margin(gains: impl Iterator<Item = (usize, i32)>, table: &Cities, seat: usize) -> f64 {
    let rivals = (table.config.players() - 1) as f64;
    let shares = gains.map(|(owner, coins)| (owner == seat, f64::from(coins)));
    shares.map(|(own, coins)| if own { coins } else { -coins / rivals }).sum()
}

/// The coins that a discount will save on these purchases, or in the times it still applies.
fn savings(city: &City, uses: u8, buys: f64) -> f64 {
    let (average, highest) = city.special().map_or((0.0, 0.0), |special| card(special).savings);
    match city.effect.used_by() {
        Some(Occasion::Purchase) => f64::from(uses) * highest * BEST_OF_FREE,
        _ => buys * average * FOCUS,
    }
}

/// The coins lost by buying any card, as that uses up a discount that is limited.
pub(crate) fn price_of_buying(city: &City) -> f64 {
    match city.effect.used_by() {
        Some(Occasion::Purchase) => savings(city, city.uses.min(1), 1.0),
        _ => 0.0,
    }
}

pub(crate) fn rule_of(table: &Cities, seat: usize) -> Option<Cities> {
    changes_points(table.of(seat).effect).then_some(*table)
}

/// Estimated final points as the effect of a city changes them.
pub(crate) fn final_points(table: &Cities, seat: usize, points: f64) -> f64 {
    let effect = table.of(seat).effect;
    let change = |share: f64| {
        let sample = round_half_even(points * share);
        effect.points(table, seat, sample) - sample
    };
    points + f64::from(SPREAD.iter().map(|&share| change(share)).sum::<i32>()) / SPREAD.len() as f64
}
