//! Moves by the number that they have in Python, and their notation (articles 5.2, 5.3).

use core::fmt;

use crate::cards::{card, BUILDINGS, DWELLINGS, FIRST_DWELLING, FIRST_SPECIAL, HAPPY_MARKET, SPECIALS};
use crate::config::MAX_PLAYERS;

/// One choice of a player, distinguished by card and not by slot (article 5.2): a number below `MOVE_COUNT`,
/// the action of learners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move(u8);

/// What a move does, and what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveKind {
    Keep,
    /// Discard this building of the centre.
    Discard(u8),
    /// Turn over the top building of this deck, 1 to 3.
    Draw(u8),
    /// Buy this building of the centre.
    Build(u8),
    /// Buy this dwelling.
    Dwell(u8),
    Coin,
    /// Take this special.
    Take(u8),
    Decline,
    /// Choose this coloured Happy Market.
    Market(u8),
    /// Copy the special of this seat.
    Copy(u8),
    /// Copy the first special of the box.
    CopyBox,
}

const DISCARD: u8 = 1;
const DRAW: u8 = DISCARD + BUILDINGS;
const BUILD: u8 = DRAW + 3;
const DWELL: u8 = BUILD + BUILDINGS;
const COIN: u8 = DWELL + DWELLINGS as u8;
const TAKE: u8 = COIN + 1;
const DECLINE: u8 = TAKE + SPECIALS;
const MARKET: u8 = DECLINE + 1;
const COPY: u8 = MARKET + 5;
const COPY_BOX: u8 = COPY + MAX_PLAYERS as u8;
/// How many moves the game knows.
pub const MOVE_COUNT: usize = COPY_BOX as usize + 1;

impl Move {
    pub const KEEP: Move = Move(0);
    pub const COIN: Move = Move(COIN);
    pub const DECLINE: Move = Move(DECLINE);
    pub const COPY_BOX: Move = Move(COPY_BOX);

    /// The move with a number, if there is one.
    pub fn from_index(index: usize) -> Option<Move> {
        (index < MOVE_COUNT).then_some(Move(index as u8))
    }

    /// The move's number.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of the card that is bought, dwelt in, taken or chosen; else 0.
    pub(crate) fn card(self) -> u8 {
        match self.kind() {
            MoveKind::Build(number) | MoveKind::Dwell(number) | MoveKind::Take(number) | MoveKind::Market(number) => {
                number
            }
            _ => 0,
        }
    }

    pub(crate) fn byte(self) -> u8 {
        self.0
    }

    // Those below take numbers of cards of the right kind, which only this crate has.

    pub(crate) fn discard(building: u8) -> Move {
        Move(DISCARD - 1 + building)
    }

    pub(crate) fn draw(deck: u8) -> Move {
        Move(DRAW - 1 + deck)
    }

    pub(crate) fn build(building: u8) -> Move {
        Move(BUILD - 1 + building)
    }

    pub(crate) fn dwell(dwelling: u8) -> Move {
        Move(DWELL + dwelling - FIRST_DWELLING)
    }

    pub(crate) fn take(special: u8) -> Move {
        Move(TAKE + special - FIRST_SPECIAL)
    }

    pub(crate) fn market(market: u8) -> Move {
        Move(MARKET + market - HAPPY_MARKET - 1)
    }

    pub(crate) fn copy(seat: usize) -> Move {
        Move(COPY + seat as u8)
    }

    /// What the move does.
    pub fn kind(self) -> MoveKind {
        let index = self.0;
        match index {
            0 => MoveKind::Keep,
            _ if index < DRAW => MoveKind::Discard(index - DISCARD + 1),
            _ if index < BUILD => MoveKind::Draw(index - DRAW + 1),
            _ if index < DWELL => MoveKind::Build(index - BUILD + 1),
            _ if index < COIN => MoveKind::Dwell(index - DWELL + FIRST_DWELLING),
            COIN => MoveKind::Coin,
            _ if index < DECLINE => MoveKind::Take(index - TAKE + FIRST_SPECIAL),
            DECLINE => MoveKind::Decline,
            _ if index < COPY => MoveKind::Market(index - MARKET + HAPPY_MARKET + 1),
            _ if index < COPY_BOX => MoveKind::Copy(index - COPY),
            _ => MoveKind::CopyBox,
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            MoveKind::Keep => formatter.write_str("keep"),
            MoveKind::Discard(building) => write!(formatter, "discard {}", card(building).id),
            MoveKind::Draw(deck) => write!(formatter, "draw {}", deck),
            MoveKind::Build(building) => write!(formatter, "build {}", card(building).id),
            MoveKind::Dwell(dwelling) => write!(formatter, "dwell {}", card(dwelling).id),
            MoveKind::Coin => formatter.write_str("coin"),
            MoveKind::Take(special) => write!(formatter, "take {}", card(special).id),
            MoveKind::Decline => formatter.write_str("decline"),
            MoveKind::Market(market) => {
                write!(formatter, "market {}", card(market).id.trim_start_matches("happy_market_"))
            }
            MoveKind::Copy(seat) => write!(formatter, "copy {}", seat),
            MoveKind::CopyBox => formatter.write_str("copy box"),
        }
    }
}
