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
//! | deck, pile | two lists for each of the 3 decks; a deck's top card is last, a pile is in table order |
//! | seats | for each: coins in 4 bytes, uses, and the city as a list |

use crate::cards::{card, CARDS};
use crate::config::{Config, Mode, Scoring, CENTRE_SIZE, CITY_SIZE};
use crate::error::Error;
use crate::list::List;
use crate::position::{Awaited, Phase, Position, DECKS, DECK_SIZE, PHASES};
use crate::view::View;

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
        let mut position = Position::empty(config);
        position.open = flags & OPEN != 0;
        position.reshuffles.by_contract = flags & BY_CONTRACT != 0;
        position.round = reader.byte()?;
        position.seat = reader.byte()?;
        position.phase = phase_of(reader.byte()?.into())?;
        position.awaited = match reader.byte()? {
            0 => Awaited::Nothing,
            deck @ 1..=3 => Awaited::Deck(deck - 1),
            4 => Awaited::Box,
            _ => return Err(Error::Malformed("awaited")),
        };
        position.box_top = reader.byte()?;
        position.sphinx_copy = reader.byte()?;
        position.reshuffles.seed = u64::from_le_bytes(reader.array()?);
        for times in &mut position.reshuffles.rebuilt {
            *times = u16::from_le_bytes(reader.array()?);
        }
        position.dwellings = reader.array()?;
        position.centre = reader.list()?;
        position.specials = reader.list()?;
        for (deck, pile) in position.decks.iter_mut().zip(&mut position.piles) {
            *deck = reader.list()?;
            *pile = reader.list()?;
        }
        for seat in 0..config.players() {
            let (coins, uses) = (i32::from_le_bytes(reader.array()?), reader.byte()?);
            let city: List<CITY_SIZE> = reader.list()?;
            for &number in city.iter() {
                position.cities.add(seat, number);
            }
            position.cities.of_mut(seat).coins = coins;
            position.cities.of_mut(seat).uses = uses;
        }
        if !reader.rest.is_empty() || flags > EXPERT | SUM | OPEN | BY_CONTRACT {
            return Err(Error::Malformed("end"));
        }
        let view = position.view();
        view.check()?;
        position.check_hidden(&view)?;
        position.go_on()?;
        Ok(position)
    }

    /// Refuses hidden cards that aren't those that a checked view leaves.
    fn check_hidden(&self, view: &View) -> Result<(), Error> {
        let deck_possible = |index: usize| {
            let mut hidden = view.hidden_cards(index).unwrap_or(List::EMPTY);
            let deck = &self.decks[index];
            let sorted = deck.windows(2).all(|pair| pair[0] <= pair[1]);
            deck.iter().all(|&number| hidden.remove(number)) && (sorted || !self.open)
        };
        let with_box = self.config().mode == Mode::Expert && !self.open;
        let box_possible = match self.box_top {
            0 => !with_box,
            special => with_box && self.box_specials().any(|other| other == special),
        };
        let copied = card(self.sphinx_copy).special_set == Some(self.config().mode);
        let awaited_possible = match self.awaited {
            Awaited::Nothing => true,
            Awaited::Deck(index) => {
                let draws = self.phase == Phase::Draw && self.centre.len() < CENTRE_SIZE;
                self.open && draws && !self.decks[index as usize].is_empty()
            }
            Awaited::Box => self.open && self.phase == Phase::Sphinx && self.box_specials().next().is_some(),
        };
        let checks = [
            ("decks", (0..DECKS).all(deck_possible)),
            ("box", box_possible),
            ("copied", self.sphinx_copy == 0 || (self.phase == Phase::Over && copied)),
            ("awaited", awaited_possible),
        ];
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
    /// Reads the contract's message `happycity.v1.View`, which `Worlds::new` checks.
    ///
    /// # Errors
    /// `Error::Malformed`: the bytes are not such a message, or too long for any game.
    pub fn from_message(bytes: &[u8]) -> Result<View, Error> {
        let mut config = None;
        each_field(bytes, |field, value| {
            if field == 9 {
                config = read_config(value.bytes()?)?;
            }
            Ok(())
        })?;
        let mut seen = Position::empty(config.ok_or(Error::Malformed("config"))?);
        let mut decks = [0; DECKS];
        let (mut seats, mut stacks, mut piles) = (0, 0, 0);
        each_field(bytes, |field, value| {
            match field {
                1 => seen.round = value.small()?,
                2 => seen.seat = value.small()?,
                3 => seen.phase = phase_of(value.number()?)?,
                4 => {
                    if seats == seen.config().players() {
                        return Err(Error::Malformed("seats"));
                    }
                    read_seat(value.bytes()?, &mut seen, seats)?;
                    seats += 1;
                }
                5 => value.add_cards(|number| seen.centre.push(number))?,
                6 => value.add_cards(|number| seen.specials.push(number))?,
                7 => {
                    let [_, left] = numbers_of(value.bytes()?)?;
                    *seen.dwellings.get_mut(stacks).ok_or(Error::Malformed("dwellings"))? = left;
                    stacks += 1;
                }
                8 if piles < DECKS => {
                    decks[piles] = read_deck(value.bytes()?, &mut seen.piles[piles])?.into();
                    piles += 1;
                }
                _ => {}
            }
            Ok(())
        })?;
        seen.centre.sort_unstable();
        let complete = seats == seen.config().players() && stacks == seen.dwellings.len() && piles == DECKS;
        complete.then_some(View { seen, decks }).ok_or(Error::Malformed("seats"))
    }
}

