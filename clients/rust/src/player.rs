use std::collections::{HashMap, VecDeque};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::bot::{Bot, Factory, GameOver};
use crate::decision::Decision;
use crate::error::one_line;
use crate::session::Part;
use crate::v1::game_over::End;
use crate::v1::{self, Answer, Ending, GameStarted, Resign, VoidReason};

/// How long bots that still think when there is nothing left to play have to return.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// Plays all games of one bot. They outlive the connection: it may be lost and resumed.
///
/// Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply comes from
/// memory: asking twice would advance the bot's randomness.
pub(crate) struct Player {
    /// To the server, on the present connection; what is sent on an earlier one is dropped.
    pub(crate) out: UnboundedSender<Part>,
    pub(crate) thinkers: Arc<Thinkers>,
    seats: HashMap<(i64, u32), Arc<Seat>>,
}

impl Player {
    pub(crate) fn new(factory: Box<Factory>, threads: u32) -> Self {
        let work = Mutex::new(Work { ready: VecDeque::new(), free: threads });
        let thinkers = Thinkers { factory, work, unfinished: AtomicUsize::new(0), finished: Notify::new() };
        Self { out: unbounded_channel().0, thinkers: Arc::new(thinkers), seats: HashMap::new() }
    }

    /// Begins a session: only the games of these matches go on.
    pub(crate) fn welcome(&mut self, match_ids: &[i64]) {
        let mut dropped: Vec<i64> = self.seats.keys().map(|(match_id, _)| *match_id).collect();
        dropped.retain(|match_id| !match_ids.contains(match_id));
        for match_id in dropped {
            self.end(&v1::GameOver { match_id, end: Some(End::VoidReason(VoidReason::Unknown.into())) });
        }
    }

    /// Begins a game in one seat, unless the bot plays it already.
    pub(crate) fn start(&mut self, started: GameStarted) {
        self.seats.entry((started.match_id, started.seat)).or_insert_with(|| {
            let state = Mutex::new(State { out: Some(self.out.clone()), ..State::default() });
            let (match_id, number) = (started.match_id, started.seat);
            let seat = Arc::new(Seat { match_id, number, bot: Mutex::default(), open: Arc::default(), state });
            self.thinkers.add(&seat, Task::Start(started));
            seat
        });
    }

    /// Has a decision answered: by the bot, or from memory if the server sends it again.
    pub(crate) fn decide(&mut self, decision: v1::Decision) -> Result<(), &'static str> {
        let view = decision.view.as_ref().ok_or("a decision has no view")?;
        if decision.moves.is_empty() {
            return Err("a decision has no moves");
        }
        let Some(seat) = self.seats.get(&(decision.match_id, view.seat)) else {
            log::warn!("match {}: a decision of an unknown game", decision.match_id);
            return Ok(());
        };
        let mut state = seat.state.lock().unwrap();
        let asked_from = state.out.replace(self.out.clone());
        let is_told = state.crashed && asked_from.is_some_and(|out| out.same_channel(&self.out));
        if state.crashed || decision.decision_id == state.asked {
            state.reply.iter().filter(|_| !is_told).for_each(|reply| drop(self.out.send(reply.clone())));
        } else if decision.decision_id > state.asked {
            (state.asked, state.round, state.reply) = (decision.decision_id, view.round, None);
            seat.open.store(state.asked, Ordering::Relaxed);
            drop(state);
            self.thinkers.add(seat, Task::Choose(Box::new(Decision::new(decision, seat.open.clone()))));
        }
        Ok(())
    }

    /// Ends a match, in every seat that the bot has there.
    pub(crate) fn end(&mut self, over: &v1::GameOver) {
        for (_, seat) in self.seats.extract_if(|(match_id, _), _| *match_id == over.match_id) {
            if let Some(End::Result(result)) = &over.end
                && let Some(own) = result.seats.get(seat.number as usize)
                && own.ending > Ending::Finished as i32
            {
                let ending = own.ending().as_str_name().trim_start_matches("ENDING_").to_lowercase();
                let reason = own.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", one_line(reason)));
                log::warn!("{}: the seat was forfeited: {ending}{reason}", seat.place(&seat.state.lock().unwrap()));
            }
            seat.open.store(0, Ordering::Relaxed);
            self.thinkers.add(&seat, Task::End(over.clone()));
        }
    }

    /// Closes all games, and waits a moment until the last calls of bots return.
    pub(crate) async fn close(self) {
        self.seats.values().for_each(|seat| seat.open.store(0, Ordering::Relaxed));
        let _ = timeout(CLOSING_TIME, self.thinkers.rest()).await;
    }
}

/// A bot in one seat of a match.
struct Seat {
    match_id: i64,
    number: u32,
    bot: Mutex<Option<Box<dyn Bot>>>,
    /// The decision that waits for an answer, or 0.
    open: Arc<AtomicU32>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the bot has to do, and whether a thread works on that, or will.
    tasks: VecDeque<Task>,
    busy: bool,
    /// The last decision that the bot was asked, or 0, and its round.
    asked: u32,
    round: u32,
    /// The answer to it, or the resignation of a bot that crashed; `None` while the bot thinks.
    reply: Option<Part>,
    crashed: bool,
    /// To the connection on which the server asked for it.
    out: Option<UnboundedSender<Part>>,
}

/// What a bot has to do.
enum Task {
    /// Come into being.
    Start(GameStarted),
    Choose(Box<Decision>),
    /// Take how its game ended.
    End(v1::GameOver),
}

