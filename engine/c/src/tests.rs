//! Each function does what the crate does, and writes nothing where it refuses.

extern crate std;

use std::vec::Vec;

use super::memory::of_tests::{both, input, output};
use super::*;
use engine::{Awaited, Random};

type Bytes = Vec<u8>;

fn kinds() -> impl Iterator<Item = (u32, u32, u32)> {
    (2..=5).flat_map(|players| [(0, 0), (0, 1), (1, 0), (1, 1)].map(move |(expert, sum)| (players, expert, sum)))
}

fn position(bytes: &[u8]) -> Position {
    Position::from_bytes(bytes).unwrap()
}

/// What a function that returns a size writes, or its refusal; a refusal must not write.
fn written(call: impl FnOnce(Out<u8>) -> i32) -> Result<Bytes, i32> {
    let mut bytes = [0xEE; MAX_BYTES];
    let size = call(output(&mut bytes));
    assert!(bytes[size.max(0) as usize..].iter().all(|&byte| byte == 0xEE));
    (size >= 0).then(|| bytes[..size as usize].to_vec()).ok_or(size)
}

fn rows(call: impl FnOnce(Out<i32>) -> i32) -> Result<Vec<i32>, i32> {
    let mut rows = [i32::MIN; 25];
    let players = call(output(&mut rows));
    assert!(rows[5 * players.max(0) as usize..].iter().all(|&number| number == i32::MIN));
    (players >= 0).then(|| rows[..5 * players as usize].to_vec()).ok_or(players)
}

fn playouts(bytes: &[u8], moves: &[u8], fast: u32) -> Result<Vec<f64>, i32> {
    let mut values = [f64::MAX; 10];
    let count = moves.len() as u32;
    let done =
        happycity_playouts(input(bytes), bytes.len() as u32, input(moves), count, fast, output(&mut values[1..]));
    assert!(values[1 + done.max(0) as usize..].iter().all(|&value| value == f64::MAX));
    (done >= 0).then(|| values[1..=done as usize].to_vec()).ok_or(done)
}

fn legal(bytes: &[u8]) -> Bytes {
    written(|moves| happycity_legal_moves(input(bytes), bytes.len() as u32, moves)).unwrap()
}

fn apply(bytes: &[u8], chosen: u32) -> Result<Bytes, i32> {
    written(|next| happycity_apply(input(bytes), bytes.len() as u32, chosen, next))
}

/// Positions of a random game each, the end included, ordinary and open ones.
fn positions() -> Vec<Bytes> {
    let mut all = Vec::new();
    for (seed, (players, expert, sum)) in (0..).zip(kinds()) {
        let mut random = FastRandom::new(seed);
        let mut bytes = written(|next| happycity_deal(players, expert, sum, seed, next)).unwrap();
        loop {
            all.push(bytes.clone());
            all.push(written(|next| happycity_opened(input(&bytes), bytes.len() as u32, next)).unwrap());
            let moves = legal(&bytes);
            if moves.is_empty() {
                break;
            }
            bytes = apply(&bytes, moves[random.below(moves.len())].into()).unwrap();
        }
    }
    all
}

fn bytes_of(position: &Position) -> Bytes {
    let mut buffer = [0; MAX_BYTES];
    let size = position.to_bytes(&mut buffer);
    buffer[..size].to_vec()
}

fn rows_of(position: &Position, outcome: &Outcome) -> Vec<i32> {
    let seats = 0..position.config().players();
    let column = |of: fn(&Score) -> i32| seats.clone().map(|seat| of(&outcome.scores[seat])).collect::<Vec<_>>();
    let ranks = seats.clone().map(|seat| outcome.ranks[seat].into()).collect();
    [column(|s| s.points), column(|s| s.coins), column(|s| s.inhabitants), column(|s| s.hearts), ranks].concat()
}

fn refusal<T>(result: Result<T, Error>) -> Result<T, i32> {
    result.map_err(|error| answer(|| Err(error)))
}

