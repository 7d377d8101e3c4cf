//! Kinds of games, and the numbers of the rules.

/// Which rules and which specials a game uses (articles 2.6, 2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Family = 1,
    Expert = 2,
}

/// How inhabitants and hearts make points (article 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    Product = 1,
    Sum = 2,
}

/// The kind of game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    players: u8,
    pub mode: Mode,
    pub scoring: Scoring,
}

/// Coins of each seat at the beginning (article 2.5).
pub const START_COINS: i32 = 2;
/// Buildings face up in the centre after a draw step (article 3.4).
pub const CENTRE_SIZE: usize = 3;
/// Positions of a city (article 3.9).
pub const CITY_SIZE: usize = 10;
/// The round that ends a game at the latest (article 4.5).
pub const LAST_ROUND: u8 = 30;
/// Seats of the largest table (article 2.1).
pub const MAX_PLAYERS: usize = 5;

impl Config {
    /// Returns the kind of game, or nothing for a number of players that isn't between 2 and 5 (article 2.1).
    pub fn new(players: u8, mode: Mode, scoring: Scoring) -> Option<Config> {
        (2..=MAX_PLAYERS as u8).contains(&players).then_some(Config { players, mode, scoring })
    }

    /// The number of seats, 2 to 5.
    pub fn players(&self) -> usize {
        self.players as usize
    }

    /// The points of a city with these sums, each of which counts at least 0 (articles 4.2, 4.3).
    pub fn happiness(&self, inhabitants: i32, hearts: i32) -> i32 {
        let (inhabitants, hearts) = (inhabitants.max(0), hearts.max(0));
        match self.scoring {
            Scoring::Product => inhabitants * hearts,
            Scoring::Sum => inhabitants + hearts,
        }
    }

    /// The left and the right neighbour of a seat; with two players they are one (article 2.1).
    pub fn neighbours(&self, seat: usize) -> [usize; 2] {
        let players = self.players();
        [(seat + 1) % players, (seat + players - 1) % players]
    }

    /// All other seats, in their order.
    pub fn opponents(&self, seat: usize) -> impl Iterator<Item = usize> {
        (0..self.players()).filter(move |&other| other != seat)
    }
}
