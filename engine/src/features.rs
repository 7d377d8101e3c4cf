//! Positions as numbers for a value of seats: the rows of the Python module `happycity_evaluation.features`, which
//! says what they mean. Numbers are computed in the same order, so that they are the same.

use crate::cards::{card, BUILDINGS, COLOURS, DWELLINGS, FIRST_DWELLING};
use crate::cities::{Cities, City};
use crate::config::{Config, Mode, Scoring, CITY_SIZE, LAST_ROUND, MAX_PLAYERS};
use crate::effects::{Effect, Occasion};
use crate::list::List;
use crate::position::{Position, MAX_SPECIALS};
use crate::quick::{changes_points, round_half_even, Outlook, Value, STRETCH};
use crate::tables::{TWO_PER_COLOUR, USUAL_CARDS};

/// How many numbers a row has.
pub const FEATURES: usize = 15 + GAINS + COLOURS + 1 + DWELLINGS + 2 * GOAL;
const GAINS: usize = FARTHEST + 2;
pub(crate) const GOAL: usize = 2 + COLOURS;
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
pub(crate) type Worth = (Value, Option<Cities>);

/// One seat's position as numbers.
pub type Row = [f64; FEATURES];

pub(crate) const PURSE: usize = 6;
pub(crate) const INCOME: usize = 7;
pub(crate) const INHABITANTS: usize = 8;
pub(crate) const HEARTS: usize = 9;
pub(crate) const FREE: usize = 10;
pub(crate) const SPECIAL: usize = 11;
pub(crate) const FIRST_GAIN: usize = 15;
pub(crate) const FIRST_COLOUR: usize = FIRST_GAIN + GAINS;
pub(crate) const SHIFT: usize = FIRST_COLOUR + COLOURS;
pub(crate) const FIRST_STACK: usize = SHIFT + 1;
pub(crate) const GOALS: usize = FIRST_STACK + DWELLINGS;

/// Between two turns: whose turn of the round is over, and how many cards each city holds.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    config: Config,
    round: i32,
    moved: [bool; MAX_PLAYERS],
    sizes: [i32; MAX_PLAYERS],
}

impl Frame {
    /// The frame before the turn of the seat to decide.
    pub fn before_turn(position: &Position) -> Frame {
        let mut sizes = [0; MAX_PLAYERS];
        sizes.iter_mut().zip(position.cities.all()).for_each(|(size, city)| *size = city.cards.len() as i32);
        let moved = core::array::from_fn(|seat| seat < position.seat as usize);
        Frame { config: position.config(), round: position.round.into(), moved, sizes }
    }

    /// The frame after the turn of a seat that adds this number of cards to its city.
    pub fn after_turn(mut self, seat: usize, bought: i32) -> Frame {
        self.moved[seat] = true;
        self.sizes[seat] = (self.sizes[seat] + bought).min(CITY_SIZE as i32);
        self
    }

    /// The frame when the next round begins.
    pub fn next_round(self) -> Frame {
        Frame { round: self.round + 1, moved: [false; MAX_PLAYERS], ..self }
    }

    /// How many turns a seat will still have, unless it ends the game.
    pub fn turns(&self, seat: usize) -> f64 {
        let to_play = |seat: usize| i32::from(!self.moved[seat]);
        let rivals = self.config.opponents(seat);
        let fill = rivals.map(|rival| rounds_to_fill(self.sizes[rival], self.round, to_play(rival)));
        fill.fold(f64::from(i32::from(LAST_ROUND) - self.round), f64::min) + f64::from(to_play(seat))
    }
}

impl Position {
    /// The row of a seat before the turn of the seat to decide.
    pub fn features(&self, seat: usize) -> Row {
        let frame = Frame::before_turn(self);
        let [row] = self.waiting_rows(seat, [frame]);
        row
    }

    /// The rows of a seat that waits for its next turn, in each of the frames of one round.
    pub(crate) fn waiting_rows<const N: usize>(&self, seat: usize, frames: [Frame; N]) -> [Row; N] {
        let moved = frames[0].moved[seat];
        let coins = self.cities.of(seat).coins + if moved { self.cities.income(seat) } else { 0 };
        let held = Held::of(self, seat, coins.into(), &frames[0]);
        let usual = held.promises(coins.into(), frames[0].turns(seat)).reach(0, false);
        frames.map(|frame| held.row(&frame, f64::from(coins) + held.extra, &usual))
    }

