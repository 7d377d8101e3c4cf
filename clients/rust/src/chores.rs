use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::bot::{Bot, Factory};
use crate::v1::{Answer, GameOver, GameStarted};
use crate::{Choice, Decision};

/// What a bot is to do.
pub(crate) enum Chore {
    /// Come into being.
    Begin(GameStarted),
    Choose(Decision),
    /// Hear how its game ended, if it is told, and be gone. The last chore of every bot.
    End(Option<GameOver>),
}

/// The chores of all bots: those of one in their order, those of several side by side.
///
/// A bot's place is called its table; a game that begins anew has another one.
#[derive(Default)]
pub(crate) struct Chores {
    tables: HashMap<TableId, Table>,
    /// Tables with something to do that nobody does.
    ready: VecDeque<TableId>,
    last: TableId,
}

pub(crate) type TableId = u64;

#[derive(Default)]
struct Table {
    bot: Option<Box<dyn Bot>>,
    chores: VecDeque<Chore>,
    busy: bool,
}

impl Chores {
    /// Begins a game at a table of its own.
    pub(crate) fn begin(&mut self, start: GameStarted) -> TableId {
        self.last += 1;
        self.tables.insert(self.last, Table::default());
        self.add(self.last, Chore::Begin(start));
        self.last
    }

    pub(crate) fn add(&mut self, id: TableId, chore: Chore) {
        let table = self.tables.get_mut(&id).expect("a table stays until its last chore is done");
        table.chores.push_back(chore);
        if !table.busy {
            table.busy = true;
            self.ready.push_back(id);
        }
    }

    /// How many bots wait for somebody to do their chores.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len()
    }

    /// Returns the chore that has waited longest, with its bot.
    pub(crate) fn take(&mut self) -> Option<Task> {
        let id = self.ready.pop_front()?;
        let table = self.tables.get_mut(&id).expect("a busy table stays");
        let chore = table.chores.pop_front().expect("a table is ready when it has chores");
        Some(Task { table: id, bot: table.bot.take(), chore })
    }

    /// Takes back the bot of a chore that is done; none after the last one.
    pub(crate) fn put_back(&mut self, id: TableId, bot: Option<Box<dyn Bot>>) {
        let table = self.tables.get_mut(&id).expect("a busy table stays");
        if !table.chores.is_empty() {
            table.bot = bot;
            self.ready.push_back(id); // behind those of other games
        } else if bot.is_some() {
            table.bot = bot;
            table.busy = false;
        } else {
            self.tables.remove(&id);
        }
    }
}

/// One chore, and the bot that is to do it.
pub(crate) struct Task {
    table: TableId,
    bot: Option<Box<dyn Bot>>,
    chore: Chore,
}

/// What came of a task.
pub(crate) struct Done {
    pub(crate) table: TableId,
    pub(crate) bot: Option<Box<dyn Bot>>,
    pub(crate) outcome: Outcome,
}

pub(crate) enum Outcome {
    Nothing,
    /// The bot of this game could not be made.
    NoBot {
        game_id: u64,
        why: String,
    },
    Chosen {
        game_id: u64,
        decision_id: u32,
        open: bool,
        choice: Result<Answer, String>,
    },
}

impl Task {
    /// Does the chore. Everything of the author's code happens here.
    pub(crate) fn perform(self, factory: &Factory) -> Done {
        let Task { table, mut bot, chore } = self;
        let outcome = match (chore, &mut bot) {
            (Chore::Begin(start), _) => match guarded(|| factory(&start)) {
                Ok(made) => {
                    bot = Some(made);
                    Outcome::Nothing
                }
                Err(why) => Outcome::NoBot { game_id: start.game_id, why },
            },
            (Chore::Choose(decision), Some(bot)) => chosen(&mut **bot, &decision),
            (Chore::End(over), Some(_)) => {
                if let Err(why) = guarded(|| bot.take().map(|bot| end(bot, over))) {
                    log::error!("the bot failed at the end of a game: {why}");
                }
                Outcome::Nothing
            }
            (_, None) => Outcome::Nothing,
        };
        Done { table, bot, outcome }
    }
}

/// Asks a bot, and holds its answer to the moves there are. What is late already is not thought about.
fn chosen(bot: &mut dyn Bot, decision: &Decision) -> Outcome {
    let choice = if decision.is_open() {
        guarded(|| bot.choose(decision)).and_then(|choice| checked(choice, decision))
    } else {
        Err("it is too late".into())
    };
    Outcome::Chosen { game_id: decision.game_id, decision_id: decision.decision_id, open: decision.is_open(), choice }
}

fn checked(choice: Choice, decision: &Decision) -> Result<Answer, String> {
    let moves = decision.moves.len();
    match choice {
        Ok(position) if position < moves => Ok(Answer {
            game_id: decision.game_id,
            decision_id: decision.decision_id,
            r#move: position as u32,
            metrics: decision.notes(),
        }),
        Ok(position) => Err(format!("the bot chose move {position}, but they are 0 to {}", moves.saturating_sub(1))),
        Err(error) => Err(error.to_string()),
    }
}

fn end(mut bot: Box<dyn Bot>, over: Option<GameOver>) {
    let Some(over) = over else { return };
    match &over.result {
        Some(result) => bot.game_over(result),
        None => bot.game_voided(over.void_reason()),
    }
}

/// Calls the author's code, and turns a panic into an error. Where it happened, the panic itself has told.
fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|cause| format!("the bot panicked: {}", told(&*cause)))
}

fn told(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("it didn't say why")
}
