use std::process::ExitCode;

use happycity::{Choice, Decision, Move, MoveKind, Settings};

/// Buys the most expensive card on offer, and takes any special.
pub fn choose(decision: &Decision) -> Choice {
    let mut best = 0; // the first move is always the neutral one: keep, the lowest deck, a coin, decline
    for (position, option) in decision.moves.iter().enumerate() {
        if price(option) > price(&decision.moves[best]) {
            best = position;
        }
    }
    Ok(best)
}

fn price(option: &Move) -> i32 {
    match option.kind() {
        MoveKind::Build | MoveKind::Dwell => -option.coins,
        MoveKind::Take => 100,
        _ => 0,
    }
}

fn main() -> ExitCode {
    happycity::run(|_| choose, Settings::default())
}
