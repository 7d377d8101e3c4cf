//! The planner's policy of the Python packages `happycity_bots` and `happycity_evaluation`, which say what it means: it
//! plays for the points that a city may have at the end. Numbers are computed in the same order, so that choices are
//! the same.

use core::iter::once;

use crate::cards::{card, BUILDINGS, COLOURS, DWELLINGS, FIRST_DWELLING};
use crate::config::{CENTRE_SIZE, LAST_ROUND, MAX_PLAYERS};
use crate::effects::Effect;
use crate::features::{
    effect_values, final_points, free_of, lacks, owned, price_of_buying, rounds_to_fill, rule_of, taken, taken_now,
    total, REACH,
};
use crate::moves::{Move, MoveKind};
use crate::position::{Phase, Position, DECKS, MAX_MOVES};
use crate::quick::{Outlook, Value};
use crate::random::PythonRandom;
use crate::view::Worlds;

/// What a gain of the next player costs, by the number of seats.
const DENIAL: [f64; MAX_PLAYERS + 1] = [0.0, 0.0, 0.35, 0.28, 0.2, 0.16];
/// What is lost by buying a dwelling one turn early.
const WAIT: f64 = 0.035;
/// What a second draw in the same turn is worth, compared with the first.
const SECOND_DRAW: f64 = 0.6;
/// The gain of a card that a city can't buy.
const UNAFFORDABLE: f64 = -1e9;
/// Worlds by which the box is judged.
const BOX_SAMPLES: usize = 32;
/// Points of a copy per place: they decide between equal places alone, and sums stay exact.
const POINTS_A_PLACE: f64 = (1 << 20) as f64;

/// The planner at one table: between decisions it keeps what its appraisals of a turn are.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    /// The situation of a turn, and its round and seat.
    appraised: Option<(u8, u8, Situation)>,
}

/// What the planner thinks of the legal moves at a decision.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub(crate) worths: [f64; MAX_MOVES],
    count: usize,
    /// At a purchase or a special: the points that are expected at the end, of taking a coin or declining.
    pub points: f64,
}

impl Plan {
    /// What each move is worth, in the order of the legal moves.
    pub fn worths(&self) -> &[f64] {
        &self.worths[..self.count]
    }

    /// The place of the first move that is worth most.
    pub fn best(&self) -> usize {
        (1..self.count).fold(0, |best, place| if self.worths[place] > self.worths[best] { place } else { best })
    }
}

impl Planner {
    /// Returns the move that is best by a judge; none if there is none to choose.
    pub fn choose(&mut self, position: &Position, judge: &impl Judge) -> Option<Move> {
        position.legal_move(self.plan(position, judge).best())
    }

    /// Returns the worth of each legal move by a judge. Nothing hidden in the position is looked at.
    pub fn plan(&mut self, position: &Position, judge: &impl Judge) -> Plan {
        let mut points = 0.0;
        let mut plan = Plan { worths: [0.0; MAX_MOVES], count: position.move_count(), points };
        let before_purchase = matches!(position.phase, Phase::Discard | Phase::Draw | Phase::Buy);
        let situation = if before_purchase { Some(self.situation(position, judge)) } else { None };
        if position.phase == Phase::Special {
            let mut worths = plan.worths.iter_mut();
            judge.specials(position, |worth| worths.by_ref().take(1).for_each(|place| *place = worth));
            plan.points = plan.worths[0];
            return plan;
        }
        for (worth, chosen) in plan.worths.iter_mut().zip(position.legal_moves()) {
            *worth = match (situation, chosen.kind()) {
                (Some(situation), MoveKind::Keep) => situation.worth_of_discarding(position, 0),
                (Some(situation), MoveKind::Discard(number)) => situation.worth_of_discarding(position, number),
                (Some(situation), MoveKind::Draw(deck)) => situation.upside(deck, situation.offer(&position.centre)),
                (Some(situation), _) => {
                    points = situation.own.points;
                    situation.worth_of_buying(&position.centre, chosen.card())
                }
                (None, MoveKind::Market(market)) => worth_of_market(position, market),
                (None, _) => worth_of_copy(position, chosen),
            };
        }
        plan.points = points;
        plan
    }

