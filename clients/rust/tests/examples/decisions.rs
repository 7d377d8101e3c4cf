//! Reads decisions from protobuf's JSON, as far as greedy looks at them.

use happycity::v1::{Build, Coin, Copy, Decision, Decline, Discard, Draw, Dwell, GameConfig, Keep, Market, Take};
use happycity::{Card, CopySource, Mode, Move, MoveKind, Phase, Scoring, SeatState, View};
use serde_json::Value;

pub fn decision(json: &Value) -> Decision {
    Decision {
        decision_id: number(&json["decisionId"]),
        seat: number(&json["seat"]),
        view: Some(view(&json["view"])),
        moves: list(&json["moves"], option),
        ..Decision::default()
    }
}

fn view(json: &Value) -> View {
    View {
        round: number(&json["round"]),
        seat: number(&json["seat"]),
        phase: Phase::from_str_name(json["phase"].as_str().unwrap()).unwrap().into(),
        seats: list(&json["seats"], seat),
        centre: list(&json["centre"], card),
        specials: list(&json["specials"], card),
        config: Some(config(&json["config"])),
        ..View::default()
    }
}

fn seat(json: &Value) -> SeatState {
    SeatState { coins: number(&json["coins"]), city: list(&json["city"], card), ..SeatState::default() }
}

fn config(json: &Value) -> GameConfig {
    GameConfig {
        players: number(&json["players"]),
        mode: Mode::from_str_name(json["mode"].as_str().unwrap()).unwrap().into(),
        scoring: Scoring::from_str_name(json["scoring"].as_str().unwrap()).unwrap().into(),
    }
}

fn option(json: &Value) -> Move {
    let (kind, fields) = json.as_object().unwrap().iter().next().unwrap();
    let card = || card(&fields["card"]);
    let price = number(&fields["price"]);
    Move {
        kind: Some(match kind.as_str() {
            "keep" => MoveKind::Keep(Keep {}),
            "discard" => MoveKind::Discard(Discard { card: card() }),
            "draw" => MoveKind::Draw(Draw { deck: number(&fields["deck"]) }),
            "build" => MoveKind::Build(Build { card: card(), price }),
            "dwell" => MoveKind::Dwell(Dwell { card: card(), price }),
            "coin" => MoveKind::Coin(Coin { amount: number(&fields["amount"]) }),
            "take" => MoveKind::Take(Take { card: card() }),
            "decline" => MoveKind::Decline(Decline {}),
            "market" => MoveKind::Market(Market { card: card() }),
            "copy" => MoveKind::Copy(Copy { source: Some(source(fields)) }),
            _ => panic!("an unknown move: {json}"),
        }),
    }
}

fn source(json: &Value) -> CopySource {
    match json.get("seat") {
        Some(seat) => CopySource::Seat(number(seat)),
        None => CopySource::Box(json["box"].as_bool().unwrap()),
    }
}

fn card(json: &Value) -> i32 {
    Card::from_str_name(json.as_str().unwrap()).unwrap().into()
}

/// Reads a number, which is 0 if it is left out.
fn number(json: &Value) -> u32 {
    json.as_u64().unwrap_or(0).try_into().unwrap()
}

/// Reads a list, which is empty if it is left out.
fn list<T>(json: &Value, item: impl Fn(&Value) -> T) -> Vec<T> {
    json.as_array().map_or(&[][..], Vec::as_slice).iter().map(item).collect()
}