#[test]
fn deals() {
    for (players, expert, sum) in kinds() {
        let mode = if expert == 1 { Mode::Expert } else { Mode::Family };
        let scoring = if sum == 1 { Scoring::Sum } else { Scoring::Product };
        let seed = u64::MAX - u64::from(players);
        let expected = Position::deal(Config::new(players as u8, mode, scoring).unwrap(), seed);
        assert_eq!(written(|next| happycity_deal(players, expert, sum, seed, next)), Ok(bytes_of(&expected)));
    }
    for (players, expert, sum) in [(1, 0, 0), (6, 0, 0), (258, 0, 0), (2, 2, 0), (2, 0, 2)] {
        assert_eq!(written(|next| happycity_deal(players, expert, sum, 1, next)), Err(-3));
    }
}

/// All functions of a position, by the crate.
#[test]
fn positions_as_by_the_crate() {
    let mut random = FastRandom::new(1);
    let (mut awaiting, mut over) = (0, 0);
    for mut bytes in positions() {
        let moves = legal(&bytes);
        if bytes[1] & 4 != 0 && !moves.is_empty() {
            bytes = apply(&bytes, moves[random.below(moves.len())].into()).unwrap();
        }
        let (size, here, moves) = (bytes.len() as u32, position(&bytes), legal(&bytes));
        assert!(here.legal_moves().map(|each| each.index() as u8).eq(moves.iter().copied()));
        let end = here.outcome().map_or(Vec::new(), |outcome| rows_of(&here, &outcome));
        assert_eq!(rows(|rows| happycity_outcome(input(&bytes), size, rows)), Ok(end));
        let score = rows_of(&here, &here.score());
        assert_eq!(rows(|rows| happycity_score(input(&bytes), size, rows)), Ok(score));

        let seed = random.seed();
        let outcome = refusal({ here }.play_out_randomly(&mut FastRandom::new(seed)));
        let expected = outcome.map(|outcome| rows_of(&here, &outcome));
        assert_eq!(rows(|rows| happycity_random_playout(input(&bytes), size, seed, rows)), expected);

        let fast = random.below(32) as u8;
        let quick = happycity_quick_move(input(&bytes), size, fast.into());
        match here.quick_move(fast) {
            Some(quickly) => assert_eq!(quick, quickly.index() as i32),
            None => assert_eq!(quick, if here.awaited == Awaited::Nothing { -3 } else { -4 }),
        }
        let values: Result<Vec<_>, _> = here.legal_moves().map(|each| here.playout(each, fast)).collect();
        assert_eq!(playouts(&bytes, &moves, fast.into()), refusal(values));
        for each in here.legal_moves() {
            let number = each.index() as u32;
            let next = refusal(here.next_turn(each)).map(|next| bytes_of(&next));
            assert_eq!(written(|next| happycity_next_turn(input(&bytes), size, number, next)), next);
        }
        let awaited = written(|cards| happycity_awaited(input(&bytes), size, cards)).unwrap();
        assert_eq!(awaited[..], here.awaited_cards()[..]);
        let reveal = |card: u32| written(|next| happycity_reveal(input(&bytes), size, card, next));
        for &card in &awaited {
            let mut next = here;
            next.reveal(card).unwrap();
            assert_eq!(reveal(card.into()), Ok(bytes_of(&next)));
        }
        assert_eq!([reveal(0), reveal(256 + u32::from(awaited.first().copied().unwrap_or(0)))], [Err(-3), Err(-3)]);
        awaiting += usize::from(!awaited.is_empty());
        over += usize::from(here.outcome().is_some());
    }
    assert!(awaiting > 50 && over >= 16, "{} {}", awaiting, over);
}

/// A result may be written over what was read.
#[test]
fn in_place() {
    let bytes = written(|next| happycity_deal(4, 1, 0, 1, next)).unwrap();
    let (chosen, mut buffer) = (legal(&bytes)[1].into(), [0; MAX_BYTES]);
    buffer[..bytes.len()].copy_from_slice(&bytes);
    let (before, after) = both(&mut buffer);
    let size = happycity_apply(before, bytes.len() as u32, chosen, after);
    assert_eq!(Ok(&buffer[..size as usize]), apply(&bytes, chosen).as_deref());
}

