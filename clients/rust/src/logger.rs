use std::io::{self, Write};

use log::{Level, LevelFilter, Log, Metadata, Record};

/// Writes the log to stderr, without times.
struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("happycity")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            // A closed stderr is no reason to stop playing.
            let _ = writeln!(io::stderr(), "{} {}", record.level(), record.args());
        }
    }

    fn flush(&self) {}
}

/// Logs to stderr, unless the program has chosen a logger of its own.
pub(crate) fn install() {
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}
