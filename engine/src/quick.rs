//! The quick policy of the Python package `happycity_evaluation.quick`: it plays sampled worlds to their ends, all
//! seats by one cheap rule. Numbers are computed in the same order, so that choices are the same.

use crate::cards::{card, Card};
use crate::cities::Cities;
use crate::config::{Scoring, CITY_SIZE};
use crate::effects::Effect;
use crate::error::Error;
use crate::moves::Move;
use crate::position::{Outcome, Phase, Position};
use crate::random::Random;

/// The purse from which deck 2 is drawn in a playout.
const FAIR_PURSE: i32 = 4;
/// The purse from which deck 3 is drawn.
const RICH_PURSE: i32 = 7;
/// The lead, as a share of both cities' points, that counts half as much as a lead without end.
const EVEN: f64 = 0.07;
/// Points that a coin is worth at the end.
const COIN_LEFT: f64 = 0.02;

/// Which seats never take a coin when they can buy: bit n is set for such a seat n.
pub type Fast = u8;

/// Returns how far ahead of its rivals a seat ended, from -1 to 1: the places decide a game, but the distance says how
/// safe a place is.
pub fn success(outcome: &Outcome, players: usize, seat: usize) -> f64 {
    let total_of = |seat: usize| {
        let score = &outcome.scores[seat];
        f64::from(score.points) + COIN_LEFT * f64::from(score.coins)
    };
    let own = total_of(seat);
    let mut total = 0.0;
    for rival in (0..players).filter(|&rival| rival != seat) {
        let other = total_of(rival);
        let lead = own - other;
        let distance = if lead < 0.0 { -lead } else { lead };
        total += lead / (distance + EVEN * (own + other) + 1.0);
    }
    total / (players - 1) as f64
}

impl Position {
    /// Returns which rivals of the acting seat have bought a card in every turn so far: they will continue to, which
    /// ends the game earlier than a seat that waits for a good card expects.
    pub fn fast_builders(&self) -> Fast {
        let own = self.seat as usize;
        let fast = |&seat: &usize| {
            let bought = |&&number: &&u8| card(number).cost > 0 || card(number).effect.replaces_last();
            let bought = self.cities.of(seat).cards.iter().filter(bought).count();
            bought + usize::from(seat > own) >= self.round as usize
        };
        self.config().opponents(own).filter(fast).map(|seat| 1 << seat).sum()
    }

    /// Plays to the end by the quick policy, which leaves nothing to chance.
    ///
    /// # Errors
    /// `Error::Awaiting`: the position is an open one.
    pub fn play_out(&mut self, fast: Fast) -> Result<Outcome, Error> {
        while let Some(chosen) = self.quick_move(fast) {
            self.apply(chosen)?;
        }
        self.outcome().ok_or(Error::Awaiting)
    }

    /// Returns how the seat to decide does (`success`) that plays a move, after which all play by the quick policy.
    ///
    /// # Errors
    /// `Error::IllegalMove`, or `Error::Awaiting`: the position is an open one.
    pub fn playout(&self, chosen: Move, fast: Fast) -> Result<f64, Error> {
        let mut game = *self;
        game.apply(chosen)?;
        Ok(success(&game.play_out(fast)?, self.config().players(), self.seat.into()))
    }

    /// Returns the position before the next turn of the seat to decide, after a move and quick ones, or the end.
    ///
    /// # Errors
    /// `Error::IllegalMove`, or `Error::Awaiting`: the position is an open one.
    pub fn next_turn(&self, chosen: Move) -> Result<Position, Error> {
        let mut game = *self;
        game.apply(chosen)?;
        while game.phase != Phase::Over && (game.seat != self.seat || game.round == self.round) {
            game.apply(game.quick_move(0).ok_or(Error::Awaiting)?)?;
        }
        Ok(game)
    }

    /// Plays to the end by uniformly random moves.
    ///
    /// # Errors
    /// `Error::Awaiting`: the position is an open one.
    pub fn play_out_randomly<R: Random>(&mut self, random: &mut R) -> Result<Outcome, Error> {
        while let Some(chosen) = self.legal_move(random.below(self.move_count())) {
            self.apply(chosen)?;
        }
        self.outcome().ok_or(Error::Awaiting)
    }