    /// Returns the situation of the turn, which is the same at all decisions up to the purchase.
    pub(crate) fn situation(&mut self, position: &Position, judge: &impl Judge) -> &Situation {
        let turn = (position.round, position.seat);
        let kept = self.appraised.take().filter(|&(round, seat, _)| (round, seat) == turn);
        let appraised = kept.unwrap_or_else(|| (turn.0, turn.1, judge.situation(position)));
        &self.appraised.insert(appraised).2
    }
}

/// Says what purchases and specials are worth; the rest of a plan follows from it.
pub trait Judge {
    /// Appraises the turn of the seat to decide.
    fn situation(&self, position: &Position) -> Situation;

    /// Calls `each` with the worth of declining, and of each special that the seat to decide may take.
    fn specials(&self, position: &Position, each: impl FnMut(f64));
}

/// The planner's judge: the points that a city may have at the end.
#[derive(Clone, Copy, Debug)]
pub struct Points;

impl Judge for Points {
    fn situation(&self, position: &Position) -> Situation {
        let (cities, seat, players) = (&position.cities, position.seat as usize, position.config().players());
        let follower = (seat + 1) % players;
        // Seat 0 has its next turn in the next round.
        let income = if follower == 0 { cities.income(follower) } else { 0 };
        let own = Appraisal::of(position, seat, cities.of(seat).coins);
        let next = Appraisal::of(position, follower, cities.of(follower).coins + income);
        Situation::new(position, own, next, DENIAL[players])
    }

    fn specials(&self, position: &Position, mut each: impl FnMut(f64)) {
        each(worth_of_declining(position));
        position.legal_moves().skip(1).for_each(|chosen| each(worth_of_taking(position, chosen.card())));
    }
}

/// The appraisals of one turn, which hold until the purchase.
#[derive(Clone, Debug)]
pub struct Situation {
    own: Appraisal,
    next: Appraisal,
    denial: f64,
    own_dwelling: f64,
    next_dwelling: f64,
}

impl Situation {
    /// The situation by appraisals of the own and the next player's turn, a gain of which costs the share `denial`.
    pub(crate) fn new(position: &Position, own: Appraisal, next: Appraisal, denial: f64) -> Situation {
        let (own_dwelling, next_dwelling) = (own.best_dwelling(position), next.best_dwelling(position));
        Situation { own, next, denial, own_dwelling, next_dwelling }
    }

    /// Keeping everything, or a discard, with the draws that follow.
    fn worth_of_discarding(&self, position: &Position, discarded: u8) -> f64 {
        let mut kept = position.centre;
        kept.remove(discarded);
        let (own, left) = self.offer(&kept);
        let worth = own - self.denial * left;
        let draws = CENTRE_SIZE - kept.len();
        if draws == 0 {
            return worth;
        }
        let best = (1..=DECKS as u8).map(|deck| self.upside(deck, (own, left))).fold(f64::NEG_INFINITY, f64::max);
        worth + best * (1.0 + SECOND_DRAW * (draws as f64 - 1.0))
    }

    /// A purchase; card 0 is the coin.
    fn worth_of_buying(&self, centre: &[u8], number: u8) -> f64 {
        let left = self.next_dwelling.max(self.next.best_of_rest(centre, number));
        self.own.gains[number as usize] - self.denial * left
    }

    /// The own best gain among the cards on sale, and the next player's best from the rest.
    fn offer(&self, centre: &[u8]) -> (f64, f64) {
        let (mut pick, mut own) = (0, self.own_dwelling);
        for &number in centre {
            if self.own.gains[number as usize] > own {
                pick = number;
                own = self.own.gains[number as usize];
            }
        }
        (own, self.next.best_of_rest(centre, pick).max(self.next_dwelling))
    }