    /// Calls `each` with the row of a seat after each purchase that it can pay for with these coins in the turn after
    /// the frame, and the card's number: first with that of taking a coin, number 0. All cards may be drawn.
    pub(crate) fn purchases(&self, seat: usize, coins: i32, frame: &Frame, mut each: impl FnMut(u8, &Row)) {
        let (city, scoring) = (self.cities.of(seat), self.config().scoring);
        let idle = frame.after_turn(seat, 0);
        let (held, turns) = (Held::of(self, seat, coins.into(), &idle), idle.turns(seat));
        let with_income = f64::from(coins + self.cities.income(seat)) + held.extra;
        let mut promised = held.promises(coins.into(), turns);
        each(0, &held.row(&idle, with_income + held.if_passing, &promised.reach(0, false)));
        let free = free_of(city);
        if free == 0 {
            return;
        }
        if free == 1 {
            promised = Promises::default();
        }
        let reached: [Reach; COLOURS + 1] = core::array::from_fn(|colour| promised.reach(colour, true));
        let base = held.row(&frame.after_turn(seat, 1), with_income, &Reach::default());
        for number in 1..FIRST_DWELLING + DWELLINGS as u8 {
            let (bought, price) = (card(number), city.price(card(number)));
            if price > coins || city.owns(number) {
                continue;
            }
            let [income, inhabitants, hearts] = held.additions(number);
            let colour = bought.colour.map_or(0, |colour| colour as usize);
            let mut row = base;
            row[PURSE] += income - f64::from(price);
            row[INCOME] += income;
            row[INHABITANTS] += inhabitants;
            row[HEARTS] += hearts;
            if colour > 0 {
                row[FIRST_COLOUR + colour - 1] += 1.0;
            }
            row[FIRST_GAIN..FIRST_COLOUR].copy_from_slice(&reached[colour].gains);
            row[GOALS..].copy_from_slice(&reached[colour].goals);
            if number >= FIRST_DWELLING {
                row[FIRST_STACK + (number - FIRST_DWELLING) as usize] = 0.0;
            }
            if let Some(taken) = reached[colour].taken {
                add_special(&mut row, &promised.each[taken].worth, turns, scoring);
            }
            each(number, &row);
        }
    }

    /// Calls `each` with the row of the seat to decide after declining, and after taking each special that it may.
    pub(crate) fn takings(&self, mut each: impl FnMut(&Row)) {
        let seat = self.seat as usize;
        let after = Frame::before_turn(self).after_turn(seat, 0);
        let (coins, turns) = (f64::from(self.cities.of(seat).coins), after.turns(seat));
        let held = Held::of(self, seat, coins, &after);
        let purse = coins + f64::from(self.cities.income(seat));
        each(&held.row(&after, purse, &held.promises(coins, turns).reach(0, false)));
        let base = held.row(&after, purse, &Reach::default());
        for chosen in self.legal_moves().skip(1) {
            let mut row = base;
            let worth = taken_now(self, chosen.card(), turns, free_of(self.cities.of(seat)));
            add_special(&mut row, &worth, turns, self.config().scoring);
            each(&row);
        }
    }
}

/// Changes the row of a seat to that with a special.
fn add_special(row: &mut Row, (value, rule): &Worth, turns: f64, scoring: Scoring) {
    row[PURSE] += value.coins + value.income;
    row[INCOME] += value.income;
    row[INHABITANTS] += value.inhabitants;
    row[HEARTS] += value.hearts;
    row[FREE] = (row[FREE] - f64::from(value.positions)).max(0.0);
    row[SPECIAL] = 1.0;
    row[FIRST_GAIN..FIRST_COLOUR].fill(0.0);
    row[GOALS..].fill(0.0);
    if let Some(table) = rule {
        let outlook = Outlook::new(scoring, row[FREE] as i32, turns);
        let sums = Value {
            income: row[INCOME],
            inhabitants: row[INHABITANTS],
            hearts: row[HEARTS],
            coins: row[PURSE],
            positions: 0,
        };
        let worth = outlook.of(&sums);
        row[SHIFT] = final_points(table, row[4] as usize, worth) - worth;
    }
}

/// What a seat has: its city with what its effect adds, and coins that the effect is worth.
struct Held<'a> {
    position: &'a Position,
    seat: usize,
    /// Without coins.
    sums: Value,
    extra: f64,
    /// What a city has on top of that if it buys nothing.
    if_passing: f64,
    /// Points that a rule about final points adds.
    shift: f64,
    /// What the effect adds now, if other cards may change it.
    grows: Option<[i32; 3]>,
}

