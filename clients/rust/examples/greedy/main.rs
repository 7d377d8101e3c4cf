//! Plays with a rule of thumb: whatever gains most at once. It decides as the arena's reference bot of this name does.

mod city;
mod greedy;

use std::process::ExitCode;

use happycity::Settings;

fn main() -> ExitCode {
    happycity::run(|_| greedy::choose, Settings { games: Some(0), ..Settings::default() })
}