    /// Returns a sensible move at little cost; none if there is none to choose.
    ///
    /// Discard the first card, so that the centre never stands still; draw what the purse can pay; buy or take what
    /// makes the most of the own city; choose the market whose colour most specials ask for.
    pub fn quick_move(&self, fast: Fast) -> Option<Move> {
        match self.phase {
            Phase::Market => self.most_wanted_market(),
            Phase::Discard => self.legal_move(1),
            Phase::Draw => self.affordable_draw(),
            Phase::Buy => self.best_card(fast >> self.seat & 1 == 1),
            Phase::Special => self.best_special(),
            Phase::Sphinx => self.best_copy(),
            Phase::Over => None,
        }
    }

    fn affordable_draw(&self) -> Option<Move> {
        let decks = match self.cities.of(self.seat as usize).coins {
            coins if coins >= RICH_PURSE => [3, 2, 1],
            coins if coins >= FAIR_PURSE => [2, 1, 3],
            _ => [1, 2, 3],
        };
        decks.iter().map(|&deck| Move::draw(deck)).find(|&draw| self.is_legal(draw))
    }

    fn most_wanted_market(&self) -> Option<Move> {
        let wanted = |market: Move| {
            let colour = card(market.card()).colour;
            let asks =
                |&&special: &&u8| colour.map_or(false, |colour| card(special).condition[colour as usize - 1] > 0);
            self.specials.iter().filter(asks).count()
        };
        self.best(-1.0, self.legal_moves(), |market| wanted(market) as f64)
    }

    fn best_card(&self, fast: bool) -> Option<Move> {
        let seat = self.seat as usize;
        let city = self.cities.of(seat);
        let (coins, income) = (city.coins, self.cities.income(seat));
        let (inhabitants, hearts) = city.symbols();
        let free = CITY_SIZE as i32 - city.cards.len() as i32;
        let mut least = -1.0; // less than any card's
        if !fast {
            let idle = coins + city.effect.coin_gain();
            least = self.outlook(free).points(idle.into(), income.into(), inhabitants.into(), hearts.into());
        }
        let outlook = self.outlook(free - 1);
        self.best(least, self.legal_moves().skip(1), |bought| {
            let card = card(bought.card());
            outlook.points(
                (coins - city.price(card)).into(),
                (income + card.income).into(),
                (inhabitants + card.inhabitants).into(),
                (hearts + card.hearts).into(),
            )
        })
    }

    /// What a city with this number of free positions has before it.
    fn outlook(&self, free: i32) -> Outlook {
        Outlook::new(self.config().scoring, free, (CITY_SIZE - self.cities.longest()) as f64)
    }

    /// The first of the moves that are worth most, and more than `least`; else the first legal move.
    fn best(&self, least: f64, moves: impl Iterator<Item = Move>, worth: impl Fn(Move) -> f64) -> Option<Move> {
        let mut best = (self.legal_move(0)?, least);
        for chosen in moves {
            let worth = worth(chosen);
            if worth > best.1 {
                best = (chosen, worth);
            }
        }
        Some(best.0)
    }

    fn best_special(&self) -> Option<Move> {
        let seat = self.seat as usize;
        let city = self.cities.of(seat);
        let (coins, income) = (f64::from(city.coins), f64::from(self.cities.income(seat)));
        let (inhabitants, hearts) = city.symbols();
        let (inhabitants, hearts) = (f64::from(inhabitants), f64::from(hearts));
        let free = CITY_SIZE as i32 - city.cards.len() as i32;
        let least = self.outlook(free).points(coins, income, inhabitants, hearts);
        self.best(least, self.legal_moves().skip(1), |taken| {
            let effect = card(taken.card()).effect;
            let value = estimate(&self.cities, seat, taken.card());
            let worth = self.outlook(free - value.positions).points(
                coins + value.coins,
                income + value.income,
                inhabitants + value.inhabitants,
                hearts + value.hearts,
            );
            if changes_points(effect) {
                return effect.points(&self.cities, seat, round_half_even(worth)).into();
            }
            worth
        })
    }

    /// Returns the copy of an opponent's special that ends best; the box is not to be looked into.
    fn best_copy(&self) -> Option<Move> {
        let copies = self.legal_moves().filter(|&chosen| chosen != Move::COPY_BOX);
        self.best(-1.0, copies, |copy| {
            let mut ending = *self;
            ending.play(copy);
            ending.cities.score(self.seat as usize).points.into()
        })
    }
}

/// What a city has, or what a special adds to it.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    pub income: f64,
    pub inhabitants: f64,
    pub hearts: f64,
    /// Coins, once.
    pub coins: f64,
    /// Positions of the city that it uses up.
    pub positions: i32,
}

impl Value {
    /// The sums of both.
    pub fn plus(&self, other: &Value) -> Value {
        Value {
            income: self.income + other.income,
            inhabitants: self.inhabitants + other.inhabitants,
            hearts: self.hearts + other.hearts,
            coins: self.coins + other.coins,
            positions: self.positions + other.positions,
        }
    }