impl Held<'_> {
    fn of<'a>(position: &'a Position, seat: usize, coins: f64, frame: &Frame) -> Held<'a> {
        let (cities, config, city) = (&position.cities, position.config(), position.cities.of(seat));
        let (inhabitants, hearts) = (city.symbols().0.into(), city.symbols().1.into());
        let income = cities.income(seat).into();
        let sums = Value { income, inhabitants, hearts, coins: 0.0, positions: 0 };
        let mut held = Held { position, seat, sums, extra: 0.0, if_passing: 1.0, shift: 0.0, grows: None };
        if city.effect != Effect::None {
            let (turns, free) = (frame.turns(seat), free_of(city));
            let (value, rule) = owned(cities, seat, turns, free, &position.specials);
            let lost_discount = price_of_buying(city);
            held.sums = Value { income: city.printed_income.into(), ..sums }.plus(&Value { coins: 0.0, ..value });
            held.extra = value.coins - lost_discount;
            held.if_passing = f64::from(city.effect.coin_gain()) + lost_discount;
            let worth = Outlook::new(config.scoring, free, turns).of(&Value { coins, ..held.sums });
            held.shift = rule.map_or(0.0, |table| final_points(&table, seat, worth) - worth);
            let looks = city.special().map_or(false, |special| card(special).looks_at_cities);
            held.grows = looks.then(|| effect_values(cities, seat));
        }
        held
    }

    /// Income, inhabitants and hearts that a card adds.
    fn additions(&self, number: u8) -> [f64; 3] {
        let added = card(number);
        let mut more = [added.income, added.inhabitants, added.hearts];
        if let Some(before) = self.grows {
            let after = effect_values(&self.position.cities.with_cards(self.seat, &[number]), self.seat);
            (0..3).for_each(|place| more[place] += after[place] - before[place]);
        }
        more.map(f64::from)
    }

    /// What the specials on the table promise to the seat; nothing if it can't take any.
    fn promises(&self, coins: f64, turns: f64) -> Promises {
        let (position, seat, mut promised) = (self.position, self.seat, Promises::default());
        let (cities, city, scoring) = (&position.cities, position.cities.of(seat), position.config().scoring);
        let free = free_of(city);
        if city.special_at.is_some() || free == 0 {
            return promised;
        }
        let sums = Value { coins, ..self.sums };
        let now = Outlook::new(scoring, free, turns).of(&sums);
        let later = Outlook::new(scoring, free - 1, turns);
        let rivals = || position.config().opponents(seat).map(|rival| cities.of(rival));
        for &special in position.specials.iter() {
            let lacks = lacks(special, city);
            let missing = total(&lacks);
            if missing > FARTHEST + 1 {
                continue;
            }
            let taken = taken(cities, seat, special, turns, free - 1, &position.specials);
            let worth = later.of(&sums.plus(&taken.0));
            let gain = taken.1.map_or(worth, |table| final_points(&table, seat, worth)) - now;
            if gain > 0.0 {
                let able = rivals().filter(|city| free_of(city) > 0 && city.special_at.is_none());
                let nearest = able.map(|city| total(&self::lacks(special, city))).min();
                let rival = nearest.unwrap_or(FARTHEST + 1).min(FARTHEST + 1);
                promised.each[promised.count] = Promise { missing, lacks, gain, rival, worth: taken };
                promised.count += 1;
            }
        }
        promised
    }

    fn row(&self, frame: &Frame, purse: f64, reach: &Reach) -> Row {
        let Held { position, seat, sums, .. } = *self;
        let (config, city) = (position.config(), position.cities.of(seat));
        let free = |seat: usize| CITY_SIZE as i32 - frame.sizes[seat];
        let rivals = || config.opponents(seat).map(free);
        let (expert, sum) = (config.mode == Mode::Expert, config.scoring == Scoring::Sum);
        let moved = one_if(frame.moved[seat]);
        let table = [config.players() as f64, one_if(expert), one_if(sum), frame.round.into(), seat as f64, moved];
        let has_special = one_if(city.special_at.is_some());
        let own =
            [purse, sums.income, sums.inhabitants, sums.hearts, free(seat).into(), has_special, frame.turns(seat)];
        let fastest = rivals().min().unwrap_or(0).into();
        let mean = f64::from(rivals().sum::<i32>()) / (config.players() - 1) as f64;
        let colours = city.colours.counts().map(f64::from);
        let dwellings: [f64; DWELLINGS] = core::array::from_fn(|dwelling| {
            one_if(position.dwellings[dwelling] > 0 && !city.owns(FIRST_DWELLING + dwelling as u8))
        });
        let parts: [&[f64]; 8] =
            [&table, &own, &[fastest, mean], &reach.gains, &colours, &[self.shift], &dwellings, &reach.goals];
        let mut row = [0.0; FEATURES];
        row.iter_mut().zip(parts.iter().flat_map(|part| part.iter())).for_each(|(place, number)| *place = *number);
        row
    }
}

