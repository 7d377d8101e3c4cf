//! Has the server play each of its moves out in many sampled worlds, and plays the one after which it ends furthest
//! ahead. It knows none of the rules.

use std::process::ExitCode;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use happycity::tonic::{Request, Status};
use happycity::v1::simulation_service_client::SimulationServiceClient;
use happycity::v1::{Line, PlayoutPolicy, RolloutRequest, RolloutResult};
use happycity::{Channel, Choice, Decision, Settings, retry_after, wait_for};

/// Playouts of each move. The standard error of a mean of 40 is some 5 points; the differences between moves are more
/// exact, as all moves are tried in the same worlds.
const PLAYOUTS: u32 = 40;
/// Decisions at once. They wait for the server, so they may be more than there are cores.
const THINKERS: usize = 8;
/// How long a call may take for which the decision sets no limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// Locked by the game that calls: if all games called at once, each might be refused again and again.
static SIMULATIONS: LazyLock<Mutex<SimulationServiceClient<Channel>>> = LazyLock::new(|| {
    let channel = Settings::default().channel().expect("the bot itself is connected with these settings");
    Mutex::new(SimulationServiceClient::new(channel))
});

/// Plays the move that ends best on average; if the server doesn't simulate in time, the neutral one.
fn choose(decision: &Decision) -> Choice {
    let time = decision.time_left().unwrap_or(PATIENCE) * 3 / 4; // the answer needs some of it too
    match rollout(decision, Instant::now() + time) {
        Ok(results) => furthest_ahead(decision, &results),
        Err(status) => {
            eprintln!("no simulations: {status}");
            Ok(0)
        }
    }
}

/// Asks for playouts of all moves, and again later if the server is asked too often.
fn rollout(decision: &Decision, deadline: Instant) -> Result<Vec<RolloutResult>, Status> {
    let line = Line { view: decision.view.clone(), seed: decision.decision_id.into(), moves: vec![] };
    let policy = PlayoutPolicy::Quick.into();
    let question = RolloutRequest { lines: vec![line], playouts: PLAYOUTS, policy, each_move: true };
    let mut simulations = SIMULATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let mut request = Request::new(question.clone());
        request.set_timeout(deadline.saturating_duration_since(Instant::now()));
        let refusal = match wait_for(simulations.rollout(request)) {
            Ok(answer) => return Ok(answer.into_inner().results),
            Err(status) => status,
        };
        match retry_after(&refusal) {
            Some(pause) if Instant::now() + pause < deadline => thread::sleep(pause),
            _ => return Err(refusal),
        }
    }
}

/// Returns the position of the first move with the greatest lead, and notes that lead.
pub fn furthest_ahead(decision: &Decision, results: &[RolloutResult]) -> Choice {
    if results.len() != decision.moves.len() {
        return Err(format!("playouts of {} moves instead of {}", results.len(), decision.moves.len()).into());
    }
    let leads: Vec<f64> = results.iter().map(|result| lead(result, decision.seat() as usize)).collect();
    let mut best = 0;
    for (position, lead) in leads.iter().enumerate() {
        if *lead > leads[best] {
            best = position;
        }
    }
    decision.note("playouts", PLAYOUTS);
    decision.note("lead", leads[best]);
    Ok(best)
}

/// Returns by how much a seat's points exceed those of the best other one.
fn lead(result: &RolloutResult, seat: usize) -> f64 {
    let others = result.seats.iter().enumerate().filter(|(other, _)| *other != seat);
    result.seats[seat].points_mean - others.map(|(_, other)| other.points_mean).fold(0.0, f64::max)
}

fn main() -> ExitCode {
    let mut settings = Settings::default();
    settings.thinkers = Some(THINKERS);
    happycity::run(|_| choose, settings)
}
