use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::sync::mpsc::unbounded_channel;

use crate::decision::Bot;
use crate::player::Player;
use crate::v1::{self, GameStarted, Move, PlayResponse, View, Welcome};
use crate::{Choice, Decision, VoidReason};

/// Counts what runs at once, and the calls that it gets.
struct Checked {
    running: Arc<AtomicUsize>,
    asked: Vec<u32>,
}

impl Bot for Checked {
    fn choose(&mut self, decision: &Decision) -> Choice {
        assert!(self.running.fetch_add(1, Ordering::SeqCst) < 3, "more than three bots think at once");
        thread::yield_now();
        self.running.fetch_sub(1, Ordering::SeqCst);
        assert!(self.asked.iter().all(|earlier| *earlier < decision.decision_id));
        self.asked.push(decision.decision_id);
        Ok(decision.decision_id as usize % 2)
    }

    fn game_voided(&mut self, _: i64, _: VoidReason) {
        assert_eq!(self.asked, (1..=20).collect::<Vec<_>>());
        self.running.fetch_add(1000, Ordering::SeqCst); // tells the test of the end
    }
}

fn player<B: Bot + 'static>(
    threads: usize,
    factory: impl Fn(&GameStarted) -> B + Send + Sync + 'static,
) -> Arc<Player> {
    Arc::new(Player::new(Box::new(move |start| Box::new(factory(start))), threads))
}

/// Returns a batch that starts these games.
fn starts(match_ids: impl Iterator<Item = i64>) -> PlayResponse {
    let games_started = match_ids.map(|match_id| GameStarted { match_id, ..GameStarted::default() }).collect();
    PlayResponse { games_started, ..PlayResponse::default() }
}

/// Returns a batch that asks in these games.
fn asks(match_ids: impl Iterator<Item = i64>, decision_id: u32) -> PlayResponse {
    let (moves, view) = (vec![Move::default(); 2], Some(View::default()));
    let decision = v1::Decision { decision_id, view, moves, ..v1::Decision::default() };
    let decisions = match_ids.map(|match_id| v1::Decision { match_id, ..decision.clone() }).collect();
    PlayResponse { decisions, ..PlayResponse::default() }
}

/// Returns a batch with which no game goes on.
fn drops_all() -> PlayResponse {
    PlayResponse { welcome: Some(Welcome::default()), ..PlayResponse::default() }
}

/// Many games share few threads; the calls of one game come one after the other, in their order.
#[tokio::test]
async fn games_share_threads() {
    let running = Arc::new(AtomicUsize::new(0));
    let shared = running.clone();
    let player = player(3, move |_| Checked { running: shared.clone(), asked: vec![] });
    let (out, mut requests) = unbounded_channel();
    player.handle(starts(0..100), &out).unwrap();
    for decision_id in 1..=20 {
        player.handle(asks(0..100, decision_id), &out).unwrap();
        let mut answered = BTreeSet::new();
        while answered.len() < 100 {
            let answer = requests.recv().await.unwrap().answers.pop().expect("an answer");
            assert_eq!((answer.decision_id, answer.r#move), (decision_id, decision_id % 2));
            answered.insert(answer.match_id);
        }
    }
    player.handle(drops_all(), &out).unwrap();
    player.close().await;
    assert_eq!(running.load(Ordering::SeqCst), 100 * 1000);
}

/// A bot that panics resigns its game, once on each connection; a later decision doesn't reach it.
#[tokio::test]
async fn panics() {
    let player = player(1, |_| |_: &Decision| -> Choice { panic!("two\nlines") });
    for _ in 0..2 {
        let (out, mut requests) = unbounded_channel();
        player.handle(starts(0..1), &out).unwrap();
        player.handle(asks(0..1, 1), &out).unwrap();
        let resign = requests.recv().await.unwrap().resigns.pop().expect("a resignation");
        assert_eq!((resign.seat, resign.crashed, resign.reason.as_deref()), (Some(0), true, Some("panic: two lines")));
        player.handle(asks(0..1, 2), &out).unwrap();
        player.rest().await;
        assert!(requests.try_recv().is_err());
    }
}

/// A choice that comes after the game is over is not sent, and an error then is not a crash.
#[tokio::test]
async fn too_late() {
    let player = player(2, |start| {
        let fails = start.match_id == 1;
        move |decision: &Decision| -> Choice {
            while decision.is_open() {
                thread::yield_now();
            }
            if fails { Err("too late".into()) } else { Ok(0) }
        }
    });
    let (out, mut requests) = unbounded_channel();
    player.handle(starts(0..2), &out).unwrap();
    player.handle(asks(0..2, 1), &out).unwrap();
    player.handle(drops_all(), &out).unwrap();
    player.close().await;
    assert!(requests.try_recv().is_err());
}
