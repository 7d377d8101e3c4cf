//! What a bot sees of a decision.

use std::collections::BTreeMap;
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
        events: vec![Event { seat: 4, ..Event::default() }],
        clock: None,
    };
    let decision = Decision::from(message.clone());
    assert_eq!((decision.match_id, decision.decision_id, decision.seat()), (1 << 40, 3, 1));
    assert_eq!((Some(decision.view), decision.moves, decision.events), (message.view, message.moves, message.events));
}

/// The clock is read as times; what is absent is none, and zero is a time.
#[test]
fn clock() {
    let clock =
        Clock { time_left_us: Some(0), bank_left_us: None, last_think_us: Some(1500), round_trip_us: Some(300) };
    let late = Decision::from(v1::Decision { clock: Some(clock), ..v1::Decision::default() });
    assert_eq!((late.time_left(), late.bank_left()), (Some(Duration::ZERO), None));
    assert_eq!(late.last_think(), Some(Duration::from_micros(1500)));
    assert_eq!(late.round_trip(), Some(Duration::from_micros(300)));
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
    assert_eq!((patient.time_left(), patient.last_think()), (None, None));
    assert!(patient.is_open());
}

/// A later number replaces an earlier one of the same name.
#[test]
fn notes() {
    let decision = Decision::from(v1::Decision::default());
    decision.note("depth", 3);
    decision.note("nodes", 1200.5);
    decision.note("depth", 4_u32);
    assert_eq!(decision.notes(), BTreeMap::from([("depth".into(), 4.0), ("nodes".into(), 1200.5)]));
}
