//! The one byte form of a position, and the contract's bytes of a view.
//!
//! A position is, one byte each if nothing else is said:
//!
//! | what | meaning |
//! |---|---|
//! | form | 1, the version of this form |
//! | flags | 1 expert, 2 sum scoring, 4 open, 8 orders of reshuffles by the contract |
//! | players, round, seat, phase | numbers as in the contract |
//! | awaited | 0 nothing, 1 to 3 a card of this deck, 4 one of the box |
//! | box | the number of its first special; 0 in family games and open positions |
//! | copied | the number of the special that the Sphinx has copied, or 0 |
//! | seed | of the reshuffles, 8 bytes, the lowest first |
//! | rebuilt | how often each deck was rebuilt, 3 times 2 bytes |
//! | dwellings | cards left in each stack, 3 bytes |
//! | centre, specials | lists: their length, then card numbers |
//! | deck, pile | two lists for each of the 3 decks; a deck's top card is last |
//! | seats | for each: coins in 4 bytes, uses, and the city as a list |

use crate::cards::{card, CardKind};
use crate::config::{Config, Mode, Scoring, CENTRE_SIZE, MAX_PLAYERS};
use crate::error::Error;
use crate::list::List;
use crate::position::{Awaited, Phase, Position, DECKS};
use crate::reshuffles::Reshuffles;
use crate::view::{SeatView, View};
use crate::worlds::seen;

/// The bytes of a position at most.
pub const MAX_BYTES: usize = 256;
const FORM: u8 = 1;
const EXPERT: u8 = 1;
const SUM: u8 = 2;
const OPEN: u8 = 4;
const BY_CONTRACT: u8 = 8;

impl Position {
    /// Writes the position into a buffer, and returns how many bytes it takes there.
    pub fn to_bytes(&self, buffer: &mut [u8; MAX_BYTES]) -> usize {
        let config = self.config();
        let flags = [
            (EXPERT, config.mode == Mode::Expert),
            (SUM, config.scoring == Scoring::Sum),
            (OPEN, self.open),
            (BY_CONTRACT, self.reshuffles.by_contract),
        ];
        let flags = flags.iter().filter(|(_, set)| *set).fold(0, |flags, (flag, _)| flags | flag);
        let awaited = match self.awaited {
            Awaited::Nothing => 0,
            Awaited::Deck(index) => index + 1,
            Awaited::Box => 4,
        };
        let mut writer = Writer { buffer, len: 0 };
        writer.put(&[FORM, flags, config.players() as u8, self.round, self.seat, self.phase as u8]);
        writer.put(&[awaited, self.box_top, self.sphinx_copy]);
        writer.put(&self.reshuffles.seed.to_le_bytes());
        self.reshuffles.rebuilt.iter().for_each(|times| writer.put(&times.to_le_bytes()));
        writer.put(&self.dwellings);
        writer.put_list(&self.centre);
        writer.put_list(&self.specials);
        for (deck, pile) in self.decks.iter().zip(&self.piles) {
            writer.put_list(deck);
            writer.put_list(pile);
        }
        for city in self.cities.all() {
            writer.put(&city.coins.to_le_bytes());
            writer.put(&[city.uses]);
            writer.put_list(&city.cards);
        }
        writer.len
    }

    /// Reads a position that `to_bytes` has written.
    ///
    /// # Errors
    /// `Error::Malformed` or `Error::Impossible`: the bytes are not a position of any game.
    pub fn from_bytes(bytes: &[u8]) -> Result<Position, Error> {
        let mut reader = Reader { rest: bytes };
        if reader.byte()? != FORM {
            return Err(Error::Malformed("form"));
        }
        let flags = reader.byte()?;
        let mode = if flags & EXPERT != 0 { Mode::Expert } else { Mode::Family };
        let scoring = if flags & SUM != 0 { Scoring::Sum } else { Scoring::Product };
        let config = Config::new(reader.byte()?, mode, scoring).ok_or(Error::Malformed("players"))?;
        let (round, seat, phase) = (reader.byte()?, reader.byte()?, phase_of(reader.byte()?.into())?);
        let (awaited, box_top, sphinx_copy) = (reader.byte()?, reader.byte()?, reader.byte()?);
        let seed = u64::from_le_bytes(reader.array()?);
        let mut rebuilt = [0; DECKS];
        for times in &mut rebuilt {
            *times = u16::from_le_bytes(reader.array()?);
        }
        let dwellings = reader.array()?;
        let (centre, specials) = (reader.list()?, reader.list()?);
        let (mut decks, mut piles) = ([List::EMPTY; DECKS], [List::EMPTY; DECKS]);
        for (deck, pile) in decks.iter_mut().zip(&mut piles) {
            *deck = reader.list()?;
            *pile = reader.list()?;
        }
        let mut seats = [SeatView::EMPTY; MAX_PLAYERS];
        for seat in seats.iter_mut().take(config.players()) {
            seat.coins = i32::from_le_bytes(reader.array()?);
            seat.uses = reader.byte()?;
            seat.city = reader.list()?;
        }
        if !reader.rest.is_empty() || flags > EXPERT | SUM | OPEN | BY_CONTRACT {
            return Err(Error::Malformed("end"));
        }
        let sizes = |lists: [List<28>; DECKS]| [lists[0].len(), lists[1].len(), lists[2].len()];
        let (left, discards) = (sizes(decks), sizes(piles));
        let view = View { config, round, seat, phase, seats, centre, specials, dwellings, decks: left, discards };
        view.check()?;
        let mut position = seen(&view);
        position.open = flags & OPEN != 0;
        position.decks = decks;
        position.piles = piles;
        position.box_top = box_top;
        position.sphinx_copy = sphinx_copy;
        position.reshuffles = Reshuffles { seed, rebuilt, by_contract: flags & BY_CONTRACT != 0 };
        position.awaited = match awaited {
            0 => Awaited::Nothing,
            1..=3 => Awaited::Deck(awaited - 1),
            4 => Awaited::Box,
            _ => return Err(Error::Malformed("awaited")),
        };
        position.check_hidden(&view)?;
        position.go_on()?;
        Ok(position)
    }

