//! Obeys the names of the bots that it plays with, for the conformance suite.

use std::process::ExitCode;
use std::time::Duration;
use std::{env, thread};

use happycity::{Bot, Choice, Decision, GameStarted, MatchResult, Settings, VoidReason};

struct Scenario(Vec<String>);

impl Scenario {
    fn new(start: &GameStarted) -> Self {
        let scenario = Self(start.bots.clone());
        assert!(!scenario.asks_for("crash-start"), "scenario");
        scenario
    }

    fn asks_for(&self, name: &str) -> bool {
        self.0.iter().any(|bot| bot == name)
    }

    fn end(&self, line: &str) {
        println!("{line}"); // standard output is flushed at the end of each line
        assert!(!self.asks_for("crash-over"), "scenario");
    }
}

impl Bot for Scenario {
    fn choose(&mut self, decision: &Decision) -> Choice {
        if self.asks_for("crash-choose") {
            return Err("scenario".into());
        }
        if self.asks_for("illegal") {
            return Ok(99);
        }
        if self.asks_for("slow") {
            thread::sleep(Duration::from_secs(2));
        }
        if self.asks_for("note") {
            decision.note("depth", 3);
            decision.note("nodes", 1200.5);
        }
        Ok(if self.asks_for("first") { 0 } else { decision.moves.len() - 1 })
    }

    fn game_over(&mut self, match_id: i64, _: &MatchResult) {
        self.end(&format!("over {match_id}"));
    }

    fn game_voided(&mut self, match_id: i64, _: VoidReason) {
        self.end(&format!("void {match_id}"));
    }
}

fn main() -> ExitCode {
    let seconds = env::var("HAPPYCITY_RECONNECT").ok().map(|text| text.parse().expect("a number of seconds"));
    let reconnect = seconds.map(Duration::from_secs_f64);
    happycity::run(Scenario::new, Settings { reconnect, thinkers: Some(16), ..Settings::default() })
}