    /// What a turn is worth with these cards in the centre.
    #[cfg(feature = "network")]
    pub(crate) fn worth_of_offer(&self, centre: &[u8]) -> f64 {
        let (own, left) = self.offer(centre);
        own - self.denial * left
    }

    /// Whether a card would change that.
    #[cfg(feature = "network")]
    pub(crate) fn is_of_use(&self, number: u8) -> bool {
        let card = number as usize;
        self.own.gains[card] > self.own_dwelling || self.next.gains[card] > self.next_dwelling
    }

    /// What one more card of a deck adds on average to the own gain, less to the next player's.
    fn upside(&self, deck: u8, (own, left): (f64, f64)) -> f64 {
        self.own.surplus(deck, own) - self.denial * self.next.surplus(deck, left)
    }
}

/// What every card that may be on sale is worth to one city in one turn.
#[derive(Clone, Debug)]
pub(crate) struct Appraisal {
    /// Expected points if the turn goes by with taking a coin.
    points: f64,
    /// Expected points on top of that, by the card bought instead; 0 is the coin.
    gains: [f64; Appraisal::CARDS],
}

impl Appraisal {
    /// How many cards may be on sale, and the coin.
    pub const CARDS: usize = BUILDINGS as usize + DWELLINGS + 1;

    /// The appraisal with these points, and the gain of each purchase by the strength of the city after it.
    #[cfg(feature = "network")]
    pub fn by(points: f64, strengths: [Option<f64>; Appraisal::CARDS], gain: impl Fn(f64) -> f64) -> Appraisal {
        let mut gains = strengths.map(|strength| strength.map_or(UNAFFORDABLE, &gain));
        gains[0] = 0.0;
        Appraisal { points, gains }
    }

    fn of(position: &Position, seat: usize, coins: i32) -> Appraisal {
        let (cities, city) = (&position.cities, position.cities.of(seat));
        let mut prospects = Prospects::of(position, seat, coins);
        let (mut extra, mut if_passing, mut rule) = (0.0, 1.0, None);
        if city.effect != Effect::None {
            let (value, changes) = owned(cities, seat, prospects.turns, prospects.free, &position.specials);
            let (purse, lost_discount) = (prospects.sums.coins, price_of_buying(city));
            prospects.sums.income = city.printed_income.into();
            prospects.sums = prospects.sums.plus(&value);
            prospects.sums.coins = purse;
            extra = value.coins - lost_discount;
            if_passing = f64::from(city.effect.coin_gain()) + lost_discount;
            rule = changes;
        }
        let potentials = prospects.potentials(position.specials.iter().copied());
        let Prospects { sums, turns, free, .. } = prospects;
        let wealth = sums.coins + extra;
        let final_of = |points: f64, bought: &[u8]| match &rule {
            None => points,
            Some(usual) => {
                final_points(&rule_of(&cities.with_cards(seat, bought), seat).unwrap_or(*usual), seat, points)
            }
        };
        let idle = prospects.outlook(free).of(&Value { coins: wealth + if_passing, ..sums });
        let points = final_of(idle, &[]) + potentials[0];
        let mut gains = [UNAFFORDABLE; Appraisal::CARDS];
        gains[0] = 0.0;
        if free == 0 {
            return Appraisal { points, gains };
        }
        let outlook = prospects.outlook(free - 1);
        let grows = city.special().map_or(false, |special| card(special).looks_at_cities);
        let before = if grows { effect_values(cities, seat) } else { [0; 3] };
        for (number, gain) in (0..).zip(gains.iter_mut()).skip(1) {
            let (bought, price) = (card(number), city.price(card(number)));
            if price > coins || city.owns(number) {
                continue;
            }
            let mut more = [bought.income, bought.inhabitants, bought.hearts];
            if grows {
                let after = effect_values(&cities.with_cards(seat, &[number]), seat);
                (0..3).for_each(|place| more[place] += after[place] - before[place]);
            }
            let [income, inhabitants, hearts] = more.map(f64::from);
            let worth = outlook.of(&Value {
                coins: wealth - f64::from(price),
                income: sums.income + income,
                inhabitants: sums.inhabitants + inhabitants,
                hearts: sums.hearts + hearts,
                positions: 0,
            });
            let colour = bought.colour.map_or(0, |colour| colour as usize);
            *gain = final_of(worth, &[number]) + potentials[colour] - points;
        }
        if points > 0.0 {
            let loss = WAIT * turns * square_root(points);
            gains[FIRST_DWELLING as usize..].iter_mut().for_each(|gain| *gain -= loss);
        }
        Appraisal { points, gains }
    }

