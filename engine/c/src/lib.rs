//! The engine's functions for C and WebAssembly: bytes in, bytes and numbers out. `happycity_engine.h` documents them.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

mod memory;

use engine::{
    Config, Error, FastRandom, Mode, Move, Outcome, Position, Score, Scoring, View, Worlds, MAX_BYTES, MAX_MOVES,
    MAX_PLAYERS,
};
use memory::{In, Out};

/// The version of this interface.
const VERSION: i32 = 1;

#[no_mangle]
pub extern "C" fn happycity_version() -> i32 {
    VERSION
}

#[no_mangle]
pub extern "C" fn happycity_deal(players: u32, expert: u32, sum: u32, seed: u64, position: Out<u8>) -> i32 {
    answer(|| {
        let (mode, scoring) = (flag(expert, Mode::Family, Mode::Expert)?, flag(sum, Scoring::Product, Scoring::Sum)?);
        let players = u8::try_from(players).map_err(|_| NUMBER)?;
        let config = Config::new(players, mode, scoring).ok_or(NUMBER)?;
        Ok(write(&Position::deal(config, seed), &position))
    })
}

#[no_mangle]
pub extern "C" fn happycity_sample(view: In, size: u32, seed: u64, position: Out<u8>) -> i32 {
    answer(|| {
        let worlds = Worlds::new(&View::from_message(view.bytes(size)?)?)?;
        Ok(write(&worlds.sample(&mut FastRandom::new(seed)), &position))
    })
}

#[no_mangle]
pub extern "C" fn happycity_fast(view: In, size: u32) -> i32 {
    answer(|| Ok(Worlds::new(&View::from_message(view.bytes(size)?)?)?.seen.fast_builders().into()))
}

#[no_mangle]
pub extern "C" fn happycity_legal_moves(position: In, size: u32, moves: Out<u8>) -> i32 {
    answer(|| {
        let (position, mut legal) = (read(&position, size)?, [0; MAX_MOVES]);
        for (place, each) in legal.iter_mut().zip(position.legal_moves()) {
            *place = each.index() as u8;
        }
        moves.write(&legal[..position.move_count()]);
        Ok(position.move_count() as i32)
    })
}

#[no_mangle]
pub extern "C" fn happycity_apply(position: In, size: u32, chosen: u32, next: Out<u8>) -> i32 {
    answer(|| {
        let mut position = read(&position, size)?;
        position.apply(move_of(chosen)?)?;
        Ok(write(&position, &next))
    })
}

#[no_mangle]
pub extern "C" fn happycity_playouts(
    position: In,
    size: u32,
    moves: In,
    count: u32,
    fast: u32,
    values: Out<f64>,
) -> i32 {
    answer(|| {
        let position = read(&position, size)?;
        let (moves, mut played) = (moves.bytes(count)?, [0.0; MAX_MOVES]);
        let played = played.get_mut(..moves.len()).ok_or(Error::IllegalMove)?;
        for (value, &chosen) in played.iter_mut().zip(moves) {
            *value = position.playout(move_of(chosen.into())?, fast_of(fast)?)?;
        }
        values.write(played);
        Ok(played.len() as i32)
    })
}

#[no_mangle]
pub extern "C" fn happycity_random_playout(position: In, size: u32, seed: u64, rows: Out<i32>) -> i32 {
    answer(|| {
        let mut position = read(&position, size)?;
        let outcome = position.play_out_randomly(&mut FastRandom::new(seed))?;
        Ok(write_rows(&outcome, &position, &rows))
    })
}

#[no_mangle]
pub extern "C" fn happycity_quick_move(position: In, size: u32, fast: u32) -> i32 {
    answer(|| {
        let position = read(&position, size)?;
        let none = || position.outcome().map_or(Error::Awaiting, |_| Error::IllegalMove);
        Ok(position.quick_move(fast_of(fast)?).ok_or_else(none)?.index() as i32)
    })
}

#[no_mangle]
pub extern "C" fn happycity_next_turn(position: In, size: u32, chosen: u32, next: Out<u8>) -> i32 {
    answer(|| Ok(write(&read(&position, size)?.next_turn(move_of(chosen)?)?, &next)))
}

#[no_mangle]
pub extern "C" fn happycity_outcome(position: In, size: u32, rows: Out<i32>) -> i32 {
    answer(|| {
        let position = read(&position, size)?;
        Ok(position.outcome().map_or(0, |outcome| write_rows(&outcome, &position, &rows)))
    })
}

#[no_mangle]
pub extern "C" fn happycity_score(position: In, size: u32, rows: Out<i32>) -> i32 {
    answer(|| {
        let position = read(&position, size)?;
        Ok(write_rows(&position.score(), &position, &rows))
    })
}

#[no_mangle]
pub extern "C" fn happycity_opened(position: In, size: u32, next: Out<u8>) -> i32 {
    answer(|| Ok(write(&read(&position, size)?.opened(), &next)))
}

#[no_mangle]
pub extern "C" fn happycity_awaited(position: In, size: u32, cards: Out<u8>) -> i32 {
    answer(|| {
        let awaited = read(&position, size)?.awaited_cards();
        cards.write(&awaited);
        Ok(awaited.len() as i32)
    })
}

#[no_mangle]
pub extern "C" fn happycity_reveal(position: In, size: u32, card: u32, next: Out<u8>) -> i32 {
    answer(|| {
        let mut position = read(&position, size)?;
        position.reveal(u8::try_from(card).map_err(|_| Error::NotAwaited)?)?;
        Ok(write(&position, &next))
    })
}

/// A number that a function doesn't know.
const NUMBER: Error = Error::IllegalMove;

/// Returns a result, or the number below zero of what was refused.
fn answer(call: impl FnOnce() -> Result<i32, Error>) -> i32 {
    call().unwrap_or_else(|error| match error {
        Error::Malformed(_) => -1,
        Error::Impossible(_) => -2,
        Error::IllegalMove | Error::NotAwaited => -3,
        Error::Awaiting => -4,
    })
}

fn read(position: &In, size: u32) -> Result<Position, Error> {
    Position::from_bytes(position.bytes(size)?)
}

fn write(position: &Position, out: &Out<u8>) -> i32 {
    let mut bytes = [0; MAX_BYTES];
    let size = position.to_bytes(&mut bytes);
    out.write(&bytes[..size]);
    size as i32
}

/// Writes points, coins, inhabitants, hearts and ranks, each by seat; returns the number of seats.
fn write_rows(outcome: &Outcome, position: &Position, out: &Out<i32>) -> i32 {
    let players = position.config().players();
    let columns: [fn(&Score) -> i32; 4] =
        [|seat| seat.points, |seat| seat.coins, |seat| seat.inhabitants, |seat| seat.hearts];
    let scores = columns.iter().flat_map(|column| outcome.scores[..players].iter().map(column));
    let mut rows = [0; 5 * MAX_PLAYERS];
    for (place, number) in rows.iter_mut().zip(scores.chain(outcome.ranks[..players].iter().map(|&rank| rank.into()))) {
        *place = number;
    }
    out.write(&rows[..5 * players]);
    players as i32
}

fn flag<T>(number: u32, no: T, yes: T) -> Result<T, Error> {
    match number {
        0 => Ok(no),
        1 => Ok(yes),
        _ => Err(NUMBER),
    }
}

fn move_of(number: u32) -> Result<Move, Error> {
    Move::from_index(number as usize).ok_or(Error::IllegalMove)
}

fn fast_of(bits: u32) -> Result<u8, Error> {
    u8::try_from(bits).map_err(|_| NUMBER)
}

#[cfg(test)]
mod tests;
