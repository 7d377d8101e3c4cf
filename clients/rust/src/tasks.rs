use std::collections::{HashMap, VecDeque};

use crate::bot::{Bot, Factory};
use crate::crash::guarded;
use crate::text::one_line;
use crate::v1::game_over::End;
use crate::v1::{self, Answer, GameStarted};
use crate::{Choice, Decision, GameOver, VoidReason};

/// A match and a seat of it, in which a bot plays.
pub(crate) type SeatId = (i64, u32);

/// What a bot has to do.
pub(crate) enum Task {
    /// Come into being.
    Start(GameStarted),
    Choose(Box<Decision>),
    /// Take note of how its game ended, unless it has given up, and be dropped. The last task of every bot.
    End(Option<v1::GameOver>),
}

/// The tasks of all bots: those of one in their order, those of several side by side.
///
/// A game that starts over has another bot, so bots have numbers of their own.
#[derive(Default)]
pub(crate) struct Tasks {
    queues: HashMap<BotId, Queue>,
    /// Bots with a task on which nobody works.
    ready: VecDeque<BotId>,
    last: BotId,
}

pub(crate) type BotId = u64;

struct Queue {
    seat: SeatId,
    bot: Option<Box<dyn Bot>>,
    tasks: VecDeque<Task>,
    busy: bool,
}

impl Tasks {
    /// Adds a bot for a game, and its first task.
    pub(crate) fn start(&mut self, started: GameStarted) -> BotId {
        self.last += 1;
        let seat = (started.match_id, started.seat);
        self.queues.insert(self.last, Queue { seat, bot: None, tasks: VecDeque::new(), busy: false });
        self.add(self.last, Task::Start(started));
        self.last
    }

    pub(crate) fn add(&mut self, id: BotId, task: Task) {
        let queue = self.queues.get_mut(&id).expect("a queue stays until its last task is done");
        queue.tasks.push_back(task);
        if !queue.busy {
            queue.busy = true;
            self.ready.push_back(id);
        }
    }

    /// Returns how many bots wait for somebody to work on their tasks.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len()
    }

    /// Returns the task that has waited longest, with its bot.
    pub(crate) fn take(&mut self) -> Option<Job> {
        let id = self.ready.pop_front()?;
        let queue = self.queues.get_mut(&id).expect("a busy queue stays");
        let task = queue.tasks.pop_front().expect("a queue is ready when it has tasks");
        Some(Job { id, seat: queue.seat, bot: queue.bot.take(), task })
    }

    /// Takes back the bot of a task that is done; none after the last one.
    pub(crate) fn put_back(&mut self, id: BotId, bot: Option<Box<dyn Bot>>) {
        let queue = self.queues.get_mut(&id).expect("a busy queue stays");
        if !queue.tasks.is_empty() {
            queue.bot = bot;
            self.ready.push_back(id); // behind those of other bots
        } else if bot.is_some() {
            queue.bot = bot;
            queue.busy = false;
        } else {
            self.queues.remove(&id);
        }
    }
}

/// One task, and the bot that has to do it.
pub(crate) struct Job {
    id: BotId,
    seat: SeatId,
    bot: Option<Box<dyn Bot>>,
    task: Task,
}

/// What came of a job.
pub(crate) struct Done {
    pub(crate) id: BotId,
    pub(crate) seat: SeatId,
    pub(crate) bot: Option<Box<dyn Bot>>,
    pub(crate) outcome: Outcome,
}

pub(crate) enum Outcome {
    Nothing,
    /// The bot could not be made, for this reason.
    NoBot(String),
    /// The bot crashed when its game had ended.
    CrashedAfterwards(String),
    /// The bot chose, or crashed for a reason.
    Chosen {
        decision_id: u32,
        /// Whether the decision is still open.
        open: bool,
        choice: Result<Answer, String>,
    },
}

impl Job {
    /// Does the task. All of the author's code runs here.
    pub(crate) fn perform(self, factory: &Factory) -> Done {
        let Job { id, seat, mut bot, task } = self;
        let outcome = match (task, &mut bot) {
            (Task::Start(started), _) => match guarded(|| factory(&started)) {
                Ok(made) => {
                    bot = Some(made);
                    Outcome::Nothing
                }
                Err(reason) => Outcome::NoBot(reason),
            },
            (Task::Choose(decision), Some(bot)) => chosen(&mut **bot, &decision),
            (Task::End(over), Some(_)) => match guarded(|| bot.take().map(|bot| end(bot, over))) {
                Ok(_) => Outcome::Nothing,
                Err(reason) => Outcome::CrashedAfterwards(reason),
            },
            (_, None) => Outcome::Nothing,
        };
        Done { id, seat, bot, outcome }
    }
}

/// Has a bot choose, and checks that there is such a move. What is late already is not thought about.
fn chosen(bot: &mut dyn Bot, decision: &Decision) -> Outcome {
    let choice = if decision.is_open() {
        guarded(|| checked(bot.choose(decision), decision)).unwrap_or_else(Err)
    } else {
        Err("it is too late".into())
    };
    Outcome::Chosen { decision_id: decision.decision_id, open: decision.is_open(), choice }
}

fn checked(choice: Choice, decision: &Decision) -> Result<Answer, String> {
    let moves = decision.moves.len();
    match choice {
        Ok(position) if position < moves => Ok(Answer {
            match_id: decision.match_id,
            decision_id: decision.decision_id,
            r#move: position as u32,
            metrics: decision.notes(),
        }),
        Ok(position) => Err(format!("the bot chose move {position}, and there are {moves}")),
        Err(error) => Err(one_line(&error.to_string())),
    }
}

fn end(mut bot: Box<dyn Bot>, over: Option<v1::GameOver>) {
    let Some(v1::GameOver { match_id, end }) = over else { return };
    match end {
        Some(End::Result(result)) => bot.game_over(&GameOver { match_id, seats: result.seats }),
        Some(End::VoidReason(number)) => bot.game_voided(match_id, void_reason(number)),
        None => bot.game_voided(match_id, VoidReason::Unknown),
    }
}

/// Returns the reason with a number of the contract; a newer server's reason is `Unknown`.
fn void_reason(number: i32) -> VoidReason {
    match VoidReason::try_from(number) {
        Ok(VoidReason::Unspecified) | Err(_) => VoidReason::Unknown,
        Ok(reason) => reason,
    }
}
