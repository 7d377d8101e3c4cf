//! What the crate's own modules do, besides what its users can see.

use std::fs;

use serde_json::Value;

mod pauses;
mod player;
mod settings;

/// Reads a file of cases that hold for all SDKs.
fn cases(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(format!("../conformance/{file}")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
