//! The engine, by the cases that hold for all SDKs.
#![cfg(feature = "engine")]

use std::hint::black_box;
use std::{env, fs};

use base64::prelude::{BASE64_STANDARD, Engine};
use happycity::engine::{Config, FastRandom, MAX_BYTES, Mode, Move, Outcome, Position, Scoring, View, Worlds};
use happycity::read_decision;
use serde_json::{Value, json};

fn bytes_of(text: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap()
}

fn text_of(position: &Position) -> String {
    let mut buffer = [0; MAX_BYTES];
    let size = position.to_bytes(&mut buffer);
    BASE64_STANDARD.encode(&buffer[..size])
}

fn numbers_of(list: &Value) -> Vec<u8> {
    serde_json::from_value(list.clone()).unwrap()
}

fn seed_of(text: &Value) -> u64 {
    text.as_str().unwrap().parse().unwrap()
}

fn rows_of(outcome: &Outcome, players: usize) -> Value {
    let scores = &outcome.scores[..players];
    json!([
        scores.iter().map(|score| score.points).collect::<Vec<_>>(),
        scores.iter().map(|score| score.coins).collect::<Vec<_>>(),
        scores.iter().map(|score| score.inhabitants).collect::<Vec<_>>(),
        scores.iter().map(|score| score.hearts).collect::<Vec<_>>(),
        outcome.ranks[..players],
    ])
}

/// Returns the position that the moves of a case lead to from its deal.
fn dealt(case: &Value) -> Position {
    let deal = numbers_of(&case["deal"]);
    let mode = if deal[1] == 1 { Mode::Expert } else { Mode::Family };
    let scoring = if deal[2] == 1 { Scoring::Sum } else { Scoring::Product };
    let mut position = Position::deal(Config::new(deal[0], mode, scoring).unwrap(), seed_of(&case["deal_seed"]));
    for number in numbers_of(&case["moves"]) {
        position.apply(Move::from_index(number.into()).unwrap()).unwrap();
    }
    position
}

/// Returns the position after the first legal move, or the first awaited card, unless there is none.
fn next_of(position: &Position) -> Option<Position> {
    let mut next = *position;
    match position.awaited_cards().first() {
        Some(&card) => next.reveal(card).ok()?,
        None => next.apply(position.legal_move(0)?).ok()?,
    }
    Some(next)
}

/// Every position is reached and played on as by the native engine.
#[test]
fn positions() {
    let path = env::var("HAPPYCITY_ENGINE_CASES").unwrap_or("../conformance/engine.jsonl".into());
    let text = fs::read_to_string(path).unwrap();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let position = Position::from_bytes(&bytes_of(&case["position"])).unwrap();
        let (fast, seed) = (case["fast"].as_u64().unwrap() as u8, seed_of(&case["seed"]));
        let players = position.config().players();
        let rows = |outcome: Outcome| rows_of(&outcome, players);
        let playouts: Result<Vec<f64>, _> =
            position.legal_moves().map(|chosen| position.playout(chosen, fast)).collect();
        let next_turn = position.legal_move(0).and_then(|first| position.next_turn(first).ok());
        let mut playing = position;
        let random_playout = playing.play_out_randomly(&mut FastRandom::new(seed));
        let mut actual = json!({
            "position": text_of(&position),
            "seed": case["seed"],
            "fast": fast,
            "legal_moves": position.legal_moves().map(Move::index).collect::<Vec<_>>(),
            "outcome": position.outcome().map(rows),
            "score": rows(position.score()),
            "quick_move": position.quick_move(fast).map(Move::index),
            "playouts": playouts.ok(),
            "random_playout": random_playout.ok().map(rows),
            "next_turn": next_turn.as_ref().map(text_of),
            "awaited": position.awaited_cards().to_vec(),
            "opened": text_of(&position.opened()),
            "next": next_of(&position).as_ref().map(text_of),
        });
        for given in ["view", "fast_builders", "sample", "deal", "deal_seed", "moves"] {
            actual[given] = case[given].clone();
        }
        if !case["view"].is_null() {
            let view = View::from_message(&bytes_of(&case["view"])).unwrap();
            let world = Worlds::new(&view).unwrap().sample(&mut FastRandom::new(seed));
            actual["fast_builders"] = json!(world.fast_builders());
            actual["sample"] = json!(text_of(&world));
        }
        assert_eq!(actual, case);
        if !case["deal"].is_null() {
            assert_eq!(text_of(&dealt(&case)), case["position"].as_str().unwrap());
        }
    }
    assert!(text.lines().count() >= 100);
}

/// What `python -m tools sdk-speed` measures: the playouts or calls, and the number of times, that it names.
#[test]
#[ignore = "it is for `python -m tools sdk-speed`"]
fn speed() {
    let given = env::var("HAPPYCITY_ENGINE_SPEED").unwrap();
    let (what, times) = given.split_once(' ').unwrap();
    let world = read_decision("../conformance/first.decision").unwrap().1.position(1).unwrap();
    let moves: Vec<Move> = world.legal_moves().collect();
    for _ in 0..times.parse().unwrap() {
        if what == "playouts" {
            moves.iter().for_each(|&chosen| assert!(black_box(world).playout(chosen, 0).is_ok()));
        } else {
            black_box(world).apply(moves[0]).unwrap();
        }
    }
}