    /// Refuses hidden cards that aren't those that a checked view leaves.
    fn check_hidden(&self, view: &View) -> Result<(), Error> {
        for index in 0..DECKS {
            let mut hidden = view.hidden_cards(index).ok_or(Error::Impossible("decks"))?;
            let (deck, pile) = (&self.decks[index], &self.piles[index]);
            if !deck.iter().chain(pile.iter()).all(|&number| hidden.remove(number)) {
                return Err(Error::Impossible("decks"));
            }
            if self.open && deck.windows(2).any(|pair| pair[0] > pair[1]) {
                return Err(Error::Impossible("decks"));
            }
        }
        let with_box = self.config().mode == Mode::Expert && !self.open;
        let box_possible = match self.box_top {
            0 => !with_box,
            special => with_box && self.box_specials().any(|other| other == special),
        };
        let copied = card(self.sphinx_copy);
        let copy_possible = self.sphinx_copy == 0
            || (self.phase == Phase::Over
                && copied.kind == CardKind::Special
                && copied.special_set == Some(self.config().mode));
        let awaited_possible = match self.awaited {
            Awaited::Nothing => true,
            Awaited::Deck(index) => {
                let in_deck = self.decks[index as usize].len();
                self.open && self.phase == Phase::Draw && self.centre.len() < CENTRE_SIZE && in_deck > 0
            }
            Awaited::Box => self.open && self.phase == Phase::Sphinx && self.box_specials().next().is_some(),
        };
        let checks = [("box", box_possible), ("copied", copy_possible), ("awaited", awaited_possible)];
        match checks.iter().find(|(_, possible)| !possible) {
            Some((part, _)) => Err(Error::Impossible(part)),
            None => Ok(()),
        }
    }

    /// Lists the moves of a position that was read, unless it awaits a card; repeats the end of one that is over.
    fn go_on(&mut self) -> Result<(), Error> {
        if self.awaited != Awaited::Nothing {
            return Ok(());
        }
        if self.sphinx_copy != 0 {
            let chooser = self.cities.all().iter().position(|city| city.effect.chooses_copy());
            self.cities.copy_special(chooser.ok_or(Error::Impossible("copied"))?, self.sphinx_copy);
        }
        self.resume();
        Ok(())
    }
}

impl View {
    /// Reads the contract's message `happycity.v1.View`, whose parts are checked by `Worlds::new`.
    ///
    /// # Errors
    /// `Error::Malformed`: the bytes are not such a message, or too long for any game.
    pub fn from_message(bytes: &[u8]) -> Result<View, Error> {
        let mut view = View {
            config: Config::new(2, Mode::Family, Scoring::Product).ok_or(Error::Malformed("config"))?,
            round: 0,
            seat: 0,
            phase: Phase::Over,
            seats: [SeatView::EMPTY; MAX_PLAYERS],
            centre: List::EMPTY,
            specials: List::EMPTY,
            dwellings: [0; 3],
            decks: [0; DECKS],
            discards: [0; DECKS],
        };
        let (mut players, mut seats, mut dwellings, mut decks) = (None, 0, 0, 0);
        let mut reader = Reader { rest: bytes };
        while let Some((field, value)) = reader.field()? {
            match field {
                1 => view.round = value.small("round")?,
                2 => view.seat = value.small("seat")?,
                3 => view.phase = phase_of(value.number("phase")?)?,
                4 => {
                    let seat = view.seats.get_mut(seats).ok_or(Error::Malformed("seats"))?;
                    read_seat(value.message("seats")?, seat)?;
                    seats += 1;
                }
                5 => value.add_cards(&mut view.centre, "centre")?,
                6 => value.add_cards(&mut view.specials, "specials")?,
                7 => {
                    let stack = view.dwellings.get_mut(dwellings).ok_or(Error::Malformed("dwellings"))?;
                    let mut fields = value.message("dwellings")?;
                    while let Some((field, value)) = fields.field()? {
                        if field == 2 {
                            *stack = value.small("dwellings")?;
                        }
                    }
                    dwellings += 1;
                }
                8 if decks < DECKS => {
                    let mut fields = value.message("decks")?;
                    while let Some((field, value)) = fields.field()? {
                        match field {
                            1 => view.decks[decks] = value.small("decks")?.into(),
                            2 => view.discards[decks] = value.small("discards")?.into(),
                            _ => {}
                        }
                    }
                    decks += 1;
                }
                9 => players = Some(read_config(value.message("config")?)?),
                _ => {}
            }
        }
        view.config = players.ok_or(Error::Malformed("config"))?;
        let complete = seats == view.config.players() && dwellings == 3 && decks == DECKS;
        complete.then_some(view).ok_or(Error::Malformed("seats"))
    }
}

