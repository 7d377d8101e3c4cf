//! Has the server play each of its moves out in many worlds that look like what it sees, and plays the one after which
//! it ends furthest ahead. It knows none of the rules.

use std::process::ExitCode;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use happycity::tonic::{Request, Status};
use happycity::v1::simulation_service_client::SimulationServiceClient;
use happycity::v1::{Line, RollOut, RollOutRequest};
use happycity::{Channel, Choice, Decision, Settings, retry_after, wait_for};

/// Of each move. A standard error of a mean of 40 is some 5 points, but all moves are tried in the same worlds, so their
/// differences are known better than that.
const PLAYOUTS: u32 = 40;
/// They wait for the server, so they may be more than there are cores.
const THINKERS: usize = 8;
/// Where there is no clock, the server is waited for no longer than that.
const PATIENCE: Duration = Duration::from_secs(60);

/// Held by the game whose call it is: if all games asked at once for too much, each might be refused again and again.
static SIMULATIONS: LazyLock<Mutex<SimulationServiceClient<Channel>>> = LazyLock::new(|| {
    let channel = Settings::default().channel().expect("the bot itself is connected with these settings");
    Mutex::new(SimulationServiceClient::new(channel))
});

/// Plays the move that ends best on average; if the server doesn't simulate in time, the neutral one.
fn choose(decision: &Decision) -> Choice {
    let time = decision.time_left().unwrap_or(PATIENCE) * 3 / 4; // the answer needs some of it too
    match roll_out(decision, Instant::now() + time) {
        Ok(roll_outs) => furthest_ahead(decision, &roll_outs),
        Err(status) => {
            eprintln!("no simulations: {status}");
            Ok(0)
        }
    }
}

/// Asks for playouts of all moves, again if too many were asked for of late.
fn roll_out(decision: &Decision, deadline: Instant) -> Result<Vec<RollOut>, Status> {
    let line = Line { view: decision.view.clone(), seed: decision.decision_id.into(), moves: vec![] };
    let question = RollOutRequest { lines: vec![line], playouts: PLAYOUTS, policy: "quick".into(), each_move: true };
    let mut simulations = SIMULATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let mut request = Request::new(question.clone());
        request.set_timeout(deadline.saturating_duration_since(Instant::now()));
        let refusal = match wait_for(simulations.roll_out(request)) {
            Ok(answer) => return Ok(answer.into_inner().roll_outs),
            Err(status) => status,
        };
        match retry_after(&refusal) {
            Some(pause) if Instant::now() + pause < deadline => thread::sleep(pause),
            _ => return Err(refusal),
        }
    }
}

/// Returns the position of the first move with the greatest lead, and tells of it.
pub fn furthest_ahead(decision: &Decision, roll_outs: &[RollOut]) -> Choice {
    if roll_outs.len() != decision.moves.len() {
        return Err(format!("{} roll outs of {} moves", roll_outs.len(), decision.moves.len()).into());
    }
    let leads: Vec<f64> = roll_outs.iter().map(|roll_out| lead(roll_out, decision.seat as usize)).collect();
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
fn lead(roll_out: &RollOut, seat: usize) -> f64 {
    let points = &roll_out.points_mean;
    let others = points.iter().enumerate().filter(|(other, _)| *other != seat);
    points[seat] - others.map(|(_, points)| *points).fold(0.0, f64::max)
}

fn main() -> ExitCode {
    happycity::run(|_| choose, Settings { thinkers: Some(THINKERS), ..Settings::default() })
}
