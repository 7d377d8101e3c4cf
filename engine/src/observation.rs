//! Positions as rows of numbers for learners: the layout 2 of the Python package `happycity_envs.selfplay`.

use crate::cards::{card, BUILDINGS, CARDS, COLOURS, DWELLINGS, FIRST_SPECIAL, SPECIALS};
use crate::config::{Mode, Scoring, CITY_SIZE, LAST_ROUND};
use crate::moves::MOVE_COUNT;
use crate::position::{self, Position, DECKS};

const PHASES: usize = position::PHASES.len();
const KINDS: usize = CARDS.len() - 1;
const SEAT: usize = 3 + 2 + COLOURS + 1 + 2 * KINDS;
const TABLE: usize = BUILDINGS as usize + SPECIALS as usize + DWELLINGS + 2 * DECKS;

/// How many numbers a row has for a number of players.
pub const fn row_size(players: usize) -> usize {
    PHASES + 3 + 2 * players + TABLE + players * SEAT + BUILDINGS as usize
}

impl Position {
    /// Writes the position as a seat sees it into a row of `row_size` numbers; says whether the row has that size.
    pub fn observe(&self, observer: usize, row: &mut [f32]) -> bool {
        let players = self.config().players();
        if row.len() != row_size(players) || observer >= players {
            return false;
        }
        row.iter_mut().for_each(|number| *number = 0.0);
        let mut rest = row;
        self.observe_head(observer, part(&mut rest, PHASES + 3 + 2 * players));
        self.observe_table(part(&mut rest, TABLE));
        let incomes = self.cities.incomes();
        for turn in 0..players {
            let seat = (observer + turn) % players;
            self.observe_seat(seat, incomes[seat], part(&mut rest, SEAT));
        }
        for &number in self.piles.iter().flat_map(|pile| pile.iter()) {
            rest[number as usize - 1] += 0.5;
        }
        true
    }

    fn observe_head(&self, observer: usize, row: &mut [f32]) {
        let config = self.config();
        let players = config.players();
        row[self.phase as usize - 1] = 1.0;
        row[PHASES] = f32::from(u8::from(config.mode == Mode::Expert));
        row[PHASES + 1] = f32::from(u8::from(config.scoring == Scoring::Sum));
        row[PHASES + 2] = share(self.round.into(), LAST_ROUND.into());
        row[PHASES + 3 + observer] = 1.0;
        row[PHASES + 3 + players + (self.seat as usize + players - observer) % players] = 1.0;
    }

    fn observe_table(&self, row: &mut [f32]) {
        let (centre, rest) = row.split_at_mut(BUILDINGS as usize);
        let (specials, rest) = rest.split_at_mut(SPECIALS as usize);
        let (dwellings, sizes) = rest.split_at_mut(DWELLINGS);
        self.centre.iter().for_each(|&number| centre[number as usize - 1] += 0.5);
        self.specials.iter().for_each(|&number| specials[(number - FIRST_SPECIAL) as usize] = 1.0);
        for (place, &left) in dwellings.iter_mut().zip(&self.dwellings) {
            *place = share(left.into(), 4);
        }
        let lists = self.decks.iter().chain(&self.piles);
        for (place, list) in sizes.iter_mut().zip(lists) {
            *place = share(list.len() as i32, 28);
        }
    }

    fn observe_seat(&self, seat: usize, income: i32, row: &mut [f32]) {
        let city = self.cities.of(seat);
        let (inhabitants, hearts) = city.cards.iter().fold((0, 0), |(inhabitants, hearts), &number| {
            (inhabitants + card(number).inhabitants, hearts + card(number).hearts)
        });
        let sums = [
            share(city.coins, 20),
            share(income, 10),
            share(city.uses.into(), 2),
            share(inhabitants, 10),
            share(hearts, 10),
        ];
        row[..5].copy_from_slice(&sums);
        for (place, &count) in row[5..].iter_mut().zip(&city.colours.counts()) {
            *place = share(count.into(), CITY_SIZE as i32);
        }
        row[5 + COLOURS] = share(city.cards.len() as i32, CITY_SIZE as i32);
        let (cards, positions) = row[6 + COLOURS..].split_at_mut(KINDS);
        for (position, &number) in (1..).zip(city.cards.iter()) {
            cards[number as usize - 1] = 1.0;
            positions[number as usize - 1] = share(position, CITY_SIZE as i32);
        }
    }

    /// Writes 1 for each legal move, by its number, and 0 for all others.
    pub fn mask(&self, mask: &mut [u8; MOVE_COUNT]) {
        *mask = [0; MOVE_COUNT];
        self.legal_moves().for_each(|legal| mask[legal.index()] = 1);
    }
}

/// Cuts the next numbers off a row that has them.
fn part<'a>(rest: &mut &'a mut [f32], size: usize) -> &'a mut [f32] {
    let (taken, left) = core::mem::take(rest).split_at_mut(size);
    *rest = left;
    taken
}

/// A quotient, rounded once as in Python, which divides 64-bit floats.
fn share(number: i32, of: i32) -> f32 {
    (f64::from(number) / f64::from(of)) as f32
}
