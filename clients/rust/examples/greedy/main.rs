//! Plays the move that gains most at once, by a rule of thumb. It decides as the reference bot of this name does.

mod city;
mod greedy;

use std::process::ExitCode;

use happycity::Settings;

fn main() -> ExitCode {
    happycity::run(|_| greedy::choose, Settings { games: Some(0), ..Settings::default() })
}
