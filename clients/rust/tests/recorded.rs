//! Decisions of recorded games, by the file of all SDKs.

use happycity::{Choice, Decision, GameStarted, ask, read_decision};

const FIRST: &str = "../conformance/first.decision";

/// The file has the start of the game, the decision, and all that happened before.
#[test]
fn the_start_of_the_game_and_the_decision() {
    let (start, decision) = read_decision(FIRST).unwrap();
    assert_eq!((start.match_id, start.bots[start.seat as usize].as_str(), start.seed), (22, "mine", 1 << 63));
    assert_eq!((decision.decision_id, decision.view.seat, decision.moves.len()), (32, 1, 6));
    assert!(decision.events.len() >= 32 && decision.time_left().is_none());
}

/// A bot is made for the game, and asked there.
#[test]
fn a_bot_is_asked() {
    let fourth = |start: &GameStarted| {
        let seat = start.seat as usize;
        move |_: &Decision| -> Choice { Ok(seat + 2) }
    };
    assert_eq!(ask(fourth, FIRST).unwrap().card().info().name, "Spa");
}

/// A file of another kind and an illegal choice are errors.
#[test]
fn errors() {
    let last = |_: &GameStarted| |decision: &Decision| -> Choice { Ok(decision.moves.len()) };
    for (path, expected) in [
        (FIRST, "the bot chose move 6 of 6"),
        ("../conformance/catalogue.json", "catalogue.json is not a decision as this writes it: happycity ask"),
        ("../conformance/nowhere", "nowhere: No such file"),
    ] {
        let error = ask(last, path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A decision's position has its moves in their order, and worlds follow from seeds.
#[cfg(feature = "engine")]
#[test]
fn a_position_of_the_engine() {
    let (_, decision) = read_decision(FIRST).unwrap();
    let bytes = |seed| {
        let mut buffer = [0; happycity::engine::MAX_BYTES];
        let size = decision.position(seed).unwrap().to_bytes(&mut buffer);
        buffer[..size].to_vec()
    };
    assert!(bytes(1) == bytes(1) && bytes(1) != bytes(2));
    let position = decision.position(u64::MAX).unwrap();
    assert_eq!((position.seat, position.round.into()), (decision.view.seat as u8, decision.view.round));
    let texts: Vec<String> = position.legal_moves().map(|legal| legal.to_string()).collect();
    let cards: Vec<&str> = decision.moves.iter().map(|legal| legal.card().info().id.as_str()).collect();
    assert_eq!(texts.len(), cards.len());
    assert!(
        texts.iter().zip(&cards).all(|(text, card)| card.is_empty() || text.ends_with(card)),
        "{texts:?} {cards:?}"
    );

    let impossible = Decision::from(happycity::v1::Decision::default());
    assert_eq!(impossible.position(1).unwrap_err().to_string(), "config: not the bytes of a position or view");
}