    /// The best gain among the dwellings left, at least 0.
    fn best_dwelling(&self, position: &Position) -> f64 {
        let dwellings = self.gains[FIRST_DWELLING as usize..].iter().zip(&position.dwellings);
        dwellings.filter(|(_, &left)| left > 0).map(|(&gain, _)| gain).fold(0.0, f64::max)
    }

    /// The best gain in the centre, at least 0, once a card is taken from it (0 for none); a second copy stays.
    fn best_of_rest(&self, centre: &[u8], mut taken: u8) -> f64 {
        let mut best = 0.0;
        for &number in centre {
            if number == taken {
                taken = 0;
            } else if self.gains[number as usize] > best {
                best = self.gains[number as usize];
            }
        }
        best
    }

    /// By how much a card drawn from a deck (1 to 3) beats a gain, 0 or more, on average.
    fn surplus(&self, deck: u8, floor: f64) -> f64 {
        let (mut total, mut count) = (0.0, 0.0);
        for number in (1..=BUILDINGS).filter(|&number| card(number).deck == deck) {
            let gain = self.gains[number as usize];
            count += 1.0;
            if gain > floor {
                total += gain - floor;
            }
        }
        total / count
    }
}

/// What a seat has, and may still reach.
struct Prospects<'a> {
    position: &'a Position,
    seat: usize,
    sums: Value,
    /// The turns after the current or next one, unless the seat ends the game.
    turns: f64,
    free: i32,
}

impl Prospects<'_> {
    fn of(position: &Position, seat: usize, coins: i32) -> Prospects<'_> {
        let city = position.cities.of(seat);
        let (inhabitants, hearts) = (city.symbols().0.into(), city.symbols().1.into());
        let income = position.cities.income(seat).into();
        let sums = Value { income, inhabitants, hearts, coins: coins.into(), positions: 0 };
        let rounds = position.config().opponents(seat).map(|rival| {
            let to_play = i32::from(rival > position.seat as usize);
            rounds_to_fill(position.cities.of(rival).cards.len() as i32, position.round.into(), to_play)
        });
        let turns = rounds.fold(f64::from(LAST_ROUND - position.round), f64::min);
        Prospects { position, seat, sums, turns, free: free_of(city) }
    }

    fn outlook(&self, free: i32) -> Outlook {
        Outlook::new(self.position.config().scoring, free, self.turns)
    }

    /// The points to expect of the best of these specials, by the colour of the next card; 0 is for none.
    fn potentials(&self, specials: impl Iterator<Item = u8>) -> [f64; COLOURS + 1] {
        let (cities, city) = (&self.position.cities, self.position.cities.of(self.seat));
        let mut potentials = [0.0f64; COLOURS + 1];
        if city.special_at.is_some() || self.free == 0 {
            return potentials;
        }
        let (now, later, free) = (self.outlook(self.free).of(&self.sums), self.outlook(self.free - 1), self.free - 1);
        let most = (self.turns + 1.0).min(free.into()).min((REACH.len() - 1) as f64);
        for special in specials {
            let lacks = lacks(special, city);
            let missing = total(&lacks);
            if missing as f64 > most {
                continue;
            }
            let (value, rule) = taken(cities, self.seat, special, self.turns, free, &self.position.specials);
            let worth = later.of(&self.sums.plus(&value));
            let gain = rule.map_or(worth, |table| final_points(&table, self.seat, worth)) - now;
            potentials[0] = potentials[0].max(gain * REACH[missing]);
            for (potential, _) in potentials[1..].iter_mut().zip(lacks).filter(|(_, lack)| *lack > 0) {
                *potential = potential.max(gain * REACH[missing - 1]);
            }
        }
        potentials.map(|potential| potential.max(potentials[0]))
    }
}

