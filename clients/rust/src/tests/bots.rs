use std::sync::mpsc as blocking;

use tokio::sync::mpsc;

use super::peer::{PATIENCE, within};
use crate::{Bot, Choice, Decision, GameResult, GameStarted, VoidReason};

pub(super) fn first(_: &Decision) -> Choice {
    Ok(0)
}

/// Answers with how often it was asked before, 0 to 2.
pub(super) fn counting(_: &GameStarted) -> impl Bot + use<> {
    let mut asked = 0;
    move |_: &Decision| {
        asked += 1;
        Ok((asked - 1) % 3)
    }
}

/// Answers with how often it was asked before, 0 to 2, and notes that of every other decision.
pub(super) fn noting(start: &GameStarted) -> impl Bot + use<> {
    let mut bot = counting(start);
    move |decision: &Decision| {
        let asked = bot.choose(decision)?;
        if asked % 2 == 0 {
            decision.note("depth", 7);
            decision.note(format!("nodes of {}", decision.decision_id), 0.5);
            decision.note("depth", asked as u32);
        }
        Ok(asked)
    }
}

/// A decision that a thinker was asked.
pub(super) struct Question {
    pub(super) game_id: u64,
    pub(super) decision_id: u32,
    told: blocking::Sender<Told>,
}

enum Told {
    Answer(usize),
    IsOpen(blocking::Sender<bool>),
}

impl Question {
    pub(super) fn answer(self, position: usize) {
        self.told.send(Told::Answer(position)).expect("the bot thinks");
    }

    /// Asks the bot what it knows of its decision.
    pub(super) fn is_open(&self) -> bool {
        let (telling, told) = blocking::channel();
        self.told.send(Told::IsOpen(telling)).expect("the bot thinks");
        told.recv_timeout(PATIENCE).expect("the bot looks at its decision")
    }
}

/// The decisions that thinkers were asked: bots whose answers are given by the test.
pub(super) struct Questions {
    asked: mpsc::UnboundedReceiver<Question>,
}

impl Questions {
    /// Returns a factory of thinkers too.
    pub(super) fn new() -> (Self, impl Fn(&GameStarted) -> Thinker + Send + Sync + 'static) {
        let (asking, asked) = mpsc::unbounded_channel();
        (Self { asked }, move |_: &GameStarted| Thinker { asking: asking.clone() })
    }

    pub(super) async fn next(&mut self) -> Question {
        within("question", self.asked.recv()).await.unwrap()
    }

    pub(super) fn none(&self) -> bool {
        self.asked.is_empty()
    }
}

pub(super) struct Thinker {
    asking: mpsc::UnboundedSender<Question>,
}

impl Bot for Thinker {
    fn choose(&mut self, decision: &Decision) -> Choice {
        let (told, telling) = blocking::channel();
        self.asking.send(Question { game_id: decision.game_id, decision_id: decision.decision_id, told })?;
        loop {
            match telling.recv()? {
                Told::Answer(position) => return Ok(position),
                Told::IsOpen(answer) => answer.send(decision.is_open())?,
            }
        }
    }
}

/// How games ended, as their bots heard it.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    Over(u64, Vec<u32>),
    Voided(u64, VoidReason),
}

/// A bot that plays first moves, and tells how its game ended.
pub(super) struct Listener {
    game_id: u64,
    telling: mpsc::UnboundedSender<Heard>,
}

pub(super) fn listeners() -> (mpsc::UnboundedReceiver<Heard>, impl Fn(&GameStarted) -> Listener + Send + Sync + 'static)
{
    let (telling, told) = mpsc::unbounded_channel();
    (told, move |start: &GameStarted| Listener { game_id: start.game_id, telling: telling.clone() })
}

impl Bot for Listener {
    fn choose(&mut self, _: &Decision) -> Choice {
        Ok(0)
    }

    fn game_over(&mut self, result: &GameResult) {
        self.telling.send(Heard::Over(self.game_id, result.places.clone())).unwrap();
    }

    fn game_voided(&mut self, reason: VoidReason) {
        self.telling.send(Heard::Voided(self.game_id, reason)).unwrap();
    }
}
