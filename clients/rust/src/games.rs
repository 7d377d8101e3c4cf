use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::mem;

use crate::VoidReason;
use crate::chores::{Chore, Chores, Done, Outcome, TableId, Task};
use crate::decision::{Decision, Open};
use crate::outbox::Outbox;
use crate::v1::{self, Answer, GameOver, GameStarted, PlayResponse};

/// How many characters of a resignation's reason the server keeps.
const REASON_LENGTH: usize = 200;

/// All games of one bot. They outlive the connection: it may be lost and taken up again.
///
/// Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer comes from
/// memory: asking twice would advance the bot's randomness.
///
/// Nothing here waits or calls a bot: batches of the server come in, chores for the bots go out, what they choose
/// comes in, and answers go to the outbox.
#[derive(Default)]
pub(crate) struct Games {
    running: BTreeMap<u64, Game>,
    /// Games that were resigned, and why, until their end is heard.
    given_up: BTreeMap<u64, String>,
    chores: Chores,
    /// Of the present connection; `None` while there is none.
    out: Option<Outbox>,
    /// How many answers that connection's server waits for.
    awaited: usize,
    closed: bool,
}

/// A game, and what is known of the decision that its bot was asked last.
struct Game {
    table: TableId,
    /// The decision that the bot was asked last, or 0.
    asked: u32,
    thought: Thought,
    /// Whether the present connection's server waits for the answer.
    wanted: bool,
    open: Open,
}

/// How far a bot is with the decision that it was asked last.
enum Thought {
    /// It was asked nothing, or has no answer though its time is up.
    None,
    Running,
    Answered(Answer),
}

impl Games {
    /// Returns the games that run as far as the bot knows.
    pub(crate) fn known(&self) -> Vec<u64> {
        self.running.keys().chain(self.given_up.keys()).copied().collect()
    }

    /// Notes that a server took the bot in; the games go on only if it says so.
    pub(crate) fn attach(&mut self, out: Outbox, resumed: bool) {
        if resumed {
            for (id, reason) in &self.given_up {
                out.resign(*id, reason);
            }
        } else {
            self.given_up.clear();
            while let Some((id, game)) = self.running.pop_first() {
                self.part(game, unknown(id));
            }
        }
        self.out = Some(out);
    }

    /// Notes that the connection is lost: what was not sent is sent only if it is asked for again.
    pub(crate) fn detach(&mut self) {
        self.out = None;
        self.awaited = 0;
        for game in self.running.values_mut() {
            game.wanted = false;
        }
    }

    /// Ends all thinking, and says goodbye; false if there is nobody to say it to.
    pub(crate) fn leave(&mut self) -> bool {
        self.close();
        self.out.as_ref().map(Outbox::goodbye).is_some()
    }

    /// Ends all thinking; nothing is asked of any bot after it.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        for game in self.running.values() {
            game.open.close();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Deals with a batch, in the order that the protocol demands.
    ///
    /// No bot's choice comes in between, so that the bots can't be done with half of it and have that sent on its own.
    pub(crate) fn handle(&mut self, batch: PlayResponse) {
        if self.closed {
            return;
        }
        for start in batch.games_started {
            self.start(start);
        }
        for decision in batch.decisions {
            self.decide(decision);
        }
        for over in batch.games_over {
            self.end(over);
        }
        self.flush_if_done();
    }

    /// How many bots wait for somebody to do their chores.
    pub(crate) fn waiting(&self) -> usize {
        self.chores.waiting()
    }

    /// Returns a bot's next chore, if there is one.
    pub(crate) fn task(&mut self) -> Option<Task> {
        self.chores.take()
    }