/// The prospects of the seat to decide with the coins that it has.
fn own_prospects(position: &Position) -> Prospects<'_> {
    let seat = position.seat as usize;
    Prospects::of(position, seat, position.cities.of(seat).coins)
}

fn worth_of_declining(position: &Position) -> f64 {
    let prospects = own_prospects(position);
    let others = position.specials.iter().copied().filter(|&special| !position.is_legal(Move::take(special)));
    prospects.outlook(prospects.free).of(&prospects.sums) + prospects.potentials(others)[0]
}

fn worth_of_taking(position: &Position, special: u8) -> f64 {
    let Prospects { sums, turns, free, seat, .. } = own_prospects(position);
    let (value, rule) = taken_now(position, special, turns, free);
    let worth = Outlook::new(position.config().scoring, free - value.positions, turns).of(&sums.plus(&value));
    rule.map_or(worth, |table| final_points(&table, seat, worth))
}

/// The points that may come from all specials together with a coloured Happy Market.
fn worth_of_market(position: &Position, market: u8) -> f64 {
    let mut drafted = *position;
    let seat = position.seat as usize;
    drafted.cities.add(seat, market);
    let mut prospects = Prospects::of(&drafted, seat, position.cities.of(seat).coins);
    prospects.sums.income = position.cities.income(seat).into();
    position.specials.iter().map(|&special| prospects.potentials(once(special))[0]).sum()
}

/// Minus the mean place, and the mean points, of games that a copy of the Sphinx ends: from the box, some of them.
fn worth_of_copy(position: &Position, copy: Move) -> f64 {
    let seat = position.seat as usize;
    let samples = if copy == Move::COPY_BOX { BOX_SAMPLES } else { 1 };
    let (mut random, mut places, mut points) = (PythonRandom::of_seed(0), 0, 0);
    let worlds = match Worlds::new(&position.view()) {
        Ok(worlds) => worlds,
        Err(_) => return 0.0,
    };
    for _ in 0..samples {
        let mut world = worlds.sample(&mut random);
        world.play(copy);
        let outcome = world.score();
        places += i32::from(outcome.ranks[seat]);
        points += outcome.scores[seat].points;
    }
    (f64::from(points) / POINTS_A_PLACE - f64::from(places)) / samples as f64
}

/// The square root of a number above 0, correctly rounded, which needs the standard library elsewhere.
fn square_root(number: f64) -> f64 {
    let bits = number.to_bits();
    let exponent = (bits >> 52) as i32 - 1075;
    let shift = 54 + exponent.rem_euclid(2);
    let square = u128::from(bits & ((1 << 52) - 1) | 1 << 52) << shift;
    let half = (exponent - shift) / 2;
    let power_of_two = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
    // A root of the halved exponent, by Newton's method right up to the last place, then in whole numbers.
    let mut guess = f64::from_bits((bits >> 1) + (1023 << 51));
    (0..4).for_each(|_| guess = (guess + number / guess) / 2.0);
    let mut root = (guess * power_of_two(-half)) as u128;
    while root * root > square {
        root -= 1;
    }
    while (root + 1) * (root + 1) <= square {
        root += 1;
    }
    ((root + 1) >> 1) as f64 * power_of_two(half + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{FastRandom, Random};

    /// The root is the standard library's, which IEEE 754 asks to be correctly rounded.
    #[test]
    fn square_roots() {
        let mut random = FastRandom::new(1);
        for _ in 0..200_000 {
            let number = random.uniform() * 1000.0 + 1e-9;
            assert_eq!(square_root(number), number.sqrt());
        }
        for number in [1.0, 2.0, 0.25, 1e-300, 1e300, 49.0, f64::MIN_POSITIVE] {
            assert_eq!(square_root(number), number.sqrt());
        }
    }
}
