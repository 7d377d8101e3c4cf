//! The rules engine: a game of Happy City from the deal to the outcome (chapters 2 to 5).

use core::fmt::Write;
use core::iter::once;
use core::mem::replace;

use crate::cards::{card, deck_cards, specials_of, CardKind, COLOURS, DWELLINGS, FIRST_DWELLING, HAPPY_MARKET};
use crate::cities::{BySeat, Cities, Score};
use crate::config::{Config, Mode, CENTRE_SIZE, CITY_SIZE, LAST_ROUND, MAX_PLAYERS};
use crate::effects::Occasion;
use crate::error::Error;
use crate::list::List;
use crate::moves::{Move, MoveKind};
use crate::random::{PythonRandom, Random};
use crate::reshuffles::{Reshuffles, Text};

/// Building decks.
pub const DECKS: usize = 3;
/// Cards of the largest deck.
pub const DECK_SIZE: usize = 28;
/// Specials on the table at most: players + 2 (article 2.4).
pub const MAX_SPECIALS: usize = MAX_PLAYERS + 2;
/// Specials of a mode's set at most.
pub const MAX_SET: usize = 37;
/// Legal moves at most: coin, the centre and the dwellings; or decline and the specials.
pub const MAX_MOVES: usize = MAX_SPECIALS + 1;

/// The step that waits for a choice (article 5.6); the value is the contract's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Market = 1,
    Discard = 2,
    Draw = 3,
    Buy = 4,
    Special = 5,
    Sphinx = 6,
    /// No decision waits: the game has an outcome.
    Over = 7,
}

/// All steps, in the contract's order.
pub const PHASES: [Phase; 7] =
    [Phase::Market, Phase::Discard, Phase::Draw, Phase::Buy, Phase::Special, Phase::Sphinx, Phase::Over];

/// What an open position awaits a card of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    Nothing,
    /// The deck with this index, from 0.
    Deck(u8),
    Box,
}

/// A game at a decision, or at its end. It is copied by assignment and allocates nothing.
///
/// An ordinary position has its cards in a fixed hidden order. An open one (`opened`) has none: at each draw it
/// waits until `reveal` says which card it is, so searches that treat draws as chance can't look ahead.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// What the seats own.
    pub cities: Cities,
    /// The buildings face up in the centre, in table order.
    pub centre: List<CENTRE_SIZE>,
    /// Specials that can still be taken.
    pub specials: List<MAX_SPECIALS>,
    /// Cards left in the stacks of dwellings, in table order.
    pub dwellings: [u8; DWELLINGS],
    /// The current round, 1 to 30; 0 in the market draft.
    pub round: u8,
    /// Whose decision it is; 0 at the end.
    pub seat: u8,
    pub phase: Phase,
    /// What an open position awaits.
    pub awaited: Awaited,
    pub(crate) open: bool,
    /// The decks; the top card is last. Those of an open position are in table order.
    pub(crate) decks: [List<DECK_SIZE>; DECKS],
    /// The discard piles of decks 1, 2 and 3, each in table order.
    pub piles: [List<DECK_SIZE>; DECKS],
    /// The first special of the box; 0 in a family game, which never needs it, and in an open position.
    pub(crate) box_top: u8,
    /// What the Sphinx has copied; 0 if it hasn't.
    pub(crate) sphinx_copy: u8,
    pub(crate) reshuffles: Reshuffles,
    pub(crate) legal: List<MAX_MOVES>,
}

/// How a game ended, by seat (articles 4.2-4.4); entries of seats that aren't at the table are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub scores: [Score; MAX_PLAYERS],
    /// 1 is first; equal seats share a place and the places after it stay empty (1, 2, 2, 4).
    pub ranks: [u8; MAX_PLAYERS],
}