#[test]
fn refusals() {
    let bytes = written(|next| happycity_deal(4, 0, 0, 1, next)).unwrap();
    let size = bytes.len() as u32;
    let (first, absent) = (legal(&bytes)[0], Move::COPY_BOX.index() as u32);
    for chosen in [absent, 1000, 256 + u32::from(first)] {
        assert_eq!(apply(&bytes, chosen), Err(-3));
        assert_eq!(written(|next| happycity_next_turn(input(&bytes), size, chosen, next)), Err(-3));
    }
    assert_eq!(playouts(&bytes, &[first, absent as u8], 0), Err(-3));
    assert_eq!(playouts(&bytes, &[first; 9], 0), Err(-3));
    assert_eq!(playouts(&bytes, &[first], 256), Err(-3));
    assert_eq!(playouts(&bytes, &[], 0), Ok(Vec::new()));
    let mut impossible = bytes.clone();
    impossible[3] = 99;
    let long = [&bytes[..], &[0; 5000]].concat();
    for (wrong, expected) in [(&bytes[1..], -1), (&[], -1), (&long, -1), (&impossible, -2)] {
        let size = wrong.len() as u32;
        assert_eq!(apply(wrong, first.into()), Err(expected));
        assert_eq!(written(|next| happycity_legal_moves(input(wrong), size, next)), Err(expected));
        assert_eq!(written(|next| happycity_next_turn(input(wrong), size, first.into(), next)), Err(expected));
        assert_eq!(written(|next| happycity_opened(input(wrong), size, next)), Err(expected));
        assert_eq!(written(|next| happycity_awaited(input(wrong), size, next)), Err(expected));
        assert_eq!(written(|next| happycity_reveal(input(wrong), size, 1, next)), Err(expected));
        assert_eq!(rows(|rows| happycity_outcome(input(wrong), size, rows)), Err(expected));
        assert_eq!(rows(|rows| happycity_score(input(wrong), size, rows)), Err(expected));
        assert_eq!(rows(|rows| happycity_random_playout(input(wrong), size, 1, rows)), Err(expected));
        assert_eq!(playouts(wrong, &[first], 0), Err(expected));
        assert_eq!(happycity_quick_move(input(wrong), size, 0), expected);
    }
}

/// The message of a view of the first decision of a family game of two: one card each, nothing in the centre.
fn view() -> Bytes {
    let expected = Position::deal(Config::new(2, Mode::Family, Scoring::Product).unwrap(), 3);
    let part = |field: u8, content: &[u8]| [&[field << 3 | 2, content.len() as u8], content].concat();
    let seen = expected.view();
    let numbers = [1 << 3, seen.seen.round, 2 << 3, seen.seen.seat, 3 << 3, seen.seen.phase as u8];
    let mut parts = [numbers.to_vec(), part(5, &seen.seen.centre), part(6, &seen.seen.specials)].concat();
    parts.extend(part(9, &[8, 2, 16, Mode::Family as u8, 24, Scoring::Product as u8]));
    for city in seen.seen.cities.all() {
        parts.extend(part(4, &[&[8, city.coins as u8][..], &part(3, &city.cards)].concat()));
    }
    seen.seen.dwellings.iter().for_each(|&left| parts.extend(part(7, &[16, left])));
    seen.decks.iter().for_each(|&left| parts.extend(part(8, &[8, left as u8])));
    parts
}

#[test]
fn worlds() {
    let view = view();
    let worlds = Worlds::new(&View::from_message(&view).unwrap()).unwrap();
    let sample = |message: &[u8]| written(|next| happycity_sample(input(message), message.len() as u32, 5, next));
    assert_eq!(sample(&view), Ok(bytes_of(&worlds.sample(&mut FastRandom::new(5)))));
    assert_eq!(sample(&view[1..]), Err(-1));
    assert_eq!(sample(&[&view[..], &[8, 31]].concat()), Err(-2));

    let fast = |message: &[u8]| happycity_fast(input(message), message.len() as u32);
    assert_eq!(fast(&view), worlds.seen.fast_builders().into());
    assert_eq!(fast(&view[1..]), -1);
    assert_eq!(happycity_version(), 1);
}
