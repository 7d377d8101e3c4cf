//! What a bot sees of a decision.

use std::time::Duration;

use happycity::v1::{self, Clock};
use happycity::{Decision, Event, Move, View};

/// A decision has the parts of its message.
#[test]
fn parts() {
    let message = v1::Decision {
        match_id: 1 << 40,
        decision_id: 3,
        view: Some(View { round: 2, seat: 1, ..View::default() }),
        moves: vec![Move { coins: 1, ..Move::default() }, Move { coins: -2, ..Move::default() }],
        events: vec![Event { seat: Some(4), ..Event::default() }],
        clock: None,
    };
    let decision = Decision::from(message.clone());
    assert_eq!((decision.match_id, decision.decision_id), (1 << 40, 3));
    assert_eq!((Some(decision.view), decision.moves, decision.events), (message.view, message.moves, message.events));
}

/// No time left is a time, unlike no limit.
#[test]
fn clock() {
    let clock = Clock { time_left_us: Some(0), last_think_us: Some(1500), ..Clock::default() };
    let late = Decision::from(v1::Decision { clock: Some(clock), ..v1::Decision::default() });
    assert_eq!((late.time_left(), late.clock), (Some(Duration::ZERO), clock));
    assert!(!late.is_open());
}

/// Time runs, and is over at most once.
#[test]
fn time_left() {
    let clock = Clock { time_left_us: Some(60_000_000), ..Clock::default() };
    let decision = Decision::from(v1::Decision { clock: Some(clock), ..v1::Decision::default() });
    let left = decision.time_left().unwrap();
    assert!(left > Duration::from_secs(50) && decision.time_left().unwrap() <= left && decision.is_open());
    let clock = Clock { time_left_us: Some(u64::MAX), ..Clock::default() };
    assert!(Decision::from(v1::Decision { clock: Some(clock), ..v1::Decision::default() }).is_open());
}

/// Without a clock nothing is limited.
#[test]
fn no_clock() {
    let patient = Decision::from(v1::Decision::default());
    assert!(patient.time_left().is_none() && patient.is_open());
}