impl Position {
    /// Deals as the arena does from a seed (chapter 2, article 5.4), and plays up to the first decision.
    pub fn deal(config: Config, seed: u64) -> Position {
        let players = config.players();
        let mut position = Position::empty(config);
        let mut text = Text::EMPTY;
        let _ = write!(text, "happycity deal {}", seed); // there is room for it
        let mut random = PythonRandom::of_text(&text);
        for (number, deck) in (1..).zip(position.decks.iter_mut()) {
            *deck = deck_cards(number).collect();
            random.shuffle(deck);
            deck.reverse();
        }
        let mut set: List<MAX_SET> = specials_of(config.mode).collect();
        random.shuffle(&mut set);
        position.specials = set.iter().copied().take(players + 2).collect();
        position.reshuffles = Reshuffles::new(seed, true);
        if config.mode == Mode::Expert {
            position.box_top = set[players + 2];
            position.seat = players as u8 - 1;
            position.market_step();
        } else {
            for seat in 0..players {
                position.cities.add(seat, HAPPY_MARKET);
            }
            position.start_round();
        }
        position
    }

    /// A table on which nothing lies but the dwellings.
    pub(crate) fn empty(config: Config) -> Position {
        Position {
            cities: Cities::new(config),
            centre: List::EMPTY,
            specials: List::EMPTY,
            dwellings: [config.players() as u8 - 1; DWELLINGS],
            round: 0,
            seat: 0,
            phase: Phase::Discard,
            awaited: Awaited::Nothing,
            open: false,
            decks: [List::EMPTY; DECKS],
            piles: [List::EMPTY; DECKS],
            box_top: 0,
            sphinx_copy: 0,
            reshuffles: Reshuffles::new(0, false),
            legal: List::EMPTY,
        }
    }

    /// The kind of game.
    pub fn config(&self) -> Config {
        self.cities.config
    }

