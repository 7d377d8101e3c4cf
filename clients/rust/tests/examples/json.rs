//! Reads messages from protobuf's JSON.

use happycity::v1::game_over::End;
use happycity::v1::{
    Answer, BotInfo, Clock, Decision, DeckState, DwellingStack, GameConfig, GameOver, GameStarted, Goodbye, Hello,
    MatchResult, Notice, NoticeKind, PlayRequest, Pong, Resign, Welcome,
};
use happycity::{
    Card, Ending, Event, EventKind, Mode, Move, MoveKind, Phase, Scoring, SeatResult, SeatState, View, VoidReason,
};
use serde_json::Value;

pub fn request(json: &Value) -> PlayRequest {
    PlayRequest {
        hello: maybe(&json["hello"], hello),
        answers: list(&json["answers"], answer),
        resigns: list(&json["resigns"], resign),
        pong: maybe(&json["pong"], |pong| Pong { nonce: number(&pong["nonce"]) }),
        goodbye: maybe(&json["goodbye"], |_| Goodbye {}),
    }
}

pub fn hello(json: &Value) -> Hello {
    Hello {
        name: text(&json["name"]),
        max_games: maybe(&json["maxGames"], number),
        software: text(&json["software"]),
        resume_token: text(&json["resumeToken"]),
        match_ids: list(&json["matchIds"], number),
        info: maybe(&json["info"], bot_info),
    }
}

fn bot_info(json: &Value) -> BotInfo {
    BotInfo {
        author: text(&json["author"]),
        version: text(&json["version"]),
        language: text(&json["language"]),
        description: text(&json["description"]),
    }
}

pub fn answer(json: &Value) -> Answer {
    let metrics = json["metrics"].as_object().into_iter().flatten();
    Answer {
        match_id: number(&json["matchId"]),
        decision_id: number(&json["decisionId"]),
        r#move: number(&json["move"]),
        metrics: metrics.map(|(name, value)| (name.clone(), value.as_f64().unwrap())).collect(),
    }
}

pub fn resign(json: &Value) -> Resign {
    Resign {
        match_id: number(&json["matchId"]),
        seat: maybe(&json["seat"], number),
        crashed: json["crashed"].as_bool().unwrap_or(false),
        reason: text(&json["reason"]),
    }
}

pub fn welcome(json: &Value) -> Welcome {
    let seconds = |json: &Value| json.as_str().unwrap().strip_suffix('s').unwrap().parse().unwrap();
    Welcome {
        server: text(&json["server"]),
        resume_token: text(&json["resumeToken"]),
        resumed: json["resumed"].as_bool().unwrap_or(false),
        ping_interval: maybe(&json["pingInterval"], |json| prost_types::Duration { seconds: seconds(json), nanos: 0 }),
        worker_addresses: list(&json["workerAddresses"], text),
    }
}

pub fn game_started(json: &Value) -> GameStarted {
    GameStarted {
        match_id: number(&json["matchId"]),
        config: maybe(&json["config"], config),
        seat: number(&json["seat"]),
        bots: list(&json["bots"], text),
        seed: number(&json["seed"]),
    }
}

pub fn decision(json: &Value) -> Decision {
    Decision {
        match_id: number(&json["matchId"]),
        decision_id: number(&json["decisionId"]),
        view: maybe(&json["view"], view),
        moves: list(&json["moves"], option),
        events: list(&json["events"], event),
        clock: maybe(&json["clock"], |clock| Clock {
            time_left_us: maybe(&clock["timeLeftUs"], number),
            bank_left_us: maybe(&clock["bankLeftUs"], number),
            last_think_us: maybe(&clock["lastThinkUs"], number),
            round_trip_us: maybe(&clock["roundTripUs"], number),
        }),
    }
}

pub fn game_over(json: &Value) -> GameOver {
    let result = |json: &Value| End::Result(MatchResult { seats: list(&json["seats"], seat_result) });
    let void_reason = |json: &Value| End::VoidReason(value(json, VoidReason::from_str_name));
    GameOver {
        match_id: number(&json["matchId"]),
        end: maybe(&json["result"], result).or(maybe(&json["voidReason"], void_reason)),
    }
}

