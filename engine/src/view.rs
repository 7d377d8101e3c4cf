//! What the table may know (chapter 7), and whether any game can look like it.

use crate::cards::{card, deck_cards, CardKind, CARDS, DWELLINGS, FIRST_DWELLING, HAPPY_MARKET};
use crate::config::{Config, Mode, CENTRE_SIZE, CITY_SIZE, LAST_ROUND, MAX_PLAYERS};
use crate::deal::all_of;
use crate::effects::Effect;
use crate::error::Error;
use crate::list::List;
use crate::position::{Phase, Position, DECKS, DECK_SIZE, MAX_SPECIALS};

/// The public state of a game at a decision, complete enough to go on playing from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub config: Config,
    pub round: u8,
    /// Whose decision it is.
    pub seat: u8,
    pub phase: Phase,
    /// What each seat has; entries of seats that aren't at the table are empty.
    pub seats: [SeatView; MAX_PLAYERS],
    /// Buildings face up in the centre, in table order.
    pub centre: List<CENTRE_SIZE>,
    /// Specials that can still be taken.
    pub specials: List<MAX_SPECIALS>,
    /// Cards left in the stacks of dwellings.
    pub dwellings: [u8; DWELLINGS],
    /// Cards left in decks 1, 2 and 3.
    pub decks: [usize; DECKS],
    /// Cards in the discard piles of decks 1, 2 and 3.
    pub discards: [usize; DECKS],
}

/// What one seat has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatView {
    pub coins: i32,
    /// How often the effect of the city's special will still apply, if that is limited; else 0.
    pub uses: u8,
    pub city: List<CITY_SIZE>,
}

impl SeatView {
    /// A seat without anything.
    pub const EMPTY: SeatView = SeatView { coins: 0, uses: 0, city: List::EMPTY };

    /// The special of the city.
    fn special(&self) -> Option<u8> {
        self.city.iter().copied().find(|&number| card(number).kind == CardKind::Special)
    }

    fn effect(&self) -> Effect {
        self.special().map_or(Effect::None, |special| card(special).effect)
    }
}

/// More coins than any game brings; sums of what no game brings must not overflow.
const MOST_COINS: i32 = 1_000_000;

impl View {
    /// The seats at the table.
    pub fn players(&self) -> &[SeatView] {
        &self.seats[..self.config.players()]
    }

    /// Refuses a view that no game can look like.
    ///
    /// # Errors
    /// `Error::Impossible` with the first part that is impossible.
    pub fn check(&self) -> Result<(), Error> {
        let checks = [
            ("cards", self.cards_possible()),
            ("seat", self.seat_possible()),
            ("cities", self.cities_possible()),
            ("round", self.round <= LAST_ROUND && (self.round == 0) == (self.phase == Phase::Market)),
            ("coins", self.players().iter().all(|seat| (0..=MOST_COINS).contains(&seat.coins))),
            ("centre", self.centre.iter().all(|&number| card(number).deck > 0)),
            ("specials", self.specials_possible()),
            ("dwellings", self.dwellings_possible()),
            ("uses", self.players().iter().all(|seat| seat.uses <= seat.effect().uses())),
            ("decks", (0..DECKS).all(|deck| self.sizes_possible(deck))),
        ];
        match checks.iter().find(|(_, possible)| !possible) {
            Some((part, _)) => Err(Error::Impossible(part)),
            None => Ok(()),
        }
    }