    /// Notes what came of a chore.
    pub(crate) fn done(&mut self, done: Done) {
        let Done { table, bot, outcome } = done;
        match outcome {
            Outcome::Nothing => {}
            Outcome::NoBot { game_id, why } => {
                if self.running.get(&game_id).is_some_and(|game| game.table == table) {
                    self.give_up(game_id, &why);
                }
            }
            Outcome::Chosen { game_id, decision_id, open, choice } => {
                let awaits = |game: &Game| {
                    game.table == table && game.asked == decision_id && matches!(game.thought, Thought::Running)
                };
                if !self.closed && self.running.get(&game_id).is_some_and(awaits) {
                    match choice {
                        Ok(answer) => self.settle(answer),
                        Err(_) if !open => self.run_out(game_id),
                        Err(why) => self.give_up(game_id, &why),
                    }
                }
            }
        }
        self.chores.put_back(table, bot);
    }

    /// Begins a game, anew if it runs already.
    fn start(&mut self, start: GameStarted) {
        let id = start.game_id;
        if let Some(older) = self.running.remove(&id) {
            self.part(older, unknown(id));
        }
        self.given_up.remove(&id);
        let table = self.chores.begin(start);
        let game = Game { table, asked: 0, thought: Thought::None, wanted: false, open: Open::default() };
        self.running.insert(id, game);
    }

    /// Has a decision answered: by the bot, or from memory if the server sends it again.
    fn decide(&mut self, decision: v1::Decision) {
        let Some(game) = self.running.get_mut(&decision.game_id) else {
            if !self.given_up.contains_key(&decision.game_id) {
                log::warn!("a decision, but there is no game {}", decision.game_id);
            }
            return;
        };
        match (decision.decision_id.cmp(&game.asked), &game.thought) {
            (Ordering::Less, _) => {} // settled long ago
            (Ordering::Equal, Thought::Answered(answer)) => {
                if let Some(out) = &self.out {
                    out.answer(answer.clone());
                }
            }
            (Ordering::Equal, Thought::Running) => game.want(&mut self.awaited),
            // Whatever the bot still thinks about has been settled by the clock.
            _ => {
                game.asked = decision.decision_id;
                game.thought = Thought::Running;
                game.want(&mut self.awaited);
                game.open.set(game.asked);
                self.chores.add(game.table, Chore::Choose(Decision::new(decision, game.open.clone())));
            }
        }
    }

    /// Notes that a game is over, and tells its bot.
    fn end(&mut self, over: GameOver) {
        if let Some(out) = &self.out {
            out.forget(over.game_id);
        }
        self.given_up.remove(&over.game_id);
        if let Some(game) = self.running.remove(&over.game_id) {
            self.part(game, over);
        }
    }

    /// Tells the bot of a game that runs no more how it ended.
    fn part(&mut self, mut game: Game, over: GameOver) {
        game.drop_thought(&mut self.awaited);
        self.chores.add(game.table, Chore::End(Some(over)));
    }

    /// Notes a bot's answer, and sends it if it is waited for.
    fn settle(&mut self, answer: Answer) {
        let Some(game) = self.running.get_mut(&answer.game_id) else { return };
        if game.unwant(&mut self.awaited)
            && let Some(out) = &self.out
        {
            out.answer(answer.clone());
        }
        game.thought = Thought::Answered(answer);
        self.flush_if_done();
    }

    /// Notes that a bot has no answer in time: the clock decides, and the game goes on.
    fn run_out(&mut self, game_id: u64) {
        let Some(game) = self.running.get_mut(&game_id) else { return };
        log::warn!("no answer in time to decision {} of game {game_id}", game.asked);
        game.drop_thought(&mut self.awaited);
        self.flush_if_done();
    }

    /// Resigns a game in which the bot failed; its other games go on.
    fn give_up(&mut self, game_id: u64, why: &str) {
        let Some(mut game) = self.running.remove(&game_id) else { return };
        log::error!("game {game_id} is resigned: the bot failed: {why}");
        game.drop_thought(&mut self.awaited);
        self.chores.add(game.table, Chore::End(None));
        let reason: String = why.chars().take(REASON_LENGTH).collect();
        if let Some(out) = &self.out {
            out.resign(game_id, &reason);
        }
        self.given_up.insert(game_id, reason);
    }

