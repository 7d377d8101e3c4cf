use std::fmt::Debug;
use std::fs;

use base64::prelude::{BASE64_STANDARD, Engine};
use prost::Message;
use serde_json::Value;

use crate::json;

/// The bytes of each kind of message are read as its fields, and written as the same bytes.
#[test]
fn read_as_their_fields() {
    let lines = fs::read_to_string("../conformance/messages.jsonl").unwrap();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["type"].as_str().unwrap() {
            "PlayRequest" => compare(&line, json::request),
            "Hello" => compare(&line, json::hello),
            "Answer" => compare(&line, json::answer),
            "Resign" => compare(&line, json::resign),
            "Welcome" => compare(&line, json::welcome),
            "GameStarted" => compare(&line, json::game_started),
            "Decision" => compare(&line, json::decision),
            "GameOver" => compare(&line, json::game_over),
            "Notice" => compare(&line, json::notice),
            other => panic!("a message of another type: {other}"),
        }
    }
    assert!(lines.lines().count() > 20);
}

fn compare<M: Message + Default + PartialEq + Debug>(line: &Value, read: impl Fn(&Value) -> M) {
    let bytes = BASE64_STANDARD.decode(line["bytes"].as_str().unwrap()).unwrap();
    let message = M::decode(&*bytes).unwrap();
    assert_eq!(message, read(&line["fields"]), "{}", line["name"]);
    assert_eq!(message.encode_to_vec(), bytes, "{}", line["name"]);
}
