use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::v1::{self, Answer, Clock};
use crate::{Choice, Event, Move, View};

/// A choice that waits for a bot. It contains everything, so a bot need not remember anything.
#[derive(Debug)]
pub struct Decision {
    /// The match.
    pub match_id: i64,
    /// Counts the decisions of the match, all seats together, from 1.
    pub decision_id: u32,
    /// The whole public state of the game.
    pub view: View,
    /// The legal moves, two or more. The first is the neutral one, which is played for a bot that doesn't choose.
    pub moves: Vec<Move>,
    /// Everything that happened in the game since the seat's last decision.
    pub events: Vec<Event>,
    clock: Clock,
    deadline: Option<Instant>,
    /// The decision of its game that waits for an answer, or 0.
    open: Arc<AtomicU32>,
    notes: Mutex<BTreeMap<String, f64>>,
}

impl Decision {
    pub(crate) fn new(message: v1::Decision, open: Arc<AtomicU32>) -> Self {
        let clock = message.clock.unwrap_or_default();
        let time_left = clock.time_left_us.map(Duration::from_micros);
        Self {
            match_id: message.match_id,
            decision_id: message.decision_id,
            view: message.view.unwrap_or_default(),
            moves: message.moves,
            events: message.events,
            clock,
            deadline: time_left.and_then(|left| Instant::now().checked_add(left)),
            open,
            notes: Mutex::default(),
        }
    }

    /// Returns the bot's own seat.
    pub fn seat(&self) -> u32 {
        self.view.seat
    }

    /// Returns the time from now until the decision is late, the way of the answer included; `None` without a limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns what was left in the seat's bank for this game when the server asked; `None` without a bank.
    pub fn bank_left(&self) -> Option<Duration> {
        self.clock.bank_left_us.map(Duration::from_micros)
    }

    /// Returns how long the seat's last decision took on the server's clock; `None` before the first one.
    pub fn last_think(&self) -> Option<Duration> {
        self.clock.last_think_us.map(Duration::from_micros)
    }

    /// Returns the last measured round trip, a part of the think time; `None` before the first one.
    pub fn round_trip(&self) -> Option<Duration> {
        self.clock.round_trip_us.map(Duration::from_micros)
    }

    /// Returns whether an answer may still count: the decision is not late, its game goes on, and the bot has not been
    /// stopped.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) == self.decision_id && self.time_left() != Some(Duration::ZERO)
    }

    /// Sends a number about the choice with it, such as `depth` or `nodes`, for records and reports.
    ///
    /// It doesn't affect the game. A later number replaces an earlier one of the same name. The server keeps at most
    /// 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of `._-+`.
    pub fn note(&self, name: impl Into<String>, number: impl Into<f64>) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.insert(name.into(), number.into());
    }

    /// Returns what has been noted so far, for the tests of a bot.
    pub fn notes(&self) -> BTreeMap<String, f64> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the answer to the decision, or what is wrong with the choice.
    pub(crate) fn answer(&self, choice: Choice) -> Result<Answer, String> {
        let (match_id, decision_id) = (self.match_id, self.decision_id);
        match choice {
            Ok(position) if position < self.moves.len() => {
                Ok(Answer { match_id, decision_id, r#move: position as u32, metrics: self.notes() })
            }
            Ok(position) => Err(format!("the bot chose move {position} of {}", self.moves.len())),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// For the tests of a bot: a decision that is open until its time is over.
impl From<v1::Decision> for Decision {
    fn from(message: v1::Decision) -> Self {
        let open = Arc::new(AtomicU32::new(message.decision_id));
        Self::new(message, open)
    }
}
