//! What the table may know (chapter 7), whether any game can look like it, and worlds that do.

use crate::cards::{card, deck_cards, CardKind, FIRST_DWELLING, HAPPY_MARKET};
use crate::cities::City;
use crate::config::{Mode, CITY_SIZE, LAST_ROUND};
use crate::effects::Effect;
use crate::error::Error;
use crate::list::List;
use crate::position::{Phase, Position, DECKS, DECK_SIZE};
use crate::random::Random;

/// The public state of a game at a decision, complete enough to go on playing from it.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// What is in sight, the discard piles too: the decks of this position are empty, and no moves are listed.
    pub seen: Position,
    /// Cards left in decks 1, 2 and 3.
    pub decks: [usize; DECKS],
}

/// More coins than any game brings; sums of what no game brings must not overflow.
const MOST_COINS: i32 = 1_000_000;

impl View {
    /// Refuses a view that no game can look like, with the first part that is impossible.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let seen = &self.seen;
        let coins = |city: &City| (0..=MOST_COINS).contains(&city.coins);
        let special = |city: &City| city.special().map_or(Effect::None, |special| card(special).effect);
        let uses = |city: &City| city.uses <= special(city).uses();
        let over = seen.phase == Phase::Over;
        let checks = [
            ("seat", (seen.seat as usize) < seen.config().players() && (!over || seen.seat == 0)),
            ("cities", self.cities_possible()),
            ("round", seen.round <= LAST_ROUND && (seen.round == 0) == (seen.phase == Phase::Market)),
            ("coins", seen.cities.all().iter().all(coins)),
            ("centre", seen.centre.iter().all(|&number| card(number).deck > 0)),
            ("specials", self.specials_possible()),
            ("dwellings", self.dwellings_possible()),
            ("uses", seen.cities.all().iter().all(uses)),
            ("discards", (0..DECKS).all(|deck| self.discards_possible(deck))),
            (
                "decks",
                (0..DECKS).all(|deck| self.hidden_cards(deck).map(|hidden| hidden.len()) == Some(self.decks[deck])),
            ),
        ];
        match checks.iter().find(|(_, possible)| !possible) {
            Some((part, _)) => Err(Error::Impossible(part)),
            None => Ok(()),
        }
    }

    fn cards_in_cities(&self) -> impl Iterator<Item = u8> + '_ {
        self.seen.cities.all().iter().flat_map(|city| city.cards.iter().copied())
    }

    fn cities_possible(&self) -> bool {
        let market = |number: u8| match self.seen.config().mode {
            Mode::Family => number == HAPPY_MARKET,
            Mode::Expert => number > HAPPY_MARKET && card(number).kind == CardKind::Market,
        };
        let markets = || self.seen.cities.all().iter().filter_map(|city| city.cards.first().copied());
        let family = self.seen.config().mode == Mode::Family;
        let seats = 0..self.seen.config().players();
        markets().all(market) && (family || distinct(markets())) && seats.clone().all(|seat| self.city_possible(seat))
    }

    fn city_possible(&self, seat: usize) -> bool {
        let city = &self.seen.cities.of(seat).cards;
        let own = self.seen.seat as usize;
        // A game ends with the round in which a city gets full, so seats that still play have room.
        let will_buy = match self.seen.phase {
            // Markets are drafted from the last seat down to seat 0 (article 2.7).
            Phase::Market => return city.len() == usize::from(seat > own),
            Phase::Discard | Phase::Draw | Phase::Buy => seat >= own,
            Phase::Special => seat > own,
            Phase::Sphinx | Phase::Over => false,
        };
        let of_kind = |kind| city.iter().filter(|&&number| card(number).kind == kind).count();
        let has_room = !(will_buy && city.len() == CITY_SIZE);
        let distinct = distinct(city.iter().copied());
        has_room && !city.is_empty() && distinct && of_kind(CardKind::Market) == 1 && of_kind(CardKind::Special) <= 1
    }

    fn specials_possible(&self) -> bool {
        let seen = &self.seen;
        let owned = || seen.cities.all().iter().filter_map(City::special);
        let known = || seen.specials.iter().copied().chain(owned());
        let of_mode = known().all(|number| card(number).special_set == Some(seen.config().mode));
        let chooser = seen.cities.all().get(seen.seat as usize).map_or(false, |city| city.effect.chooses_copy());
        distinct(known()) && of_mode && (seen.phase != Phase::Sphinx || chooser)
    }

    /// Whether the stacks lack what was bought, and at most what specials have discarded since.
    fn dwellings_possible(&self) -> bool {
        let mut gone = 0;
        for (number, &left) in (FIRST_DWELLING..).zip(&self.seen.dwellings) {
            let bought = self.cards_in_cities().filter(|&owned| owned == number).count();
            match (self.seen.config().players() - 1).checked_sub(left as usize + bought) {
                Some(missing) => gone += missing,
                None => return false,
            }
        }
        gone <= self.seen.cities.all().iter().filter(|city| city.effect.replaces_last()).count()
    }

    /// Whether all cards of a discard pile are of its deck, and in table order.
    fn discards_possible(&self, deck: usize) -> bool {
        let pile = &self.seen.piles[deck];
        pile.iter().all(|&number| card(number).deck as usize == deck + 1)
            && pile.windows(2).all(|pair| pair[0] <= pair[1])
    }

    /// The cards of a deck (its index from 0), in table order; nothing if more of a card are in sight than there are.
    pub(crate) fn hidden_cards(&self, deck: usize) -> Option<List<DECK_SIZE>> {
        let mut hidden: List<DECK_SIZE> = deck_cards(deck as u8 + 1).collect();
        let face_up = self.seen.centre.iter().chain(self.seen.piles[deck].iter()).copied();
        let mut seen = face_up.chain(self.cards_in_cities());
        seen.all(|number| card(number).deck as usize != deck + 1 || hidden.remove(number)).then_some(hidden)
    }
}

