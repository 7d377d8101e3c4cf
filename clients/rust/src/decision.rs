use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::{View, v1};

/// A choice that waits for a bot. It tells everything, so a bot need not remember anything.
///
/// It is the message [`v1::Decision`], whose fields it has, and knows whether its answer is still waited for.
#[derive(Debug)]
pub struct Decision {
    message: v1::Decision,
    deadline: Option<Instant>,
    open: Open,
    notes: Mutex<BTreeMap<String, f64>>,
}

impl Decision {
    pub(crate) fn new(message: v1::Decision, open: Open) -> Self {
        let time_left = message.clock.map_or(0, |clock| clock.time_left_ms);
        let deadline = (time_left > 0).then(|| Instant::now() + Duration::from_millis(time_left.into()));
        Self { message, deadline, open, notes: Mutex::default() }
    }

    /// Returns the whole public state of the game.
    pub fn view(&self) -> &View {
        static NONE: LazyLock<View> = LazyLock::new(View::default);
        self.message.view.as_ref().unwrap_or(&NONE)
    }

    /// Returns how long it takes from now until the decision is late, the way of the answer included; `None` if
    /// there is no limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Tells whether an answer may still be of use: the decision is not late, its game goes on, and the bot has not
    /// been stopped.
    pub fn is_open(&self) -> bool {
        self.open.is(self.message.decision_id) && self.time_left() != Some(Duration::ZERO)
    }

    /// Sends a number about the choice with it, such as `depth` or `nodes`, for records and reports. Of the numbers
    /// of one name the last one is sent.
    ///
    /// They don't affect the game. The server keeps at most 16 of an answer, finite ones, with names of at most 32
    /// characters.
    pub fn note(&self, name: impl Into<String>, number: impl Into<f64>) {
        let (name, number) = (name.into(), number.into());
        self.lock_notes().insert(name, number);
    }

    /// Returns what has been noted so far, which a bot's tests may want to see.
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
