use std::collections::{HashMap, VecDeque};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex as BotMutex, Notify, OwnedMutexGuard};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::decision::{Bot, Decision, Factory};
use crate::error::one_line;
use crate::v1::match_outcome::End;
use crate::v1::{self, Answer, Ending, GameStarted, NoticeKind, PlayRequest, PlayResponse, Pong, Resign, VoidReason};

/// To the server, on one connection; what is sent once it is lost is dropped.
pub(crate) type Out = UnboundedSender<PlayRequest>;

/// Plays all games of one bot, on a bounded number of threads. The games outlive the connection: it may be lost and
/// resumed.
///
/// Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply comes from
/// memory: asking twice would advance the bot's randomness.
pub(crate) struct Player {
    factory: Box<Factory>,
    threads: usize,
    games: Mutex<Games>,
    /// Notified when no thread works any more, and when something is sent that waits for no bot.
    rested: Notify,
}

impl Player {
    pub(crate) fn new(factory: Box<Factory>, threads: usize) -> Self {
        Self { factory, threads, games: Mutex::default(), rested: Notify::new() }
    }

    /// Sends what waits for no bot.
    pub(crate) fn send(&self, out: &Out, request: PlayRequest) {
        let _ = out.send(request);
        self.rested.notify_waiters();
    }

    /// Handles a batch, and returns whether the server is about to shut down, or how it breaks the protocol. It never
    /// waits for a bot, so pings are answered while bots think.
    pub(crate) fn handle(self: &Arc<Self>, batch: PlayResponse, out: &Out) -> Result<bool, &'static str> {
        if let Some(ping) = batch.ping {
            self.send(out, PlayRequest { pong: Some(Pong { nonce: ping.nonce }), ..PlayRequest::default() });
        }
        // The end of a game tells of a forfeit, too, and has its reason.
        for notice in batch.notices.iter().filter(|notice| notice.kind() != NoticeKind::Forfeit) {
            log::warn!("{}", place(notice.match_id(), notice.round(), notice.decision_id(), &notice.text));
        }
        let mut games = self.games.lock().unwrap();
        if let Some(welcome) = batch.welcome {
            games.end(|match_id| !welcome.match_ids.contains(&match_id), None);
        }
        batch.games_started.into_iter().for_each(|started| games.start(started, out));
        batch.decisions.into_iter().try_for_each(|decision| games.decide(decision, out))?;
        batch.games_over.into_iter().for_each(|over| {
            games.end(|match_id| match_id == over.match_id, over.outcome.and_then(|outcome| outcome.end))
        });
        for _ in 0..games.tasks.len().min(self.threads - games.busy) {
            games.busy += 1;
            let player = self.clone();
            spawn_blocking(move || player.work());
        }
        Ok(batch.notices.iter().any(|notice| notice.kind() == NoticeKind::Shutdown))
    }

    /// Waits until bots have nothing to do, or until something is sent that waits for none.
    pub(crate) async fn rest(&self) {
        let rested = self.rested.notified();
        if self.games.lock().unwrap().busy > 0 {
            rested.await;
        }
    }

    /// Closes all games, and waits for a second at most until the last calls of bots return.
    pub(crate) async fn close(&self) {
        self.games.lock().unwrap().seats.values().for_each(|seat| seat.asked.settle());
        let _ = timeout(Duration::from_secs(1), self.rest()).await;
    }

    /// Does what bots have to do, until there is nothing left that no other thread does.
    fn work(&self) {
        let mut games = self.games.lock().unwrap();
        while let Some((key, mut bot, task)) = games.next_task() {
            drop(games);
            let done = self.perform(key.0, task, &mut bot);
            bot.take_if(|_| done.is_err()); // a bot that crashed is not called again
            games = self.games.lock().unwrap();
            let seat = games.seats.get_mut(&key);
            let Some(seat) = seat.filter(|seat| Arc::ptr_eq(&seat.bot, OwnedMutexGuard::mutex(&bot))) else { continue };
            match done {
                Ok(Some(answer)) if answer.decision_id == seat.asked.decision_id => {
                    seat.reply(PlayRequest { answers: vec![answer], ..PlayRequest::default() });
                }
                Ok(_) => {}
                Err(error) => {
                    log::error!("{}", seat.place(&format!("the bot crashed and gives up the game: {error}")));
                    let reason = Some(one_line(&error));
                    let resign = Resign { match_id: key.0, seat: Some(key.1), crashed: true, reason };
                    seat.reply(PlayRequest { resigns: vec![resign], ..PlayRequest::default() });
                }
            }
        }
        games.busy -= 1;
        if games.busy == 0 {
            self.rested.notify_waiters();
        }
    }

    /// Does a task, and returns the answer if it has one, or why the bot crashed. All of the author's code runs here.
    fn perform(&self, match_id: i64, task: Task, bot: &mut SeatBot) -> Result<Option<Answer>, String> {
        match (task, bot) {
            (Task::Start(started), bot) => *bot = Some(guarded(|| (self.factory)(&started))?),
            (Task::Choose(decision), Some(bot)) if decision.is_open() => {
                let answer = guarded(|| bot.choose(&decision)).and_then(|choice| decision.answer(choice));
                // Once the clock has settled a decision, an error doesn't matter.
                return answer.map(Some).or_else(|error| if decision.is_open() { Err(error) } else { Ok(None) });
            }
            (Task::End(over), bot) => {
                if let Some(Err(error)) = bot.take().map(|bot| guarded(|| end(bot, match_id, over))) {
                    log::error!("{}", place(match_id, 0, 0, &format!("the bot crashed after its game: {error}")));
                }
            }
            _ => {}
        }
        Ok(None)
    }
}

