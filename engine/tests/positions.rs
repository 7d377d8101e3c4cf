//! Games and inputs that no other test has: nothing panics, and what is accepted can be played.

use happycity_engine::{
    Awaited, Config, Error, FastRandom, Mode, Move, Position, Random, Scoring, View, Worlds, MAX_BYTES, MOVE_COUNT,
};

fn configs() -> impl Iterator<Item = Config> {
    let kinds = [
        (Mode::Family, Scoring::Product),
        (Mode::Family, Scoring::Sum),
        (Mode::Expert, Scoring::Product),
        (Mode::Expert, Scoring::Sum),
    ];
    (2..=5).flat_map(move |players| kinds.map(move |(mode, scoring)| Config::new(players, mode, scoring).unwrap()))
}

fn bytes_of(position: &Position) -> Vec<u8> {
    let mut buffer = [0; MAX_BYTES];
    let size = position.to_bytes(&mut buffer);
    buffer[..size].to_vec()
}

fn random_move(position: &Position, random: &mut FastRandom) -> Option<Move> {
    position.legal_move(random.below(position.move_count()))
}

/// Positions at all stages of random games.
fn positions(games: u64) -> impl Iterator<Item = Position> {
    configs().flat_map(move |config| {
        (0..games).flat_map(move |seed| {
            let mut random = FastRandom::new(seed);
            let mut next = Some(Position::deal(config, seed));
            core::iter::from_fn(move || {
                let position = next?;
                next = random_move(&position, &mut random).map(|chosen| {
                    let mut following = position;
                    following.apply(chosen).unwrap();
                    following
                });
                Some(position)
            })
        })
    })
}

/// Legal moves are those that `apply` takes; what it refuses changes nothing.
#[test]
fn legal_moves_are_legal() {
    for position in positions(3) {
        for chosen in (0..MOVE_COUNT).filter_map(Move::from_index) {
            let mut after = position;
            let legal = position.legal_moves().any(|other| other == chosen);
            assert_eq!(after.apply(chosen), if legal { Ok(()) } else { Err(Error::IllegalMove) });
            assert_eq!(bytes_of(&after) == bytes_of(&position), !legal);
        }
        assert_eq!(position.move_count() == 0, position.outcome().is_some());
        assert!(position.move_count() != 1);
    }
}

/// A position is what its bytes say, also when draws are open.
#[test]
fn bytes_round_trip() {
    for position in positions(3) {
        for position in [position, position.opened()] {
            let again = Position::from_bytes(&bytes_of(&position)).unwrap();
            assert_eq!(bytes_of(&again), bytes_of(&position));
            assert!(again.legal_moves().eq(position.legal_moves()));
            assert_eq!(again.outcome(), position.outcome());
        }
    }
}

/// Open games end like others; each awaited card can be revealed, and no other.
#[test]
fn open_games() {
    for (seed, config) in (0..).zip(configs()) {
        let mut random = FastRandom::new(seed);
        let mut position = Position::deal(config, seed).opened();
        while position.outcome().is_none() {
            let cards = position.awaited_cards();
            if position.awaited == Awaited::Nothing {
                position.apply(random_move(&position, &mut random).unwrap()).unwrap();
                continue;
            }
            assert_eq!(position.reveal(0), Err(Error::NotAwaited));
            let again = Position::from_bytes(&bytes_of(&position)).unwrap();
            assert_eq!(again.awaited_cards(), cards);
            position.reveal(cards[random.below(cards.len())]).unwrap();
        }
    }
}

/// Worlds show what the view shows, and have its cards in their discard piles.
#[test]
fn worlds_look_alike() {
    let mut random = FastRandom::new(1);
    for position in positions(2).filter(|position| position.outcome().is_none()) {
        let mut world = Worlds::new(&position.view()).unwrap().sample(&mut random);
        assert_eq!(message_of(&world.view()), message_of(&position.view()));
        assert_eq!(world.piles, position.piles);
        assert!(world.legal_moves().eq(position.legal_moves()));
        world.play_out(0).unwrap();
    }
}

