/// As many characters of a reason as a server keeps.
const LONGEST: usize = 200;

/// Returns a text in one line of at most 200 characters, without control characters: fit for a terminal, wherever the
/// text came from.
pub(crate) fn one_line(text: &str) -> String {
    let plain: String = text.chars().take(4 * LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST).collect()
}

/// Names a place in a game, such as `match 7, round 1, decision 3`, without what is 0.
pub(crate) fn place(match_id: i64, round: u32, decision_id: u32) -> String {
    let parts = [("match", match_id), ("round", round.into()), ("decision", decision_id.into())];
    let named = parts.iter().filter(|(_, number)| *number != 0).map(|(name, number)| format!("{name} {number}"));
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is 0 is left out.
    #[test]
    fn places() {
        assert_eq!(place(7, 1, 3), "match 7, round 1, decision 3");
        assert_eq!((place(7, 0, 3), place(0, 0, 0)), ("match 7, decision 3".into(), String::new()));
    }

    /// Control characters and line breaks become spaces, and a long text is cut between two characters.
    #[test]
    fn lines() {
        assert_eq!(one_line("\x1b[31mred\x07\r\n  two\u{9b}2J\tthree\u{2028}four "), "[31mred two 2J three four");
        assert_eq!(one_line(&"ä".repeat(300)), "ä".repeat(200));
        assert_eq!(one_line(&"ä ".repeat(1_000_000)).chars().count(), 200);
        assert_eq!(one_line("\0"), "");
    }
}
