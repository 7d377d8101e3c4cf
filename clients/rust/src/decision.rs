use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::v1::{self, Answer, Clock};
use crate::{Event, GameStarted, MatchResult, Move, View, VoidReason};

/// The position of the chosen move, or why there is none.
pub type Choice = Result<usize, Box<dyn Error + Send + Sync>>;

/// A bot plays one game in one seat. Its methods are called one after the other, not always on the same thread.
///
/// Any `FnMut(&Decision) -> Choice` is a bot.
pub trait Bot: Send {
    /// Returns the position of the chosen move in `decision.moves`, counted from 0.
    ///
    /// With an error, a panic or a position that doesn't exist, the bot crashes: it gives up this game, is not called
    /// again, and its other games go on. An error has no effect once the decision is closed; see
    /// [`Decision::is_open`].
    ///
    /// It may block: a bot that awaits futures calls [`Handle::block_on`](tokio::runtime::Handle::block_on) of
    /// `Handle::current()`.
    fn choose(&mut self, decision: &Decision) -> Choice;

    /// Is called with how the game ended. It is the last call.
    fn game_over(&mut self, _match_id: i64, _result: &MatchResult) {}

    /// Is called if the match was voided and does not count. It is the last call.
    fn game_voided(&mut self, _match_id: i64, _reason: VoidReason) {}
}

impl<F: FnMut(&Decision) -> Choice + Send> Bot for F {
    fn choose(&mut self, decision: &Decision) -> Choice {
        self(decision)
    }
}

/// Makes the bot of each game. It hides their type, so that all that follows is compiled once, with this crate.
pub(crate) type Factory = dyn Fn(&GameStarted) -> Box<dyn Bot> + Send + Sync;

/// A choice that waits for a bot. It contains everything, so a bot need not remember anything.
#[derive(Debug)]
pub struct Decision {
    /// The match.
    pub match_id: i64,
    /// Counts the decisions of the match, all seats together, from 1.
    pub decision_id: u32,
    /// The whole public state of the game; its `seat` is the bot's own.
    pub view: View,
    /// The legal moves, two or more. The first is the neutral one, which is played for a bot that doesn't choose.
    pub moves: Vec<Move>,
    /// Everything that happened in the game since the seat's last decision.
    pub events: Vec<Event>,
    /// The seat's clock when the server asked.
    pub clock: Clock,
    deadline: Option<Instant>,
    /// Whether nothing more is expected: another decision followed, or there is nothing left to play.
    settled: AtomicBool,
    notes: Mutex<BTreeMap<String, f64>>,
    #[cfg(feature = "engine")]
    worlds: std::sync::OnceLock<Result<crate::engine::Worlds, crate::engine::Error>>,
}

impl Decision {
    /// Returns the time from now until the decision is late, the way of the answer included; `None` without a limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns whether an answer may still count: the decision is not late, its game goes on, and the bot has not been
    /// stopped.
    pub fn is_open(&self) -> bool {
        !self.settled.load(Ordering::Relaxed) && self.time_left() != Some(Duration::ZERO)
    }

    /// Sends a number about the choice with it, such as `depth` or `nodes`, for records and reports.
    ///
    /// It doesn't affect the game. A later number replaces an earlier one of the same name. The server keeps at most
    /// 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of `._-+`.
    pub fn note(&self, name: impl Into<String>, number: impl Into<f64>) {
        self.notes.lock().unwrap().insert(name.into(), number.into());
    }

    /// Returns the engine's position here, with what is hidden drawn from `seed`: other seeds give other worlds.
    ///
    /// It is for searches. Its legal moves are in the order of [`moves`](Self::moves).
    ///
    /// # Errors
    /// No game can look like the view, as that of a game that is over, or of a newer server with other cards.
    #[cfg(feature = "engine")]
    pub fn position(&self, seed: u64) -> Result<crate::engine::Position, crate::engine::Error> {
        use crate::engine::{FastRandom, View, Worlds};
        use prost::Message;

        let worlds = self.worlds.get_or_init(|| Worlds::new(&View::from_message(&self.view.encode_to_vec())?));
        worlds.as_ref().map(|worlds| worlds.sample(&mut FastRandom::new(seed))).map_err(|error| *error)
    }

    pub(crate) fn settle(&self) {
        self.settled.store(true, Ordering::Relaxed);
    }

    /// Returns the answer to the decision, or what is wrong with the choice.
    pub(crate) fn answer(&self, choice: Choice) -> Result<Answer, String> {
        let position = choice.map_err(|error| error.to_string())?;
        if position >= self.moves.len() {
            return Err(format!("the bot chose move {position} of {}", self.moves.len()));
        }
        let metrics = self.notes.lock().unwrap().clone();
        Ok(Answer { match_id: self.match_id, decision_id: self.decision_id, r#move: position as u32, metrics })
    }
}

/// Makes a decision of the protocol's message, also for the tests of a bot.
impl From<v1::Decision> for Decision {
    fn from(message: v1::Decision) -> Self {
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
            settled: AtomicBool::default(),
            notes: Mutex::default(),
            #[cfg(feature = "engine")]
            worlds: Default::default(),
        }
    }
}
