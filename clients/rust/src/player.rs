use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::mem;

use crate::VoidReason;
use crate::crash_log::CrashLog;
use crate::decision::{Decision, Open};
use crate::outbox::Outbox;
use crate::tasks::{BotId, Done, Job, Outcome, SeatId, Task, Tasks};
use crate::text::{one_line, place};
use crate::v1::game_over::End;
use crate::v1::{self, Answer, Ending, GameOver, GameStarted, MatchResult, PlayResponse, Resign};

/// Plays all games of one bot. They outlive the connection: it may be lost and resumed.
///
/// Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer comes from
/// memory: asking twice would advance the bot's randomness.
///
/// Nothing here waits or calls a bot: the server's batches come in, jobs for the bots go out, what they choose comes
/// in, and answers go to the outbox.
#[derive(Default)]
pub(crate) struct Player {
    seats: BTreeMap<SeatId, Seat>,
    /// Seats whose bot crashed, and why, until their game's end arrives.
    resigned: BTreeMap<SeatId, String>,
    tasks: Tasks,
    crashes: CrashLog,
    /// Of the present connection; `None` while there is none.
    out: Option<Outbox>,
    /// How many answers that connection's server waits for.
    due: usize,
    closed: bool,
}

/// A bot in one seat of a match, and the state of the last decision that it was asked.
struct Seat {
    bot: BotId,
    /// The last decision that the bot was asked, or 0.
    asked: u32,
    /// The round of the game at that decision.
    round: u32,
    answer: Progress,
    /// Whether the present connection's server waits for that answer.
    answer_due: bool,
    open: Open,
}

/// How far a bot is with the last decision that it was asked.
enum Progress {
    /// It was asked nothing, or has no answer though its time is up.
    None,
    Thinking,
    Answered(Answer),
}