    fn cards_in_cities(&self) -> impl Iterator<Item = u8> + '_ {
        self.players().iter().flat_map(|seat| seat.city.iter().copied())
    }

    fn cards_possible(&self) -> bool {
        let mut cards = self.cards_in_cities().chain(self.centre.iter().copied()).chain(self.specials.iter().copied());
        cards.all(|number| number > 0 && (number as usize) < CARDS.len())
    }

    fn seat_possible(&self) -> bool {
        (self.seat as usize) < self.config.players() && (self.phase != Phase::Over || self.seat == 0)
    }

    fn cities_possible(&self) -> bool {
        let market = |number: u8| match self.config.mode {
            Mode::Family => number == HAPPY_MARKET,
            Mode::Expert => number > HAPPY_MARKET && card(number).kind == CardKind::Market,
        };
        let markets = || self.players().iter().filter_map(|seat| seat.city.first().copied());
        markets().all(market)
            && (self.config.mode == Mode::Family || distinct(markets()))
            && (0..self.config.players()).all(|seat| self.city_possible(seat))
    }

    fn city_possible(&self, seat: usize) -> bool {
        let city = &self.seats[seat].city;
        let own = self.seat as usize;
        if self.phase == Phase::Market {
            // Drafted from the last seat down to seat 0 (article 2.7).
            return city.len() == usize::from(seat > own);
        }
        // A game ends with the round in which a city gets full, so seats that still play have room.
        let to_buy = match self.phase {
            Phase::Discard | Phase::Draw | Phase::Buy => seat >= own,
            Phase::Special => seat > own,
            _ => false,
        };
        let of_kind = |kind| city.iter().filter(|&&number| card(number).kind == kind).count();
        let has_room = !(to_buy && city.len() == CITY_SIZE);
        has_room
            && !city.is_empty()
            && distinct(city.iter().copied())
            && of_kind(CardKind::Market) == 1
            && of_kind(CardKind::Special) <= 1
    }

    fn specials_possible(&self) -> bool {
        let known = || self.specials.iter().copied().chain(self.players().iter().filter_map(SeatView::special));
        let chooses = self.phase != Phase::Sphinx || self.seats[self.seat as usize].effect().chooses_copy();
        distinct(known()) && known().all(|number| card(number).special_set == Some(self.config.mode)) && chooses
    }

    /// Whether the stacks lack what was bought, and at most what specials have discarded since.
    fn dwellings_possible(&self) -> bool {
        let mut missing = 0;
        for (number, &left) in (FIRST_DWELLING..).zip(&self.dwellings) {
            let bought = self.cards_in_cities().filter(|&owned| owned == number).count();
            match (self.config.players() - 1).checked_sub(left as usize + bought) {
                Some(gone) => missing += gone,
                None => return false,
            }
        }
        missing <= self.players().iter().filter(|seat| seat.effect().replaces_last()).count()
    }

    fn sizes_possible(&self, deck: usize) -> bool {
        match self.hidden_cards(deck) {
            Some(hidden) => self.decks[deck].checked_add(self.discards[deck]) == Some(hidden.len()),
            None => false,
        }
    }

    /// The cards of a deck (its index from 0) and its discard pile, in table order; nothing if more of a card are in
    /// sight than there are.
    pub(crate) fn hidden_cards(&self, deck: usize) -> Option<List<DECK_SIZE>> {
        let mut hidden: List<DECK_SIZE> = all_of(deck_cards(deck as u8 + 1));
        let mut seen = self.centre.iter().copied().chain(self.cards_in_cities());
        seen.all(|number| card(number).deck as usize != deck + 1 || hidden.remove(number)).then_some(hidden)
    }
}

fn distinct(cards: impl Iterator<Item = u8>) -> bool {
    let mut seen = 0u128;
    for number in cards {
        let bit = 1 << (number & 127);
        if seen & bit != 0 {
            return false;
        }
        seen |= bit;
    }
    true
}

impl Position {
    /// What any seat may know (chapter 7).
    pub fn view(&self) -> View {
        let mut view = View {
            config: self.config(),
            round: self.round,
            seat: self.seat,
            phase: self.phase,
            seats: [SeatView::EMPTY; MAX_PLAYERS],
            centre: self.centre,
            specials: self.specials,
            dwellings: self.dwellings,
            decks: self.deck_sizes(),
            discards: [self.piles[0].len(), self.piles[1].len(), self.piles[2].len()],
        };
        for (seat, city) in view.seats.iter_mut().zip(self.cities.all()) {
            *seat = SeatView { coins: city.coins, uses: city.uses, city: city.cards };
        }
        view
    }
}