/// What a special promises to a city.
#[derive(Clone, Copy)]
struct Promise {
    /// Cards that its condition still misses, and of which colours.
    missing: usize,
    lacks: [u8; COLOURS],
    /// Points at the end that it adds.
    gain: f64,
    /// Cards that the nearest rival misses.
    rival: usize,
    worth: Worth,
}

/// What the specials on the table promise to a city.
struct Promises {
    each: [Promise; MAX_SPECIALS],
    count: usize,
}

impl Default for Promises {
    fn default() -> Promises {
        let worth = (Value::printed(0), None);
        let none = Promise { missing: 0, lacks: [0; COLOURS], gain: 0.0, rival: 0, worth };
        Promises { each: [none; MAX_SPECIALS], count: 0 }
    }
}

/// What specials promise to a city after its next card: see `happycity_evaluation.features.Reach`.
#[derive(Default)]
struct Reach {
    /// The place of the best promise whose condition is met with the card.
    taken: Option<usize>,
    gains: [f64; GAINS],
    /// The two best specials in sight.
    goals: [f64; 2 * GOAL],
}

impl Promises {
    /// What is promised after a card of a colour (0 for none). With `take`, a special whose condition is met is taken;
    /// else it counts as missing one card.
    fn reach(&self, colour: usize, take: bool) -> Reach {
        let mut reach = Reach::default();
        let (mut most, mut first, mut second) = (0.0, 0.0, 0.0);
        for (place, promise) in self.each[..self.count].iter().enumerate() {
            let fits = colour > 0 && promise.lacks[colour - 1] > 0;
            let missing = promise.missing - usize::from(fits);
            if missing == 0 && take {
                if promise.gain > most {
                    reach.taken = Some(place);
                    most = promise.gain;
                }
                continue;
            }
            if missing > FARTHEST {
                continue;
            }
            let (near, worth) = (missing.max(1) - 1, promise.gain * REACH[missing]);
            reach.gains[near] = reach.gains[near].max(promise.gain);
            if near < 2 {
                reach.gains[FARTHEST + near] += 1.0;
            }
            if worth <= second {
                continue;
            }
            let mut goal_at = GOAL;
            second = worth;
            if worth > first {
                reach.goals.copy_within(..GOAL, GOAL);
                second = core::mem::replace(&mut first, worth);
                goal_at = 0;
            }
            let goal = &mut reach.goals[goal_at..goal_at + GOAL];
            goal[..2].copy_from_slice(&[promise.gain, promise.rival as f64]);
            goal[2..].copy_from_slice(&promise.lacks.map(f64::from));
            if fits {
                goal[colour + 1] -= 1.0;
            }
        }
        reach
    }
}

/// The rounds after a round until a city of this size is full, from its pace so far. `to_play` is how many turns of that
/// round its owner still has.
pub(crate) fn rounds_to_fill(size: i32, round: i32, to_play: i32) -> f64 {
    if size >= CITY_SIZE as i32 {
        return 0.0;
    }
    let pace = f64::from(size - 1 + PACE_PRIOR) / f64::from(round - to_play + PACE_PRIOR);
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

/// What the seat to decide gains by taking a special, which may discard the last card of its city.
pub(crate) fn taken_now(position: &Position, special: u8, turns: f64, free: i32) -> Worth {
    let (seat, mut cities, mut lost) = (position.seat as usize, position.cities, None);
    if card(special).effect.replaces_last() {
        lost = cities.remove_last(seat);
    }
    let (mut value, rule) = taken(&cities, seat, special, turns, free, &position.specials);
    if let Some(lost) = lost {
        let lost = Value::printed(lost);
        value.income -= lost.income;
        value.inhabitants -= lost.inhabitants;
        value.hearts -= lost.hearts;
        value.positions = 0;
    }
    (value, rule)
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
    // In Python, a number of cards below 0 leaves the last ones out: after round 30, where the champion looks for what is
    // left to the next player.
    let kept = if turns < 0 { preferred.len() as i32 + turns } else { turns };
    let kept = kept.min(free_of(table.of(seat))).max(0) as usize;
    let mut grown = table.with_cards(seat, &preferred[..kept.min(preferred.len())]);
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