impl Seat {
    fn next_task(&self) -> Option<Task> {
        let mut state = self.state.lock().unwrap();
        let task = state.tasks.pop_front();
        state.busy = task.is_some();
        task
    }

    /// Sends the answer to a decision, unless the clock has settled it.
    fn answer(&self, answer: Answer) {
        let mut state = self.state.lock().unwrap();
        if self.open.load(Ordering::Relaxed) == answer.decision_id {
            state.reply(Part::Answer(answer));
        }
    }

    /// Gives up the game of a bot that crashed; its other games go on.
    fn resign(&self, reason: &str) {
        let mut state = self.state.lock().unwrap();
        let (place, reason) = (self.place(&state), Some(one_line(reason)));
        log::error!("{place}: the bot crashed and gives up the game: {}", reason.as_deref().unwrap_or_default());
        let resign = Resign { match_id: self.match_id, seat: Some(self.number), crashed: true, reason };
        state.crashed = true;
        state.reply(Part::Resign(resign));
    }

    /// Returns where the game is, as far as the bot knows.
    fn place(&self, state: &State) -> String {
        let known = |number: u32| Some(number).filter(|number| *number > 0);
        place(Some(self.match_id), known(state.round), known(state.asked))
    }
}

impl State {
    fn reply(&mut self, reply: Part) {
        self.out.iter().for_each(|out| drop(out.send(reply.clone())));
        self.reply = Some(reply);
    }
}

/// Calls the bots of all games, on a bounded number of threads.
pub(crate) struct Thinkers {
    factory: Box<Factory>,
    work: Mutex<Work>,
    /// Number of tasks that are not done.
    unfinished: AtomicUsize,
    /// Notified when there are none left.
    pub(crate) finished: Notify,
}

struct Work {
    /// Seats with tasks on which no thread works.
    ready: VecDeque<Arc<Seat>>,
    /// Number of threads that may be started.
    free: u32,
}

impl Thinkers {
    /// Waits until all tasks are done, or until `finished` is notified for another reason.
    pub(crate) async fn rest(&self) {
        let finished = self.finished.notified();
        if self.unfinished.load(Ordering::Acquire) > 0 {
            finished.await;
        }
    }

    /// Adds a task of a bot, to be done after its earlier ones.
    fn add(self: &Arc<Self>, seat: &Arc<Seat>, task: Task) {
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        let mut state = seat.state.lock().unwrap();
        state.tasks.push_back(task);
        if mem::replace(&mut state.busy, true) {
            return;
        }
        let mut work = self.work.lock().unwrap();
        work.ready.push_back(seat.clone());
        if work.free > 0 {
            work.free -= 1;
            let thinkers = self.clone();
            spawn_blocking(move || {
                while let Some(seat) = thinkers.next_seat() {
                    let mut bot = seat.bot.lock().unwrap();
                    while let Some(task) = seat.next_task() {
                        if let Err(reason) = thinkers.perform(&seat, task, &mut bot) {
                            seat.resign(&reason);
                            *bot = None;
                        }
                        if thinkers.unfinished.fetch_sub(1, Ordering::Release) == 1 {
                            thinkers.finished.notify_waiters();
                        }
                    }
                }
            });
        }
    }

    fn next_seat(&self) -> Option<Arc<Seat>> {
        let mut work = self.work.lock().unwrap();
        let seat = work.ready.pop_front();
        work.free += u32::from(seat.is_none());
        seat
    }

    /// Does a task, or returns why the bot crashed. All of the author's code runs here.
    fn perform(&self, seat: &Seat, task: Task, bot: &mut Option<Box<dyn Bot>>) -> Result<(), String> {
        match (task, bot.as_mut()) {
            (Task::Start(started), _) => *bot = Some(guarded(|| (self.factory)(&started))?),
            (Task::Choose(decision), Some(bot)) if decision.is_open() => {
                match guarded(|| bot.choose(&decision)).and_then(|choice| decision.answer(choice)) {
                    Ok(answer) => seat.answer(answer),
                    Err(reason) if decision.is_open() => return Err(reason),
                    Err(_) => {} // the clock has settled the decision
                }
            }
            (Task::End(over), Some(bot)) => {
                if let Err(panic) = guarded(|| end(&mut **bot, over)) {
                    log::error!("match {}: the bot crashed after its game: {panic}", seat.match_id);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Calls the author's code, and returns why if it panics.
fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("panic: {}", text.unwrap_or("no message"))
    })
}

/// Tells a bot how its game ended.
fn end(bot: &mut dyn Bot, v1::GameOver { match_id, end }: v1::GameOver) {
    match end {
        Some(End::Result(result)) => bot.game_over(&GameOver { match_id, seats: result.seats }),
        Some(End::VoidReason(reason)) => {
            // A reason that this version doesn't know is unknown, too.
            bot.game_voided(match_id, VoidReason::try_from(reason).unwrap_or(VoidReason::Unknown));
        }
        None => bot.game_voided(match_id, VoidReason::Unknown),
    }
}

/// Names a place in a game, such as `match 7, round 1, decision 3`, without what is absent.
pub(crate) fn place(match_id: Option<i64>, round: Option<u32>, decision_id: Option<u32>) -> String {
    let parts = [("match", match_id), ("round", round.map(i64::from)), ("decision", decision_id.map(i64::from))];
    let known = parts.iter().filter_map(|(name, number)| Some(format!("{name} {}", (*number)?)));
    known.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "../tests/unit/player.rs"]
mod tests;