/// All games, and what the bots have to do in them.
#[derive(Default)]
struct Games {
    seats: HashMap<Key, Seat>,
    tasks: VecDeque<(Key, Arc<BotMutex<SeatBot>>, Task)>,
    /// Number of threads that work.
    busy: usize,
}

/// A match, and the bot's seat in it.
type Key = (i64, u32);
/// The bot of a seat, which the thread that calls it locks; `None` before its start and after a crash.
type SeatBot = Option<Box<dyn Bot>>;

/// What a bot has to do.
enum Task {
    /// Come into being.
    Start(GameStarted),
    Choose(Arc<Decision>),
    /// Take how its game ended.
    End(Option<End>),
}

impl Games {
    /// Begins a game in one seat, unless the bot plays it already.
    fn start(&mut self, started: GameStarted, out: &Out) {
        let (match_id, key) = (started.match_id, (started.match_id, started.seat));
        self.seats.entry(key).or_insert_with(|| {
            let bot = Arc::<BotMutex<SeatBot>>::default();
            self.tasks.push_back((key, bot.clone(), Task::Start(started)));
            let asked = Arc::new(v1::Decision { match_id, ..v1::Decision::default() }.into());
            Seat { bot, asked, reply: None, out: out.clone() }
        });
    }

    /// Has a decision answered: by the bot, or from memory if the server sends it again.
    fn decide(&mut self, decision: v1::Decision, out: &Out) -> Result<(), &'static str> {
        let (Some(view), false) = (&decision.view, decision.moves.is_empty()) else {
            return Err("a decision has no view or no moves");
        };
        let key = (decision.match_id, view.seat);
        let Some(seat) = self.seats.get_mut(&key) else {
            log::warn!("{}", place(decision.match_id, 0, 0, "a decision of an unknown game"));
            return Ok(());
        };
        let is_asked_here = mem::replace(&mut seat.out, out.clone()).same_channel(out);
        let has_crashed = seat.reply.as_ref().is_some_and(|reply| !reply.resigns.is_empty());
        if decision.decision_id > seat.asked.decision_id && !has_crashed {
            seat.asked.settle();
            (seat.asked, seat.reply) = (Arc::new(decision.into()), None);
            self.tasks.push_back((key, seat.bot.clone(), Task::Choose(seat.asked.clone())));
        } else if let Some(reply) = &seat.reply
            && !(has_crashed && is_asked_here)
        {
            let _ = out.send(reply.clone());
        }
        Ok(())
    }

    /// Ends matches, in every seat that the bot has there.
    fn end(&mut self, is_over: impl Fn(i64) -> bool, end: Option<End>) {
        for (key, seat) in self.seats.extract_if(|(match_id, _), _| is_over(*match_id)) {
            if let Some(End::Result(result)) = &end
                && let Some(own) = result.seats.get(key.1 as usize)
                && own.ending > Ending::Finished as i32
            {
                let ending = format!("{:?}", own.ending()).to_lowercase();
                let reason = own.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
                log::warn!("{}", seat.place(&format!("the seat was forfeited: {ending}{reason}")));
            }
            seat.asked.settle();
            self.tasks.push_back((key, seat.bot, Task::End(end.clone())));
        }
    }

    /// Takes the first task of a bot that no thread calls.
    fn next_task(&mut self) -> Option<(Key, OwnedMutexGuard<SeatBot>, Task)> {
        let idle = |(_, bot, _): &(Key, Arc<BotMutex<SeatBot>>, Task)| bot.clone().try_lock_owned().ok();
        let (position, bot) = self.tasks.iter().enumerate().find_map(|(n, task)| Some((n, idle(task)?)))?;
        let (key, _, task) = self.tasks.remove(position)?;
        Some((key, bot, task))
    }
}

/// What is known of a game in one seat.
struct Seat {
    bot: Arc<BotMutex<SeatBot>>,
    /// The last decision that the bot was asked; at first one that is never asked, with the number 0.
    asked: Arc<Decision>,
    /// The answer to it, or the resignation of a bot that crashed; `None` while the bot thinks.
    reply: Option<PlayRequest>,
    /// To the connection on which the server asked for it.
    out: Out,
}

impl Seat {
    fn reply(&mut self, reply: PlayRequest) {
        let _ = self.out.send(reply.clone());
        self.reply = Some(reply);
    }

    /// Puts before a text where the game is, as far as the bot knows.
    fn place(&self, text: &str) -> String {
        place(self.asked.match_id, self.asked.view.round, self.asked.decision_id, text)
    }
}

/// Calls the author's code, and returns why if it panics.
fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref().map(String::as_str));
        format!("panic: {}", text.unwrap_or("no message"))
    })
}

/// Tells a bot how its game ended. A reason that this version doesn't know is unknown, too.
fn end(mut bot: Box<dyn Bot>, match_id: i64, end: Option<End>) {
    let reason = match end {
        Some(End::Result(result)) => return bot.game_over(match_id, &result),
        Some(End::VoidReason(reason)) => VoidReason::try_from(reason).ok(),
        None => None,
    };
    bot.game_voided(match_id, reason.unwrap_or(VoidReason::Unknown));
}

/// Puts before a text where in a game something happened, in one line and without what is 0.
fn place(match_id: i64, round: u32, decision_id: u32, text: &str) -> String {
    let numbers = [("match", match_id), ("round", round.into()), ("decision", decision_id.into())];
    let known = numbers.iter().filter(|(_, number)| *number > 0).map(|(name, number)| format!("{name} {number}"));
    let place = known.collect::<Vec<_>>().join(", ");
    one_line(&if place.is_empty() { text.into() } else { format!("{place}: {text}") })
}