pub fn notice(json: &Value) -> Notice {
    Notice {
        kind: value(&json["kind"], NoticeKind::from_str_name),
        match_id: number(&json["matchId"]),
        decision_id: number(&json["decisionId"]),
        text: text(&json["text"]),
        round: number(&json["round"]),
    }
}

fn seat_result(json: &Value) -> SeatResult {
    SeatResult {
        points: number(&json["points"]),
        coins: number(&json["coins"]),
        inhabitants: number(&json["inhabitants"]),
        hearts: number(&json["hearts"]),
        rank: number(&json["rank"]),
        place: number(&json["place"]),
        ending: value(&json["ending"], Ending::from_str_name),
        reason: text(&json["reason"]),
    }
}

fn view(json: &Value) -> View {
    View {
        round: number(&json["round"]),
        seat: number(&json["seat"]),
        phase: value(&json["phase"], Phase::from_str_name),
        seats: list(&json["seats"], seat),
        centre: list(&json["centre"], card),
        specials: list(&json["specials"], card),
        dwellings: list(&json["dwellings"], |json| DwellingStack {
            card: card(&json["card"]),
            left: number(&json["left"]),
        }),
        decks: list(&json["decks"], |json| DeckState {
            left: number(&json["left"]),
            discarded: number(&json["discarded"]),
        }),
        config: maybe(&json["config"], config),
    }
}

fn seat(json: &Value) -> SeatState {
    SeatState {
        coins: number(&json["coins"]),
        income: number(&json["income"]),
        city: list(&json["city"], card),
        uses_left: number(&json["usesLeft"]),
    }
}

fn config(json: &Value) -> GameConfig {
    GameConfig {
        players: number(&json["players"]),
        mode: value(&json["mode"], Mode::from_str_name),
        scoring: value(&json["scoring"], Scoring::from_str_name),
    }
}

fn option(json: &Value) -> Move {
    Move {
        kind: value(&json["kind"], MoveKind::from_str_name),
        card: card(&json["card"]),
        deck: number(&json["deck"]),
        seat: maybe(&json["seat"], number),
        coins: number(&json["coins"]),
    }
}

fn event(json: &Value) -> Event {
    Event {
        kind: value(&json["kind"], EventKind::from_str_name),
        seat: number(&json["seat"]),
        card: card(&json["card"]),
        deck: number(&json["deck"]),
        coins: number(&json["coins"]),
        round: number(&json["round"]),
    }
}

fn card(json: &Value) -> i32 {
    value(json, Card::from_str_name)
}

/// Reads an enum's value, which is 0 if it is left out.
fn value<E: Into<i32>>(json: &Value, read: impl Fn(&str) -> Option<E>) -> i32 {
    maybe(json, |json| read(json.as_str().unwrap()).unwrap().into()).unwrap_or(0)
}

/// Reads a number, which is 0 if it is left out; one of 64 bits is in quotes.
fn number<N: TryFrom<i128>>(json: &Value) -> N {
    let number = match json {
        Value::Null => 0,
        Value::String(digits) => digits.parse().unwrap(),
        _ => json.as_i64().unwrap().into(),
    };
    N::try_from(number).unwrap_or_else(|_| panic!("{number} is out of range"))
}

/// Reads a text, which is empty if it is left out.
fn text(json: &Value) -> String {
    json.as_str().unwrap_or("").to_owned()
}

/// Reads a list, which is empty if it is left out.
fn list<T>(json: &Value, item: impl Fn(&Value) -> T) -> Vec<T> {
    json.as_array().map_or(&[][..], Vec::as_slice).iter().map(item).collect()
}

/// Reads what may be left out.
fn maybe<T>(json: &Value, item: impl Fn(&Value) -> T) -> Option<T> {
    (!json.is_null()).then(|| item(json))
}