fn read_seat(mut fields: Reader<'_>, seat: &mut SeatView) -> Result<(), Error> {
    while let Some((field, value)) = fields.field()? {
        match field {
            1 => seat.coins = value.number("coins")?.min(i32::MAX as u64) as i32,
            3 => value.add_cards(&mut seat.city, "city")?,
            4 => seat.uses = value.small("uses")?,
            _ => {}
        }
    }
    Ok(())
}

fn read_config(mut fields: Reader<'_>) -> Result<Config, Error> {
    let (mut players, mut mode, mut scoring) = (0, None, None);
    while let Some((field, value)) = fields.field()? {
        let number = value.number("config")?;
        match (field, number) {
            (1, _) => players = value.small("players")?,
            (2, 1) => mode = Some(Mode::Family),
            (2, 2) => mode = Some(Mode::Expert),
            (3, 1) => scoring = Some(Scoring::Product),
            (3, 2) => scoring = Some(Scoring::Sum),
            _ => {}
        }
    }
    let config = mode.and_then(|mode| Config::new(players, mode, scoring?));
    config.ok_or(Error::Malformed("config"))
}

fn phase_of(number: u64) -> Result<Phase, Error> {
    Ok(match number {
        1 => Phase::Market,
        2 => Phase::Discard,
        3 => Phase::Draw,
        4 => Phase::Buy,
        5 => Phase::Special,
        6 => Phase::Sphinx,
        7 => Phase::Over,
        _ => return Err(Error::Malformed("phase")),
    })
}

struct Writer<'a> {
    buffer: &'a mut [u8; MAX_BYTES],
    len: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        // A position is shorter than the buffer: the game has 66 buildings, and cities 10 cards.
        if let Some(place) = self.buffer.get_mut(self.len..end) {
            place.copy_from_slice(bytes);
            self.len = end;
        }
    }

    fn put_list(&mut self, list: &[u8]) {
        self.put(&[list.len() as u8]);
        self.put(list);
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    rest: &'a [u8],
}

/// What a field of a message has: a number, or bytes.
#[derive(Clone, Copy)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        if count > self.rest.len() {
            return Err(Error::Malformed("end"));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    fn list<const N: usize>(&mut self) -> Result<List<N>, Error> {
        let count = self.byte()?.into();
        List::from_slice(self.take(count)?).ok_or(Error::Malformed("list"))
    }

    /// Reads a number of the protobuf encoding: seven bits a byte, the lowest first.
    fn varint(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(Error::Malformed("number"))
    }

    /// Reads the next field of a message: its number and value.
    fn field(&mut self) -> Result<Option<(u64, Value<'a>)>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let count = self.varint()?.min(usize::MAX as u64) as usize;
                Value::Bytes(self.take(count)?)
            }
            5 => Value::Bytes(self.take(4)?),
            _ => return Err(Error::Malformed("field")),
        };
        Ok(Some((tag >> 3, value)))
    }
}

impl<'a> Value<'a> {
    fn number(self, part: &'static str) -> Result<u64, Error> {
        match self {
            Value::Number(number) => Ok(number),
            Value::Bytes(_) => Err(Error::Malformed(part)),
        }
    }

    fn small(self, part: &'static str) -> Result<u8, Error> {
        let number = self.number(part)?;
        if number < 256 {
            Ok(number as u8)
        } else {
            Err(Error::Malformed(part))
        }
    }

    fn message(self, part: &'static str) -> Result<Reader<'a>, Error> {
        match self {
            Value::Bytes(rest) => Ok(Reader { rest }),
            Value::Number(_) => Err(Error::Malformed(part)),
        }
    }

    /// Adds cards of a repeated field, which are packed or come one by one.
    fn add_cards<const N: usize>(self, list: &mut List<N>, part: &'static str) -> Result<(), Error> {
        let mut add = |number| {
            let fits = number < 256 && list.push(number as u8);
            fits.then_some(()).ok_or(Error::Malformed(part))
        };
        match self {
            Value::Number(number) => add(number),
            Value::Bytes(rest) => {
                let mut reader = Reader { rest };
                while !reader.rest.is_empty() {
                    add(reader.varint()?)?;
                }
                Ok(())
            }
        }
    }
}
