//! A bot that searches with the engine: it plays moves out in sampled worlds, good ones most often.
//!
//! Sequential halving: the playouts of a decision are shared among a few stages, and after each the worse half of the
//! moves is dropped. All moves are tried in the same worlds, so that luck cancels out. The worlds' seeds count up from
//! the game's, so `happycity ask` repeats each choice.

use std::process::ExitCode;

use happycity::{Choice, Decision, GameStarted, Settings};

/// Playouts of all moves of a decision together, at most.
const PLAYOUTS: usize = 800;

/// Makes the bot of a game, which chooses the move that did best.
pub fn searcher(start: &GameStarted) -> impl FnMut(&Decision) -> Choice + use<> {
    let seed = start.seed;
    move |decision| search(decision, seed)
}

/// Returns the best move by sequential halving.
fn search(decision: &Decision, mut seed: u64) -> Choice {
    let mut worth = vec![0.0; decision.moves.len()];
    let mut alive: Vec<usize> = (0..worth.len()).collect();
    let stages = alive.len().next_power_of_two().ilog2() as usize;
    while alive.len() > 1 {
        for _ in 0..PLAYOUTS / (stages * alive.len()) {
            seed = seed.wrapping_add(1);
            let world = decision.position(seed)?;
            for &number in &alive {
                let chosen = world.legal_move(number).ok_or("the world has other moves")?;
                worth[number] += world.playout(chosen, 0)?;
            }
        }
        alive.sort_by(|&one, &other| worth[other].total_cmp(&worth[one]));
        alive.truncate(alive.len().div_ceil(2));
    }
    Ok(alive[0])
}

fn main() -> ExitCode {
    happycity::run(searcher, Settings::default())
}
