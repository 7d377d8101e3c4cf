use std::time::{Duration, Instant};

use crate::pauses::Pauses;

/// The pauses are those of all SDKs, in milliseconds; streams take no time.
#[test]
fn pauses() {
    for case in super::cases("pauses.jsonl") {
        let mut pauses = Pauses::new(Duration::from_millis(case["reconnect"].as_u64().unwrap()));
        let mut now = Instant::now();
        let streams = case["streams"].as_array().unwrap().iter();
        let found = streams.map(|stream| {
            let number = |name: &str| stream[name].as_u64().unwrap();
            let (messages, delay) = (number("messages") as usize, Duration::from_millis(number("delay")));
            let pause = pauses.next(now, messages, delay, case["share"].as_f64().unwrap());
            now += pause.unwrap_or_default();
            pause.map(|pause| pause.as_millis() as u64)
        });
        let found: Vec<_> = found.collect();
        let expected: Vec<_> = case["pauses"].as_array().unwrap().iter().map(|pause| pause.as_u64()).collect();
        assert_eq!(found, expected, "{}", case["name"]);
    }
}