    /// The printed values of a card.
    pub fn printed(number: u8) -> Value {
        let card = card(number);
        let (income, inhabitants, hearts) = (card.income.into(), card.inhabitants.into(), card.hearts.into());
        Value { income, inhabitants, hearts, coins: 0.0, positions: 1 }
    }
}

/// Estimates what a special adds to a city: what its effect gives now, and coins as they usually are.
fn estimate(cities: &Cities, seat: usize, number: u8) -> Value {
    let special = card(number);
    let (usual_income, coins) = special.usual_coins;
    let city = &cities.of(seat).cards;
    let position = city.len();
    let (inhabitants, hearts) = special.effect.symbols(cities, seat, position);
    let mut lost: &Card = card(0);
    if special.effect.replaces_last() {
        lost = city.last().map_or(lost, |&number| card(number));
    }
    let now = special.effect.income(cities, seat, position);
    let late = special.effect.late_income(cities, seat, &cities.incomes());
    Value {
        income: usual_income + f64::from(now) + f64::from(late) - f64::from(lost.income),
        inhabitants: (inhabitants + special.inhabitants - lost.inhabitants).into(),
        hearts: (hearts + special.hearts - lost.hearts).into(),
        coins,
        positions: if special.effect.replaces_last() { 0 } else { 1 },
    }
}

pub(crate) fn changes_points(effect: Effect) -> bool {
    matches!(effect, Effect::CoinsNowTwiceIncomeLosePointsIncome | Effect::DoublePointsBelow30)
}

/// Rounds a number that fits an i32 to the nearest whole one, and halves to the even one, as Python does.
pub(crate) fn round_half_even(number: f64) -> i32 {
    // Numbers of this size have no fraction: the sum is rounded to one of them.
    const NO_FRACTION: f64 = (3u64 << 51) as f64;
    (number + NO_FRACTION - NO_FRACTION) as i32
}

/// Inhabitants and hearts that one bought card brings if money is no object.
const SYMBOLS_AT_MOST: f64 = 3.2;
/// Coins a card at which it brings half as much as that.
const HALF_PRICE: f64 = 3.5;
/// What an inhabitant costs to come by, measured in hearts.
const INHABITANT: f64 = 0.96;
/// Turns an owner takes to fill one free position: below 1, as a special takes no turn.
pub(crate) const STRETCH: f64 = 0.73;
/// Share of the income still to come that will be spent well.
const INCOME: f64 = 0.98;

/// The turns and free positions a city has left: they say what its coins may still become.
pub(crate) struct Outlook {
    turns: f64,
    buys: f64,
    half: f64,
    product: bool,
}

impl Outlook {
    pub fn new(scoring: Scoring, free: i32, turns: f64) -> Outlook {
        let free = f64::from(free);
        let turns = turns.min(free * STRETCH);
        let buys = turns.min(free).max(0.0);
        Outlook {
            turns: turns * INCOME,
            buys: buys * SYMBOLS_AT_MOST,
            half: buys * HALF_PRICE,
            product: scoring == Scoring::Product,
        }
    }

    /// Estimates the points at the end of a city with these sums.
    pub fn of(&self, sums: &Value) -> f64 {
        self.points(sums.coins, sums.income, sums.inhabitants, sums.hearts)
    }

    /// Estimates the points at the end of a city with these coins and totals.
    ///
    /// The money still to come is spread over the purchases still to come; a purchase brings the more symbols the more
    /// is spent on it, with diminishing returns. The symbols make up for whichever of inhabitants and hearts is behind,
    /// then for both.
    fn points(&self, coins: f64, income: f64, inhabitants: f64, hearts: f64) -> f64 {
        let money = coins + income * self.turns;
        let symbols = if money > 0.0 { money * self.buys / (money + self.half) } else { 0.0 };
        let spare = coins * COIN_LEFT;
        if !self.product {
            return inhabitants + hearts + symbols + spare;
        }
        let weighted = inhabitants * INHABITANT;
        if -symbols <= weighted - hearts && weighted - hearts <= symbols {
            let total = weighted + hearts + symbols;
            return if total > 0.0 { total * total / (4.0 * INHABITANT) + spare } else { spare };
        }
        let (behind, ahead) = if weighted > hearts { (hearts, weighted) } else { (weighted, hearts) };
        let behind = behind + symbols;
        if behind > 0.0 {
            behind * ahead / INHABITANT + spare
        } else {
            spare
        }
    }
}
