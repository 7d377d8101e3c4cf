//! The data that all SDKs share: messages, the cards, and what the reference bot decides.

#[path = "../examples/greedy/city.rs"]
mod city;
#[path = "../examples/greedy/greedy.rs"]
mod greedy;

use std::fmt::Debug;
use std::fs;
use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine};
use happycity::v1::{self, CardInfo};
use happycity::{Card, CardKind, cards};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::Value;

static CONTRACT: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let files = ["happycity/v1/play_service.proto", "happycity/v1/catalogue_service.proto"];
    DescriptorPool::from_file_descriptor_set(protox::compile(files, ["../../proto"]).unwrap()).unwrap()
});

/// Reads a message of the contract from protobuf's JSON.
fn from_json<M: Message + Default>(name: &str, json: &Value) -> M {
    let kind = CONTRACT.get_message_by_name(&format!("happycity.v1.{name}")).unwrap();
    DynamicMessage::deserialize(kind, json).unwrap().transcode_to().unwrap()
}

fn lines(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(format!("../conformance/{file}")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The bytes of each kind of message are read as its fields, and written as the same bytes.
#[test]
fn messages_are_read_as_their_fields() {
    let lines = lines("messages.jsonl");
    for line in &lines {
        match line["type"].as_str().unwrap() {
            "PlayResponse" => compare::<v1::PlayResponse>(line),
            "PlayRequest" => compare::<v1::PlayRequest>(line),
            "Hello" => compare::<v1::Hello>(line),
            "Answer" => compare::<v1::Answer>(line),
            "Resign" => compare::<v1::Resign>(line),
            "Welcome" => compare::<v1::Welcome>(line),
            "GameStarted" => compare::<v1::GameStarted>(line),
            "Decision" => compare::<v1::Decision>(line),
            "GameOver" => compare::<v1::GameOver>(line),
            "Notice" => compare::<v1::Notice>(line),
            other => panic!("a message of another type: {other}"),
        }
    }
    assert!(lines.len() > 20);
}

fn compare<M: Message + Default + PartialEq + Debug>(line: &Value) {
    let bytes = BASE64_STANDARD.decode(line["bytes"].as_str().unwrap()).unwrap();
    let message = M::decode(&*bytes).unwrap();
    assert_eq!(message, from_json(line["type"].as_str().unwrap(), &line["fields"]), "{}", line["name"]);
    assert_eq!(message.encode_to_vec(), bytes, "{}", line["name"]);
}

/// Greedy decides as the reference bot does.
#[test]
fn greedy_decides_like_the_reference() {
    let lines = lines("greedy.jsonl");
    for (number, line) in (1..).zip(&lines) {
        let decision = from_json::<v1::Decision>("Decision", &line["decision"]).into();
        let choice = greedy::choose(&decision).unwrap();
        assert_eq!(Some(choice as u64), line["move"].as_u64(), "line {number}: {line}");
    }
    assert!(lines.len() > 100);
}

/// The catalogue is that of the server, every card at its number.
#[test]
fn cards_are_those_of_the_server() {
    let text = fs::read_to_string("../conformance/catalogue.json").unwrap();
    let catalogue: v1::Catalogue = from_json("Catalogue", &serde_json::from_str(&text).unwrap());
    assert_eq!(cards(), catalogue.cards);
    for (number, info) in (1..).zip(cards()) {
        assert_eq!(info.card, number);
        assert_eq!(info.card().info(), info);
    }
    assert!(cards().len() > 90);
}

/// No card is worth nothing.
#[test]
fn no_card_has_no_values() {
    assert_eq!(Card::Unspecified.info(), &CardInfo::default());
    assert_eq!(Card::Unspecified.info().kind(), CardKind::Unspecified);
}