fn read_seat(bytes: &[u8], seen: &mut Position, seat: usize) -> Result<(), Error> {
    let (mut coins, mut uses) = (0, 0);
    each_field(bytes, |field, value| {
        match field {
            1 => coins = value.number()?.min(i32::MAX as u64) as i32,
            3 => value.add_cards(|number| seen.cities.add(seat, number))?,
            4 => uses = value.small()?,
            _ => {}
        }
        Ok(())
    })?;
    seen.cities.of_mut(seat).coins = coins;
    seen.cities.of_mut(seat).uses = uses;
    Ok(())
}

/// Reads the number of cards left in a deck, and its discard pile.
fn read_deck(bytes: &[u8], pile: &mut List<DECK_SIZE>) -> Result<u8, Error> {
    let mut left = 0;
    each_field(bytes, |field, value| {
        match field {
            1 => left = value.small()?,
            2 => value.add_cards(|number| pile.push(number))?,
            _ => {}
        }
        Ok(())
    })?;
    pile.sort_unstable();
    Ok(left)
}

fn read_config(bytes: &[u8]) -> Result<Option<Config>, Error> {
    let [players, mode, scoring] = numbers_of(bytes)?;
    let mode = [Mode::Family, Mode::Expert].iter().copied().find(|&each| each as u8 == mode);
    let scoring = [Scoring::Product, Scoring::Sum].iter().copied().find(|&each| each as u8 == scoring);
    Ok(mode.and_then(|mode| Config::new(players, mode, scoring?)))
}

/// Reads a message whose first fields are small numbers.
fn numbers_of<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Error> {
    let mut numbers = [0; N];
    each_field(bytes, |field, value| {
        if let Some(number) = numbers.get_mut((field as usize).wrapping_sub(1)) {
            *number = value.small()?;
        }
        Ok(())
    })?;
    Ok(numbers)
}

/// Calls `read` with the number and value of each field of a message.
fn each_field<'a>(bytes: &'a [u8], mut read: impl FnMut(u64, Value<'a>) -> Result<(), Error>) -> Result<(), Error> {
    let mut reader = Reader { rest: bytes };
    while !reader.rest.is_empty() {
        let tag = reader.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(reader.varint()?),
            1 => Value::Bytes(reader.take(8)?),
            2 => {
                let count = reader.varint()?.min(bytes.len() as u64 + 1) as usize;
                Value::Bytes(reader.take(count)?)
            }
            5 => Value::Bytes(reader.take(4)?),
            _ => return Err(Error::Malformed("field")),
        };
        read(tag >> 3, value)?;
    }
    Ok(())
}

fn phase_of(number: u64) -> Result<Phase, Error> {
    PHASES.iter().copied().find(|&phase| phase as u64 == number).ok_or(Error::Malformed("phase"))
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
        let cards = self.take(count)?;
        let all = count <= N && cards.iter().all(|&number| is_card(number.into()));
        all.then(|| cards.iter().copied().collect()).ok_or(Error::Malformed("cards"))
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
}

impl<'a> Value<'a> {
    fn number(self) -> Result<u64, Error> {
        match self {
            Value::Number(number) => Ok(number),
            Value::Bytes(_) => Err(Error::Malformed("number")),
        }
    }

    fn small(self) -> Result<u8, Error> {
        u8::try_from(self.number()?).map_err(|_| Error::Malformed("number"))
    }

    fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Number(_) => Err(Error::Malformed("message")),
        }
    }

    /// Adds cards of a repeated field, which are packed or come one by one, as long as there is room.
    fn add_cards(self, mut add: impl FnMut(u8) -> bool) -> Result<(), Error> {
        let mut checked = |number| {
            let added = is_card(number) && add(number as u8);
            added.then_some(()).ok_or(Error::Malformed("cards"))
        };
        match self {
            Value::Number(number) => checked(number),
            Value::Bytes(rest) => {
                let mut reader = Reader { rest };
                while !reader.rest.is_empty() {
                    checked(reader.varint()?)?;
                }
                Ok(())
            }
        }
    }
}

fn is_card(number: u64) -> bool {
    (1..CARDS.len() as u64).contains(&number)
}
