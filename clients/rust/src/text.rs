/// As many characters of a reason as a server keeps.
const LONGEST: usize = 200;

/// Returns a text in one line of at most 200 characters, without control characters: fit for a terminal, wherever the
/// text came from.
pub(crate) fn one_line(text: &str) -> String {
    let plain: String = text.chars().take(4 * LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Control characters and line breaks become spaces, and a long text is cut between two characters.
    #[test]
    fn lines() {
        assert_eq!(one_line("\x1b[31mred\x07\r\n  two\u{9b}2J\tthree\u{2028}four "), "[31mred two 2J three four");
        assert_eq!(one_line(&"ä".repeat(300)), "ä".repeat(200));
        assert_eq!(one_line(&"ä ".repeat(1_000_000)).chars().count(), 200);
        assert_eq!(one_line("\0"), "");
    }
}
