use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::{View, v1};

/// A choice that waits for a bot. It carries everything, so a bot need not remember anything.
///
/// It has the fields of the message [`v1::Decision`], and knows whether an answer is still of use.
#[derive(Debug)]
pub struct Decision {
    message: v1::Decision,
    deadline: Option<Instant>,
    open: Open,
    notes: Mutex<BTreeMap<String, f64>>,
}

impl Decision {
    pub(crate) fn new(message: v1::Decision, open: Open) -> Self {
        let time_left = message.clock.and_then(|clock| clock.time_left_us).map(Duration::from_micros);
        let deadline = time_left.and_then(|left| Instant::now().checked_add(left));
        Self { message, deadline, open, notes: Mutex::default() }
    }

    /// Returns the whole public state of the game.
    pub fn view(&self) -> &View {
        static NONE: LazyLock<View> = LazyLock::new(View::default);
        self.message.view.as_ref().unwrap_or(&NONE)
    }

    /// Returns the bot's own seat.
    pub fn seat(&self) -> u32 {
        self.view().seat
    }

    /// Returns how long it takes from now until the decision is late, the way of the answer included; `None` if
    /// there is no limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns what is left in the seat's bank for this game; `None` if there is no bank.
    pub fn bank_left(&self) -> Option<Duration> {
        self.message.clock?.bank_left_us.map(Duration::from_micros)
    }

    /// Returns how long the seat's last decision took on the server's clock; `None` before the first one.
    pub fn last_think(&self) -> Option<Duration> {
        self.message.clock?.last_think_us.map(Duration::from_micros)
    }

    /// Returns the last measured round trip, a part of the think time; `None` before the first one.
    pub fn round_trip(&self) -> Option<Duration> {
        self.message.clock?.round_trip_us.map(Duration::from_micros)
    }

    /// Returns whether an answer may still be of use: the decision is not late, its game goes on, and the bot has not
    /// been stopped.
    pub fn is_open(&self) -> bool {
        self.open.is(self.message.decision_id) && self.time_left() != Some(Duration::ZERO)
    }

    /// Sends a number about the choice with it, such as `depth` or `nodes`, for records and reports.
    ///
    /// It doesn't affect the game. A later number replaces an earlier one of the same name. The server keeps at most
    /// 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of `._-+`.
    pub fn note(&self, name: impl Into<String>, number: impl Into<f64>) {
        let (name, number) = (name.into(), number.into());
        self.lock_notes().insert(name, number);
    }

    /// Returns what has been noted so far, for the tests of a bot.
    pub fn notes(&self) -> BTreeMap<String, f64> {
        self.lock_notes().clone()
    }

    fn lock_notes(&self) -> MutexGuard<'_, BTreeMap<String, f64>> {
        self.notes.lock().expect("nothing panics while it holds the notes")
    }
}

impl Deref for Decision {
    type Target = v1::Decision;

    fn deref(&self) -> &v1::Decision {
        &self.message
    }
}

/// For the tests of a bot: a decision that is open until its time is over.
impl From<v1::Decision> for Decision {
    fn from(message: v1::Decision) -> Self {
        let open = Open::default();
        open.set(message.decision_id);
        Self::new(message, open)
    }
}

/// Which decision of a game is open; its clones are the same. No decision has the number 0, except in tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open(Arc<AtomicU32>);

impl Open {
    pub(crate) fn set(&self, decision_id: u32) {
        self.0.store(decision_id, Ordering::Relaxed);
    }

    pub(crate) fn close(&self) {
        self.set(0);
    }

    fn is(&self, decision_id: u32) -> bool {
        self.0.load(Ordering::Relaxed) == decision_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::Clock;

    /// The clock is read as times; what is absent is none, and zero is a time.
    #[test]
    fn clock() {
        let clock =
            Clock { time_left_us: Some(0), bank_left_us: None, last_think_us: Some(1500), round_trip_us: Some(300) };
        let hurried = Decision::from(v1::Decision { clock: Some(clock), ..v1::Decision::default() });
        assert_eq!((hurried.time_left(), hurried.bank_left()), (Some(Duration::ZERO), None));
        assert_eq!(hurried.last_think(), Some(Duration::from_micros(1500)));
        assert_eq!(hurried.round_trip(), Some(Duration::from_micros(300)));
        assert!(!hurried.is_open());
    }

    /// Without a clock nothing is limited.
    #[test]
    fn no_clock() {
        let patient = Decision::from(v1::Decision::default());
        assert_eq!((patient.time_left(), patient.last_think()), (None, None));
        assert!(patient.is_open());
    }
}
