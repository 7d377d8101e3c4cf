//! Tests of the bot, by `make test`.

#[allow(dead_code)] // a test has a main function of its own
#[path = "../src/main.rs"]
mod bot;

use happycity::{Card, ask};

#[test]
fn it_builds_the_most_expensive_card() {
    assert_eq!(ask(|_| bot::choose, "first.decision").unwrap().card(), Card::Spa);
}
