use happycity::v1;
use happycity::{Bot, Decision, GameStarted, Move};

use crate::random::Random;

/// A game with the same seed is played alike, all moves occur, and another seed gives another game.
#[test]
fn repeatable() {
    let one = played(7);
    assert_eq!(one, played(7));
    assert_ne!(one, played(8));
    assert!((0..3).all(|position| one.contains(&position)), "{one:?}");
}

fn played(seed: u64) -> Vec<usize> {
    let mut bot = Random::new(&GameStarted { seed, ..GameStarted::default() });
    let decision: Decision = v1::Decision { moves: vec![Move::default(); 3], ..v1::Decision::default() }.into();
    (0..50).map(|_| bot.choose(&decision).unwrap()).collect()
}