/// Whatever bytes come in are refused, or are a position that can be played to its end.
#[test]
fn any_bytes() {
    let mut random = FastRandom::new(2);
    let mut accepted = 0;
    for position in positions(2) {
        for original in [bytes_of(&position), bytes_of(&position.opened())] {
            let mut bytes = original.clone();
            for _ in 0..1 + random.below(3) {
                let place = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[place] = random.below(256) as u8,
                    1 => bytes[place] ^= 1 << random.below(8),
                    2 => bytes.swap(place, random.below(original.len())),
                    _ => bytes.truncate(place.max(1)),
                }
                if bytes.len() < original.len() {
                    break;
                }
            }
            if let Ok(position) = Position::from_bytes(&bytes) {
                accepted += 1;
                play(position, &mut random);
            }
        }
    }
    assert!(accepted > 100, "{} were accepted", accepted);
}

/// Whatever bytes come in as a message are refused, or are a view of which worlds can be played to their ends.
#[test]
fn any_message() {
    let mut random = FastRandom::new(3);
    let mut accepted = 0;
    for position in positions(2) {
        let mut bytes = message_of(&position.view());
        if random.below(4) > 0 {
            let place = random.below(bytes.len());
            bytes[place] = random.below(256) as u8;
        }
        if let Ok(worlds) = View::from_message(&bytes).and_then(|view| Worlds::new(&view)) {
            accepted += 1;
            play(worlds.sample(&mut random), &mut random);
        }
    }
    assert!(accepted > 100, "{} were accepted", accepted);
}

/// Noise is refused too, with or without the beginning of what is accepted.
#[test]
fn noise() {
    let mut random = FastRandom::new(4);
    for position in positions(1) {
        for original in [bytes_of(&position), message_of(&position.view()), Vec::new()] {
            let kept = random.below(original.len() + 1);
            let mut bytes = original[..kept].to_vec();
            bytes.extend((0..random.below(300)).map(|_| random.seed() as u8));
            if let Ok(position) = Position::from_bytes(&bytes) {
                play(position, &mut random);
            }
            if let Ok(worlds) = View::from_message(&bytes).and_then(|view| Worlds::new(&view)) {
                play(worlds.sample(&mut random), &mut random);
            }
        }
    }
}

fn play(mut position: Position, random: &mut FastRandom) {
    let mut row = vec![0.0; happycity_engine::row_size(position.config().players())];
    assert!(position.observe(0, &mut row));
    position.quick_move(0b11111);
    for seat in 0..position.config().players() {
        assert!(position.features(seat).iter().all(|number| number.is_finite()));
    }
    if let Some(chosen) = random_move(&position, random) {
        let _ = position.playout(chosen, 0);
        let _ = position.next_turn(chosen);
    }
    let mut quick = position;
    let _ = quick.play_out(0);
    while let Some(chosen) = random_move(&position, random) {
        position.apply(chosen).unwrap();
        let cards = position.awaited_cards();
        if !cards.is_empty() {
            position.reveal(cards[0]).unwrap();
        }
    }
    assert!(position.outcome().is_some() || position.awaited != Awaited::Nothing);
}

/// Writes a view as the contract's message.
fn message_of(view: &View) -> Vec<u8> {
    let number = |field: u8, value: u64| {
        let mut bytes = vec![field << 3];
        let mut rest = value;
        while rest > 127 {
            bytes.push(rest as u8 | 128);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    };
    let part = |field: u8, content: Vec<u8>| [vec![field << 3 | 2, content.len() as u8], content].concat();
    let seen = &view.seen;
    let config = seen.config();
    let kind = [number(2, config.mode as u64), number(3, config.scoring as u64)].concat();
    let mut parts = vec![
        number(1, seen.round.into()),
        number(2, seen.seat.into()),
        number(3, seen.phase as u64),
        part(5, seen.centre.to_vec()),
        part(6, seen.specials.to_vec()),
        part(9, [number(1, config.players() as u64), kind].concat()),
    ];
    for city in seen.cities.all() {
        let purse = [number(1, city.coins as u64), number(4, city.uses.into())].concat();
        parts.push(part(4, [purse, part(3, city.cards.to_vec())].concat()));
    }
    for left in seen.dwellings {
        parts.push(part(7, number(2, left.into())));
    }
    for (&left, discarded) in view.decks.iter().zip(&seen.piles) {
        parts.push(part(8, [number(1, left as u64), part(2, discarded.to_vec())].concat()));
    }
    parts.concat()
}
