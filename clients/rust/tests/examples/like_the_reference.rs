use std::fs;

use serde_json::Value;

use crate::{greedy, json};

/// Greedy decides as the reference bot does.
#[test]
fn like_the_reference() {
    let lines = fs::read_to_string("../conformance/greedy.jsonl").unwrap();
    for (number, line) in (1..).zip(lines.lines()) {
        let expected: Value = serde_json::from_str(line).unwrap();
        let choice = greedy::choose(&json::decision(&expected["decision"]).into()).unwrap();
        assert_eq!(Some(choice as u64), expected["move"].as_u64(), "line {number}: {line}");
    }
    assert!(lines.lines().count() > 100);
}