    /// Sends the answers that have gathered, if no other is on its way.
    fn flush_if_done(&self) {
        if self.awaited == 0
            && let Some(out) = &self.out
        {
            out.flush();
        }
    }
}

impl Game {
    /// Notes that the server waits for the bot's answer.
    fn want(&mut self, awaited: &mut usize) {
        if !self.wanted {
            self.wanted = true;
            *awaited += 1;
        }
    }

    /// Notes that the server doesn't wait any more; false if it didn't.
    fn unwant(&mut self, awaited: &mut usize) -> bool {
        if self.wanted {
            *awaited -= 1;
        }
        mem::take(&mut self.wanted)
    }

    /// Makes void what the bot thinks about.
    fn drop_thought(&mut self, awaited: &mut usize) {
        self.open.close();
        if let Thought::Running = self.thought {
            self.thought = Thought::None;
        }
        self.unwant(awaited);
    }
}

/// The end of a game that the server doesn't know any more, or begins anew.
fn unknown(game_id: u64) -> GameOver {
    GameOver { game_id, result: None, void_reason: VoidReason::Unknown.into() }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;

    use futures_core::Stream;
    use tokio::time::Instant;

    use super::*;
    use crate::bot::any_bot;
    use crate::outbox::Requests;
    use crate::v1::{Hello, Move, PlayRequest};

    /// Returns games of a connection whose server asked a decision of each of two games, and its requests.
    async fn asked() -> (Games, Requests) {
        let out = Outbox::new(Hello { name: "me".into(), ..Hello::default() });
        let mut requests = Requests::of(out.clone());
        next(&mut requests).await;
        let mut games = Games::default();
        games.attach(out, false);
        let moves = vec![Move::default(); 2];
        let start = |game_id| GameStarted { game_id, ..GameStarted::default() };
        let decision = |game_id| v1::Decision { game_id, decision_id: 1, moves: moves.clone(), ..Default::default() };
        games.handle(PlayResponse {
            games_started: [1, 2].map(start).into(),
            decisions: [1, 2].map(decision).into(),
            ..PlayResponse::default()
        });
        (games, requests)
    }

    /// Does so many chores at most; a game's first one makes its bot.
    fn work(games: &mut Games, most: usize) {
        let factory = any_bot(|_| |_: &Decision| Ok(1));
        for _ in 0..most {
            let Some(task) = games.task() else { return };
            games.done(task.perform(&*factory));
        }
    }

    async fn next(requests: &mut Requests) -> PlayRequest {
        poll_fn(|context| Pin::new(&mut *requests).poll_next(context)).await.unwrap()
    }

    fn answer(game_id: u64) -> Answer {
        Answer { game_id, decision_id: 1, r#move: 1, ..Answer::default() }
    }

    /// When the last decision of a batch is answered, all answers are due at once: none waits for the clock.
    #[tokio::test(start_paused = true)]
    async fn all_answered() {
        let (mut games, mut requests) = asked().await;
        work(&mut games, usize::MAX);
        let begun = Instant::now();
        assert_eq!(next(&mut requests).await.answers, [answer(1), answer(2)]);
        assert!(begun.elapsed().is_zero(), "they were held for {:?}", begun.elapsed());
    }

    /// After the end of a game nothing is sent for it, not even what is held already.
    #[tokio::test(start_paused = true)]
    async fn over_before_it_was_sent() {
        let (mut games, mut requests) = asked().await;
        work(&mut games, 3);
        games.handle(PlayResponse { games_over: vec![unknown(1)], ..PlayResponse::default() });
        work(&mut games, usize::MAX);
        assert_eq!(next(&mut requests).await, PlayRequest { answers: vec![answer(2)], ..PlayRequest::default() });
    }
}