impl Player {
    /// Returns the matches that run as far as the bot knows.
    pub(crate) fn match_ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = self.seats.keys().chain(self.resigned.keys()).map(|(match_id, _)| *match_id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Notes that a server took the bot in; the games go on only if it says so.
    pub(crate) fn welcome(&mut self, out: Outbox, resumed: bool) {
        if resumed {
            for (seat, reason) in &self.resigned {
                out.resign(resignation(*seat, reason));
            }
        } else {
            self.resigned.clear();
            while let Some((id, seat)) = self.seats.pop_first() {
                self.leave(seat, Some(unknown(id.0)));
            }
        }
        self.out = Some(out);
    }

    /// Notes that the connection is lost: what was not sent is sent only if it is asked for again.
    pub(crate) fn disconnect(&mut self) {
        self.out = None;
        self.due = 0;
        for seat in self.seats.values_mut() {
            seat.answer_due = false;
        }
    }

    /// Closes the games, and says goodbye; false if there is nobody to say it to.
    pub(crate) fn say_goodbye(&mut self) -> bool {
        self.close();
        self.out.as_ref().map(Outbox::goodbye).is_some()
    }

    /// Ends all thinking, and logs how often the bot crashed; no bot gets a decision after that.
    pub(crate) fn close(&mut self) {
        self.crashes.close();
        self.closed = true;
        for seat in self.seats.values() {
            seat.open.close();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Handles a batch, in the order that the contract demands.
    ///
    /// No bot's choice comes in between, so that the answers to half of a batch are not sent on their own.
    pub(crate) fn handle(&mut self, batch: PlayResponse) {
        if self.closed {
            return;
        }
        for started in batch.games_started {
            self.start(started);
        }
        for decision in batch.decisions {
            self.decide(decision);
        }
        for over in batch.games_over {
            self.end(&over);
        }
        self.flush_if_complete();
    }

    /// Returns how many bots wait for somebody to work on their tasks.
    pub(crate) fn waiting(&self) -> usize {
        self.tasks.waiting()
    }

    /// Returns a bot's next job, if there is one.
    pub(crate) fn job(&mut self) -> Option<Job> {
        self.tasks.take()
    }

    /// Notes what came of a job.
    pub(crate) fn done(&mut self, done: Done) {
        let Done { id, seat, bot, outcome } = done;
        let state = self.seats.get(&seat).filter(|state| state.bot == id);
        match outcome {
            Outcome::CrashedAfterwards(reason) => {
                self.crashes.add("the bot crashed after its game", seat.0, &place(seat.0, 0, 0), &reason);
            }
            Outcome::NoBot(reason) if state.is_some() => self.crash(seat, reason),
            Outcome::Chosen { decision_id, open, choice } => {
                let thinks = |state: &Seat| state.asked == decision_id && matches!(state.answer, Progress::Thinking);
                if !self.closed && state.is_some_and(thinks) {
                    match choice {
                        Ok(answer) => self.settle(seat, answer),
                        Err(_) if !open => self.run_out(seat),
                        Err(reason) => self.crash(seat, reason),
                    }
                }
            }
            _ => {}
        }
        self.tasks.put_back(id, bot);
    }

    /// Begins a game in one seat, or starts it over if it runs already.
    fn start(&mut self, started: GameStarted) {
        let id = (started.match_id, started.seat);
        if let Some(older) = self.seats.remove(&id) {
            self.leave(older, Some(unknown(id.0)));
        }
        self.resigned.remove(&id);
        let bot = self.tasks.start(started);
        let seat = Seat { bot, asked: 0, round: 0, answer: Progress::None, answer_due: false, open: Open::default() };
        self.seats.insert(id, seat);
    }

    /// Has a decision answered: by the bot, or from memory if the server sends it again.
    fn decide(&mut self, decision: v1::Decision) {
        let id = (decision.match_id, decision.view.as_ref().map_or(0, |view| view.seat));
        let Some(seat) = self.seats.get_mut(&id) else {
            if !self.resigned.contains_key(&id) {
                log::warn!("match {}: a decision of an unknown game", id.0);
            }
            return;
        };
        match (decision.decision_id.cmp(&seat.asked), &seat.answer) {
            (Ordering::Less, _) => {} // settled long ago
            (Ordering::Equal, Progress::Answered(answer)) => {
                if let Some(out) = &self.out {
                    out.answer(answer.clone());
                }
            }
            (Ordering::Equal, Progress::Thinking) => seat.expect_answer(&mut self.due),
            // The clock has settled whatever the bot still thinks about.
            _ => {
                seat.asked = decision.decision_id;
                seat.round = decision.view.as_ref().map_or(0, |view| view.round);
                seat.answer = Progress::Thinking;
                seat.expect_answer(&mut self.due);
                seat.open.set(seat.asked);
                let decision = Box::new(Decision::new(decision, seat.open.clone()));
                self.tasks.add(seat.bot, Task::Choose(decision));
            }
        }
    }

    /// Ends a match: in every seat that the bot has there, the game is over or voided.
    fn end(&mut self, over: &GameOver) {
        if let Some(out) = &self.out {
            out.forget(over.match_id);
        }
        let all = (over.match_id, 0)..=(over.match_id, u32::MAX);
        self.resigned.retain(|id, _| !all.contains(id));
        let ids: Vec<SeatId> = self.seats.range(all).map(|(id, _)| *id).collect();
        for id in ids {
            if let Some(seat) = self.seats.remove(&id) {
                if let Some(End::Result(result)) = &over.end {
                    seat.log_forfeit(id, result);
                }
                self.leave(seat, Some(over.clone()));
            }
        }
    }

    /// Lets a bot take note of how its game ended, unless it has given up, and drops it.
    fn leave(&mut self, mut seat: Seat, over: Option<GameOver>) {
        seat.stop_thinking(&mut self.due);
        self.tasks.add(seat.bot, Task::End(over));
    }

    /// Notes a bot's answer, and sends it if the server waits for it.
    fn settle(&mut self, id: SeatId, answer: Answer) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        if seat.expect_nothing(&mut self.due)
            && let Some(out) = &self.out
        {
            out.answer(answer.clone());
        }
        seat.answer = Progress::Answered(answer);
        self.flush_if_complete();
    }

    /// Notes that a bot has no answer in time: the clock decides, and the game goes on.
    fn run_out(&mut self, id: SeatId) {
        let Some(seat) = self.seats.get_mut(&id) else { return };
        log::warn!("{}: the bot had no answer in time", seat.place(id));
        seat.stop_thinking(&mut self.due);
        self.flush_if_complete();
    }

    /// Gives up a game in which the bot crashed; its other games go on.
    fn crash(&mut self, id: SeatId, reason: String) {
        let Some(seat) = self.seats.remove(&id) else { return };
        self.crashes.add("the bot crashed, the game is given up", id.0, &seat.place(id), &reason);
        self.leave(seat, None);
        if let Some(out) = &self.out {
            out.resign(resignation(id, &reason));
        }
        self.resigned.insert(id, reason);
    }

    /// Sends the answers that have gathered, if the server waits for no other.
    fn flush_if_complete(&self) {
        if self.due == 0
            && let Some(out) = &self.out
        {
            out.flush();
        }
    }
}

impl Seat {
    /// Returns where the game is, as far as the bot knows.
    fn place(&self, (match_id, _): SeatId) -> String {
        place(match_id, self.round, self.asked)
    }

    /// Logs that the server gave the seat up, if it did.
    fn log_forfeit(&self, id: SeatId, result: &MatchResult) {
        let Some(own) = result.seats.get(id.1 as usize).filter(|own| own.ending > Ending::Finished as i32) else {
            return;
        };
        let ending = Ending::try_from(own.ending).map_or("other", |ending| ending.as_str_name());
        let ending = ending.trim_start_matches("ENDING_").to_lowercase();
        let reason = if own.reason.is_empty() { String::new() } else { format!(": {}", one_line(&own.reason)) };
        log::warn!("{}: the seat was forfeited: {ending}{reason}", self.place(id));
    }

    /// Notes that the server waits for the bot's answer.
    fn expect_answer(&mut self, due: &mut usize) {
        if !mem::replace(&mut self.answer_due, true) {
            *due += 1;
        }
    }

    /// Notes that the server doesn't wait for an answer; returns whether it did.
    fn expect_nothing(&mut self, due: &mut usize) -> bool {
        let was_due = mem::take(&mut self.answer_due);
        *due -= usize::from(was_due);
        was_due
    }

    /// Makes void what the bot thinks about.
    fn stop_thinking(&mut self, due: &mut usize) {
        self.open.close();
        if let Progress::Thinking = self.answer {
            self.answer = Progress::None;
        }
        self.expect_nothing(due);
    }
}

fn resignation((match_id, seat): SeatId, reason: &str) -> Resign {
    Resign { match_id, seat: Some(seat), crashed: true, reason: reason.to_owned() }
}

/// The end of a match that the server doesn't know any more, or starts over.
fn unknown(match_id: i64) -> GameOver {
    GameOver { match_id, end: Some(End::VoidReason(VoidReason::Unknown.into())) }
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
    async fn asked() -> (Player, Requests) {
        let out = Outbox::new(Hello { name: "me".into(), ..Hello::default() });
        let mut requests = Requests::of(out.clone());
        next(&mut requests).await;
        let mut player = Player::default();
        player.welcome(out, false);
        let moves = vec![Move::default(); 2];
        let started = |match_id| GameStarted { match_id, ..GameStarted::default() };
        let decision = |match_id| v1::Decision { match_id, decision_id: 1, moves: moves.clone(), ..Default::default() };
        player.handle(PlayResponse {
            games_started: [1, 2].map(started).into(),
            decisions: [1, 2].map(decision).into(),
            ..PlayResponse::default()
        });
        (player, requests)
    }

    /// Does so many jobs at most; a game's first one makes its bot.
    fn work(player: &mut Player, most: usize) {
        let factory = any_bot(|_| |_: &Decision| Ok(1));
        for _ in 0..most {
            let Some(job) = player.job() else { return };
            player.done(job.perform(&*factory));
        }
    }

    async fn next(requests: &mut Requests) -> PlayRequest {
        poll_fn(|context| Pin::new(&mut *requests).poll_next(context)).await.unwrap()
    }

    fn answer(match_id: i64) -> Answer {
        Answer { match_id, decision_id: 1, r#move: 1, ..Answer::default() }
    }

    /// When the last decision of a batch is answered, all answers are due at once: none waits for the clock.
    #[tokio::test(start_paused = true)]
    async fn all_answered() {
        let (mut player, mut requests) = asked().await;
        work(&mut player, usize::MAX);
        let begun = Instant::now();
        assert_eq!(next(&mut requests).await.answers, [answer(1), answer(2)]);
        assert!(begun.elapsed().is_zero(), "they were held for {:?}", begun.elapsed());
    }

    /// After the end of a game nothing is sent for it, not even what is held already.
    #[tokio::test(start_paused = true)]
    async fn over_before_it_was_sent() {
        let (mut player, mut requests) = asked().await;
        work(&mut player, 3);
        player.handle(PlayResponse { games_over: vec![unknown(1)], ..PlayResponse::default() });
        work(&mut player, usize::MAX);
        assert_eq!(next(&mut requests).await, PlayRequest { answers: vec![answer(2)], ..PlayRequest::default() });
    }
}
