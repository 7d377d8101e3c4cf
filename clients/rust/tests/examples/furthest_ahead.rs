use std::collections::BTreeMap;

use happycity::v1::{self, RolloutResult, SeatEstimate};
use happycity::{Decision, Move, View};

use crate::sampler::furthest_ahead;

/// Returns a decision of seat 1 between three moves.
fn decision() -> Decision {
    let view = Some(View { seat: 1, ..View::default() });
    v1::Decision { view, moves: vec![Move::default(); 3], ..v1::Decision::default() }.into()
}

fn points(means: &[f64]) -> RolloutResult {
    let estimate = |mean: &f64| SeatEstimate { points_mean: *mean, ..SeatEstimate::default() };
    RolloutResult { seats: means.iter().map(estimate).collect(), ..RolloutResult::default() }
}

/// The move after which the own seat leads by most is played, not the one with the most points, and the lead is noted.
#[test]
fn leads_by_most() {
    let decision = decision();
    let results = [points(&[50.0, 60.0, 10.0]), points(&[20.0, 55.0, 30.0]), points(&[70.0, 80.0, 20.0])];
    assert_eq!(furthest_ahead(&decision, &results).unwrap(), 1);
    assert_eq!(decision.notes(), BTreeMap::from([("lead".into(), 25.0), ("playouts".into(), 40.0)]));
}

/// Where several lead by as much, the first of them is played, also behind.
#[test]
fn equal_leads() {
    let decision = decision();
    let results = [points(&[30.0, 10.0]), points(&[20.0, 15.0]), points(&[25.0, 20.0])];
    assert_eq!(furthest_ahead(&decision, &results).unwrap(), 1);
    assert_eq!(decision.notes()["lead"], -5.0);
}

/// Playouts of other moves are of no use.
#[test]
fn other_moves() {
    let error = furthest_ahead(&decision(), &[points(&[1.0, 2.0])]).unwrap_err();
    assert_eq!(error.to_string(), "playouts of 1 moves instead of 3");
}