fn distinct(mut cards: impl Iterator<Item = u8>) -> bool {
    let mut seen = 0u128;
    cards.all(|number| {
        let bit = 1 << number;
        let new = seen & bit == 0;
        seen |= bit;
        new
    })
}

impl Position {
    /// What any seat may know (chapter 7).
    pub fn view(&self) -> View {
        let Position { cities, centre, specials, dwellings, round, seat, phase, piles, .. } = *self;
        let empty = Position::empty(self.config());
        let seen = Position { cities, centre, specials, dwellings, round, seat, phase, piles, ..empty };
        View { seen, decks: [self.decks[0].len(), self.decks[1].len(), self.decks[2].len()] }
    }
}

/// Samples positions that look like a view: what is hidden is drawn so that nothing seen contradicts it.
#[derive(Clone, Copy, Debug)]
pub struct Worlds {
    /// What is in sight.
    pub seen: Position,
    /// The cards of each deck, in table order.
    hidden: [List<DECK_SIZE>; DECKS],
}

impl Worlds {
    /// Prepares to sample.
    ///
    /// # Errors
    /// `Error::Impossible`: no game can look like this view.
    pub fn new(view: &View) -> Result<Worlds, Error> {
        view.check()?;
        if view.seen.phase == Phase::Over {
            return Err(Error::Impossible("phase"));
        }
        let mut worlds = Worlds { seen: view.seen, hidden: [List::EMPTY; DECKS] };
        for (deck, hidden) in worlds.hidden.iter_mut().enumerate() {
            *hidden = view.hidden_cards(deck).ok_or(Error::Impossible("decks"))?;
        }
        Ok(worlds)
    }

    /// Draws a world. With Python's generator it is the world of `Game.worlds`.
    pub fn sample<R: Random>(&self, random: &mut R) -> Position {
        let mut world = self.seen;
        world.reshuffles = random.reshuffles();
        world.decks = self.hidden;
        world.decks.iter_mut().for_each(|deck| random.shuffle(deck));
        let box_top = self.seen.draw_box_top(random);
        if world.config().mode == Mode::Expert {
            world.box_top = box_top;
        }
        world.resume();
        world
    }
}