    /// What the seat may choose from, in the contract's order: two moves or more, or none at the end and while a
    /// card is awaited.
    pub fn legal_moves(&self) -> impl Iterator<Item = Move> + '_ {
        self.legal.iter().filter_map(|&index| Move::from_index(index as usize))
    }

    /// How many legal moves there are.
    pub fn move_count(&self) -> usize {
        self.legal.len()
    }

    /// The legal move at a place of the contract's order.
    pub fn legal_move(&self, place: usize) -> Option<Move> {
        self.legal.get(place).and_then(|&index| Move::from_index(index as usize))
    }

    /// Whether a move is legal.
    pub fn is_legal(&self, chosen: Move) -> bool {
        self.legal.contains(&chosen.byte())
    }

    /// How the game ended, once it is over.
    pub fn outcome(&self) -> Option<Outcome> {
        (self.phase == Phase::Over).then(|| self.score())
    }

    /// How the game would end if it ended now.
    pub fn score(&self) -> Outcome {
        let players = self.config().players();
        let mut outcome = Outcome { scores: [Score::default(); MAX_PLAYERS], ranks: [0; MAX_PLAYERS] };
        for seat in 0..players {
            outcome.scores[seat] = self.cities.score(seat);
        }
        let place = |seat: usize| (outcome.scores[seat].points, outcome.scores[seat].coins);
        let mut ranks = [0; MAX_PLAYERS];
        for (seat, rank) in ranks.iter_mut().enumerate().take(players) {
            *rank = 1 + (0..players).filter(|&other| place(other) > place(seat)).count() as u8;
        }
        Outcome { ranks, ..outcome }
    }

    /// Plays a move for the seat to decide, then every forced move up to the next decision (5.1).
    ///
    /// # Errors
    /// `Error::IllegalMove`: nothing has changed.
    pub fn apply(&mut self, chosen: Move) -> Result<(), Error> {
        if !self.is_legal(chosen) {
            return Err(Error::IllegalMove);
        }
        self.legal = List::EMPTY;
        self.play(chosen);
        Ok(())
    }

    /// Plays a legal move.
    pub(crate) fn play(&mut self, chosen: Move) {
        match chosen.kind() {
            MoveKind::Keep => self.draw_step(),
            MoveKind::Discard(building) => self.play_discard(building),
            MoveKind::Draw(deck) => self.play_draw(deck as usize - 1),
            MoveKind::Build(building) => {
                self.centre.remove(building);
                self.pay(building);
            }
            MoveKind::Dwell(dwelling) => {
                self.dwellings[(dwelling - FIRST_DWELLING) as usize] -= 1;
                self.pay(dwelling);
            }
            MoveKind::Coin => {
                let city = self.cities.of_mut(self.seat as usize);
                city.coins += city.effect.coin_gain();
                self.special_step();
            }
            MoveKind::Take(special) => self.play_take(special),
            MoveKind::Decline => self.end_turn(),
            MoveKind::Market(market) => self.play_market(market),
            MoveKind::Copy(seat) => {
                let special = self.cities.of(seat as usize).special();
                self.copy_special(special.unwrap_or(0));
            }
            MoveKind::CopyBox if self.open => self.awaited = Awaited::Box,
            MoveKind::CopyBox => self.copy_special(self.box_top),
        }
    }

    /// Returns the same position as an open one: each hidden card is left to the caller of `reveal`.
    pub fn opened(&self) -> Position {
        let mut opened = *self;
        opened.open = true;
        opened.box_top = 0;
        opened.decks.iter_mut().for_each(|deck| deck.sort_unstable());
        opened
    }

    /// The cards of which an open position awaits one, each as likely as the others: in table order, and a card of
    /// which two are left is there twice.
    pub fn awaited_cards(&self) -> List<MAX_SET> {
        match self.awaited {
            Awaited::Nothing => List::EMPTY,
            Awaited::Deck(index) => self.decks[index as usize].iter().copied().collect(),
            Awaited::Box => self.box_specials().collect(),
        }
    }

    /// Lets the card that an open position awaits be this one, then plays on to the next card or decision.
    ///
    /// # Errors
    /// `Error::NotAwaited`: nothing has changed.
    pub fn reveal(&mut self, number: u8) -> Result<(), Error> {
        if !self.awaited_cards().contains(&number) {
            return Err(Error::NotAwaited);
        }
        let awaited = self.awaited;
        self.awaited = Awaited::Nothing;
        if let Awaited::Deck(index) = awaited {
            self.decks[index as usize].remove(number);
            self.turn_over(number);
        } else {
            self.copy_special(number);
        }
        Ok(())
    }

    /// The specials that are neither on the table nor in a city, in table order.
    pub(crate) fn box_specials(&self) -> impl Iterator<Item = u8> + '_ {
        let owned = move |special| self.cities.all().iter().any(|city| city.owns(special));
        specials_of(self.config().mode).filter(move |&special| !self.specials.contains(&special) && !owned(special))
    }

    /// Shuffles the box, and returns its first special.
    pub(crate) fn draw_box_top<R: Random>(&self, random: &mut R) -> u8 {
        let mut in_box: List<MAX_SET> = self.box_specials().collect();
        random.shuffle(&mut in_box);
        in_box.first().copied().unwrap_or(0)
    }

    /// Goes on from the step that waits, which lists its moves.
    pub(crate) fn resume(&mut self) {
        match self.phase {
            Phase::Market => self.market_step(),
            Phase::Discard => self.discard_step(),
            Phase::Draw => self.draw_step(),
            Phase::Buy => self.buy_step(),
            Phase::Special => self.special_step(),
            Phase::Sphinx => self.sphinx_step(),
            Phase::Over => self.end(),
        }
    }

    /// Lists the moves of a step, or plays the only one, which begins the next step (article 5.1).
    fn choose(&mut self, phase: Phase, moves: List<MAX_MOVES>) {
        self.phase = phase;
        if moves.len() > 1 {
            self.legal = moves;
        } else if let Some(only) = moves.first().and_then(|&index| Move::from_index(index as usize)) {
            self.play(only);
        }
    }

    /// Lists the coloured Happy Markets that no seat has drafted yet (article 2.7).
    fn market_step(&mut self) {
        let drafted = |market: u8| self.cities.all().iter().any(|city| city.owns(market));
        let markets = (HAPPY_MARKET + 1..).take(COLOURS).filter(|&market| !drafted(market));
        self.choose(Phase::Market, markets.map(Move::market).map(Move::byte).collect());
    }

    fn play_market(&mut self, market: u8) {
        self.cities.add(self.seat as usize, market);
        if self.seat > 0 {
            self.seat -= 1;
            self.market_step();
        } else {
            self.start_round();
        }
    }

    /// Begins a round with its income phase (articles 3.1, 6.1).
    fn start_round(&mut self) {
        self.round += 1;
        self.seat = 0;
        if self.cities.effects {
            for seat in 0..self.config().players() {
                let gain = self.cities.of(seat).effect.before_income(&self.cities, seat);
                self.cities.of_mut(seat).coins += gain;
            }
        }
        let incomes = self.cities.incomes();
        self.pay_effect(&incomes);
        if self.cities.effects {
            self.pay_after_income(&incomes);
        }
        self.discard_step();
    }

    /// Pays what comes along with the incomes, then what comes after them (article 6.1).
    fn pay_after_income(&mut self, incomes: &BySeat) {
        for seat in 0..self.config().players() {
            let city = self.cities.of(seat);
            let gain = if city.applies() { city.effect.with_income(&self.cities, seat, incomes) } else { 0 };
            self.cities.of_mut(seat).coins += gain;
            self.cities.of_mut(seat).used(Occasion::IncomePhase);
        }
        for seat in 0..self.config().players() {
            let gains = self.cities.of(seat).effect.after_income(&self.cities, seat);
            self.pay_effect(&gains);
        }
    }

    fn pay_effect(&mut self, gains: &BySeat) {
        for (seat, &gain) in gains.iter().enumerate().take(self.config().players()) {
            self.cities.of_mut(seat).coins += gain;
        }
    }

    /// Passes the turn on; after the last seat, starts a round or ends the game (articles 4.1, 4.5).
    fn end_turn(&mut self) {
        self.seat += 1;
        if (self.seat as usize) < self.config().players() {
            self.discard_step();
        } else if self.cities.longest() == CITY_SIZE || self.round >= LAST_ROUND {
            self.sphinx_step();
        } else {
            self.start_round();
        }
    }

    /// Lists keep, then the distinct cards of the centre (article 3.3).
    fn discard_step(&mut self) {
        let discards = self.distinct_in_centre().map(Move::discard);
        let moves = once(Move::KEEP).chain(discards).map(Move::byte).collect();
        self.choose(Phase::Discard, moves);
    }

    fn distinct_in_centre(&self) -> impl Iterator<Item = u8> + '_ {
        // The centre is in table order.
        let mut before = 0;
        self.centre.iter().copied().filter(move |&number| replace(&mut before, number) != number)
    }

    fn play_discard(&mut self, building: u8) {
        self.centre.remove(building);
        self.discard(building);
        self.draw_step();
    }

    fn discard(&mut self, building: u8) {
        let pile = &mut self.piles[card(building).deck as usize - 1];
        pile.push(building);
        pile.sort_unstable();
    }

    /// Lists the decks that have cards, until the centre is full (articles 3.4, 3.5).
    fn draw_step(&mut self) {
        if self.centre.len() >= CENTRE_SIZE {
            return self.buy_step();
        }
        let has_cards = |&deck: &usize| !self.decks[deck].is_empty() || !self.piles[deck].is_empty();
        let moves: List<MAX_MOVES> =
            (0..DECKS).filter(has_cards).map(|deck| Move::draw(deck as u8 + 1).byte()).collect();
        if moves.is_empty() {
            return self.buy_step();
        }
        self.choose(Phase::Draw, moves);
    }

    fn play_draw(&mut self, index: usize) {
        if self.decks[index].is_empty() {
            self.rebuild(index);
        }
        if self.open {
            self.awaited = Awaited::Deck(index as u8);
        } else if let Some(number) = self.decks[index].pop() {
            self.turn_over(number);
        }
    }

    fn turn_over(&mut self, number: u8) {
        self.centre.push(number);
        self.centre.sort_unstable();
        self.draw_step();
    }

    /// Shuffles a discard pile, which is in table order, into a new deck (articles 3.5, 5.5).
    fn rebuild(&mut self, index: usize) {
        let mut cards = replace(&mut self.piles[index], List::EMPTY);
        if !self.open {
            self.reshuffles.shuffle(index, &mut cards);
            cards.reverse();
        }
        self.decks[index] = cards;
    }

    /// Lists coin, then what the seat can pay for and doesn't own yet (articles 3.6-3.9).
    fn buy_step(&mut self) {
        let city = self.cities.of(self.seat as usize);
        let for_sale = |number: u8| !city.owns(number) && city.price(card(number)) <= city.coins;
        let builds = self.distinct_in_centre().filter(|&number| for_sale(number)).map(Move::build);
        let left = |number: u8| self.dwellings[(number - FIRST_DWELLING) as usize] > 0;
        let dwellings = (FIRST_DWELLING..).take(DWELLINGS).filter(|&number| left(number) && for_sale(number));
        let moves = once(Move::COIN).chain(builds).chain(dwellings.map(Move::dwell)).map(Move::byte).collect();
        self.choose(Phase::Buy, moves);
    }

    fn pay(&mut self, number: u8) {
        let seat = self.seat as usize;
        let price = self.cities.of(seat).price(card(number));
        self.cities.of_mut(seat).coins -= price;
        self.cities.add(seat, number);
        if self.cities.effects {
            self.cities.of_mut(seat).used(Occasion::Purchase);
            for owner in 0..self.config().players() {
                let gain = self.cities.of(owner).effect.paid(&self.cities, owner, seat, price);
                self.cities.of_mut(owner).coins += gain;
            }
        }
        self.special_step();
    }

    /// Lists decline, then the specials whose condition the city meets (articles 3.10, 3.11).
    fn special_step(&mut self) {
        let city = self.cities.of(self.seat as usize);
        let full = city.cards.len() == CITY_SIZE;
        let may_take = |&special: &u8| {
            let fits = !full || card(special).effect.replaces_last();
            city.special_at.is_none() && city.colours.meet(special) && fits
        };
        let takes = self.specials.iter().copied().filter(may_take).map(Move::take);
        let moves = once(Move::DECLINE).chain(takes).map(Move::byte).collect();
        self.choose(Phase::Special, moves);
    }

    fn play_take(&mut self, special: u8) {
        let seat = self.seat as usize;
        self.specials.remove(special);
        let effect = card(special).effect;
        if effect.replaces_last() {
            self.lose_last(seat);
        }
        self.cities.add(seat, special);
        let gains = effect.taken(&self.cities, seat);
        self.pay_effect(&gains);
        self.end_turn();
    }

    /// Discards the last card of a city: a building to its pile, a dwelling out of the game.
    fn lose_last(&mut self, seat: usize) {
        if let Some(lost) = self.cities.remove_last(seat) {
            if card(lost).kind == CardKind::Building {
                self.discard(lost);
            }
        }
    }

    /// Lets the owner of a special that copies another one choose; without one, ends the game.
    fn sphinx_step(&mut self) {
        let chooser = self.cities.all().iter().position(|city| city.effect.chooses_copy());
        let chooser = match chooser {
            Some(seat) => seat,
            None => return self.end(),
        };
        self.seat = chooser as u8;
        let with_special = |&seat: &usize| self.cities.of(seat).special_at.is_some();
        let copies = self.config().opponents(chooser).filter(with_special).map(Move::copy);
        let moves = once(Move::COPY_BOX).chain(copies).map(Move::byte).collect();
        self.choose(Phase::Sphinx, moves);
    }

    fn copy_special(&mut self, special: u8) {
        self.sphinx_copy = special;
        self.cities.copy_special(self.seat as usize, special);
        self.end();
    }

    /// Copies values in the order of article 6.3; then the game can be scored.
    fn end(&mut self) {
        self.seat = 0;
        self.phase = Phase::Over;
        if !self.cities.effects {
            return;
        }
        for seat in 0..self.config().players() {
            let city = self.cities.of(seat);
            let position = city.special_at.unwrap_or(0) as usize;
            if let Some(number) = city.effect.copied(&self.cities, seat, position) {
                self.cities.copy_values(seat, number);
            }
        }
    }
}
