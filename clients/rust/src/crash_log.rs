use std::collections::HashMap;

/// Kinds of crashes that are counted separately; all further ones count as one kind.
const MOST_KINDS: usize = 100;

/// Says of each kind of crash the first one in full, then only how often it came again.
///
/// Two crashes are of one kind if they have one place in the author's code, or if their reasons differ in numbers alone
/// where the place isn't known.
#[derive(Default)]
pub(crate) struct CrashLog {
    kinds: HashMap<String, Kind>,
}

struct Kind {
    first_match: i64,
    reason: String,
    count: u64,
    /// The count that the last line gives.
    logged: u64,
}

impl CrashLog {
    /// Logs a crash at a place of a match; `what` says what became of it.
    pub(crate) fn add(&mut self, what: &str, match_id: i64, place: &str, reason: &str) {
        if let Some(line) = self.line(what, match_id, reason) {
            log::error!("{place}: {line}");
        }
    }

    /// Logs how often each kind came in all, where the last line doesn't say it.
    pub(crate) fn close(&mut self) {
        for line in self.summary() {
            log::error!("{line}");
        }
    }

    /// Counts a crash, and returns what is to be said of it.
    fn line(&mut self, what: &str, match_id: i64, reason: &str) -> Option<String> {
        let (mut key, mut title) = (format!("{what} {}", kind_of(reason)), reason);
        if !self.kinds.contains_key(&key) && self.kinds.len() >= MOST_KINDS {
            (key, title) = (String::new(), "various");
        }
        let Some(kind) = self.kinds.get_mut(&key) else {
            self.kinds.insert(key, Kind { first_match: match_id, reason: title.to_owned(), count: 1, logged: 1 });
            return Some(format!("{what}: {reason}"));
        };
        kind.count += 1;
        if 10_u64.pow(kind.count.ilog10()) != kind.count {
            return None;
        }
        kind.logged = kind.count;
        let Kind { first_match, reason, count, .. } = kind;
        Some(format!("the same crash as in match {first_match} ({count} so far): {reason}"))
    }

    fn summary(&mut self) -> Vec<String> {
        let mut kinds: Vec<_> =
            self.kinds.drain().map(|(_, kind)| kind).filter(|kind| kind.count > kind.logged).collect();
        kinds.sort_unstable_by_key(|kind| kind.first_match);
        let line = |Kind { first_match, reason, count, .. }: Kind| {
            format!("the same crash in {count} games, first in match {first_match}: {reason}")
        };
        kinds.into_iter().map(line).collect()
    }
}

/// Returns what the reasons of one kind have in common.
fn kind_of(reason: &str) -> String {
    match reason.rsplit_once(" (") {
        Some((_, place)) if reason.starts_with("panic: ") => place.to_owned(),
        _ => reason.chars().filter(|c| !c.is_ascii_digit()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crash is said in full once, then at powers of ten and at the end; numbers don't make another kind.
    #[test]
    fn repeated() {
        let mut log = CrashLog::default();
        let mut lines = vec![];
        for id in 1..=25 {
            lines.extend(log.line("given up", id, &format!("card {id} is missing")));
        }
        lines.extend(log.line("given up", 98, "panic: a (mine.rs:5)"));
        lines.extend(log.line("given up", 99, "panic: b (mine.rs:5)"));
        lines.extend(log.summary());
        let expected = [
            "given up: card 1 is missing",
            "the same crash as in match 1 (10 so far): card 1 is missing",
            "given up: panic: a (mine.rs:5)",
            "the same crash in 25 games, first in match 1: card 1 is missing",
            "the same crash in 2 games, first in match 98: panic: a (mine.rs:5)",
        ];
        assert_eq!(lines, expected);
    }

    /// A bot whose reasons are all different fills neither the memory nor the log.
    #[test]
    fn many_kinds() {
        let mut log = CrashLog::default();
        let lines = (0..1000).filter_map(|i| log.line("", 1, &"x".repeat(i))).count();
        assert!(lines < MOST_KINDS + 5 && log.kinds.len() == MOST_KINDS + 1, "{lines} lines");
    }
}
