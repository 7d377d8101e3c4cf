use std::fmt::Arguments;
use std::io::{self, Write};
use std::time::SystemTime;

use log::{Level, LevelFilter, Log, Metadata, Record};

/// Writes the log to stderr, with the time in UTC.
struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("happycity")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            // A closed stderr is no reason to stop playing.
            let _ = writeln!(io::stderr(), "{}", line(SystemTime::now(), record.level(), record.args()));
        }
    }

    fn flush(&self) {}
}

/// Returns a line such as `2026-11-22T15:23:03Z INFO mine: connected to ...`.
fn line(time: SystemTime, level: Level, text: &Arguments) -> String {
    let time = prost_types::Timestamp { nanos: 0, ..time.into() };
    let level = if level == Level::Warn { "WARNING" } else { level.as_str() };
    format!("{time} {level} {text}")
}

/// Logs to stderr, unless the program has chosen a logger of its own.
pub(crate) fn install() {
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A line has the time to the second.
    #[test]
    fn lines() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_361_012_345);
        let line = line(time, Level::Warn, &format_args!("late"));
        assert_eq!(line, "2026-11-22T15:23:32Z WARNING late");
    }
}
