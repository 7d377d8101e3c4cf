use std::sync::mpsc as blocking;

use happycity::{Bot, Choice, Decision, GameOver, GameStarted, VoidReason, v1};
use tokio::sync::mpsc;

use super::peer::{PATIENCE, within};

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

/// A decision that waits for the test.
pub(super) struct Question {
    pub(super) match_id: i64,
    pub(super) decision_id: u32,
    replies: blocking::Sender<Reply>,
}

enum Reply {
    Answer(usize),
    IsOpen(blocking::Sender<bool>),
}

impl Question {
    pub(super) fn answer(self, position: usize) {
        self.replies.send(Reply::Answer(position)).expect("the bot thinks");
    }

    /// Returns whether the decision is open, as its bot sees it.
    pub(super) fn is_open(&self) -> bool {
        let (sender, receiver) = blocking::channel();
        self.replies.send(Reply::IsOpen(sender)).expect("the bot thinks");
        receiver.recv_timeout(PATIENCE).expect("the bot looks at its decision")
    }
}

/// The decisions of bots that leave the choice to the test.
pub(super) struct Questions {
    asked: mpsc::UnboundedReceiver<Question>,
}

impl Questions {
    /// Returns a factory of such bots too.
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
        let (replies, replied) = blocking::channel();
        let &v1::Decision { match_id, decision_id, .. } = &**decision;
        self.asking.send(Question { match_id, decision_id, replies })?;
        loop {
            match replied.recv()? {
                Reply::Answer(position) => return Ok(position),
                Reply::IsOpen(answer) => answer.send(decision.is_open())?,
            }
        }
    }
}

/// How a game ended, as its bot learned it.
#[derive(Debug, PartialEq)]
pub(super) enum Ended {
    /// With the places.
    Over(i64, Vec<u32>),
    Voided(i64, VoidReason),
}

/// A bot that plays first moves, and reports how its game ended.
pub(super) struct Listener {
    reporting: mpsc::UnboundedSender<Ended>,
}

pub(super) fn listeners() -> (mpsc::UnboundedReceiver<Ended>, impl Fn(&GameStarted) -> Listener + Send + Sync + 'static)
{
    let (reporting, reports) = mpsc::unbounded_channel();
    (reports, move |_: &GameStarted| Listener { reporting: reporting.clone() })
}

impl Bot for Listener {
    fn choose(&mut self, _: &Decision) -> Choice {
        Ok(0)
    }

    fn game_over(&mut self, over: &GameOver) {
        let places = over.seats.iter().map(|seat| seat.place).collect();
        self.reporting.send(Ended::Over(over.match_id, places)).unwrap();
    }

    fn game_voided(&mut self, match_id: i64, reason: VoidReason) {
        self.reporting.send(Ended::Voided(match_id, reason)).unwrap();
    }
}
