use std::collections::BTreeSet;
use std::thread;

use super::*;
use crate::v1::{Move, View};
use crate::{Choice, VoidReason};

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

fn decision(match_id: i64, decision_id: u32) -> v1::Decision {
    let moves = vec![Move::default(); 2];
    v1::Decision { match_id, decision_id, view: Some(View::default()), moves, ..v1::Decision::default() }
}

/// Many games share few threads; the calls of one game come one after the other, in their order.
#[tokio::test]
async fn games_share_threads() {
    let running = Arc::new(AtomicUsize::new(0));
    let shared = running.clone();
    let factory = move |_: &GameStarted| Box::new(Checked { running: shared.clone(), asked: vec![] }) as Box<dyn Bot>;
    let mut player = Player::new(Box::new(factory), 3);
    let (out, mut parts) = unbounded_channel();
    player.out = out;
    (0..100).for_each(|match_id| player.start(GameStarted { match_id, ..GameStarted::default() }));
    for decision_id in 1..=20 {
        (0..100).for_each(|match_id| player.decide(decision(match_id, decision_id)).unwrap());
        let mut answered = BTreeSet::new();
        while answered.len() < 100 {
            let Some(Part::Answer(answer)) = parts.recv().await else { panic!("not an answer") };
            assert_eq!((answer.decision_id, answer.r#move), (decision_id, decision_id % 2));
            answered.insert(answer.match_id);
        }
    }
    player.welcome(&[]);
    player.close().await;
    assert_eq!(running.load(Ordering::SeqCst), 100 * 1000);
}

/// A bot that panics resigns its game, once on each connection; a later decision doesn't reach it.
#[tokio::test]
async fn panics() {
    let factory = |_: &GameStarted| Box::new(|_: &Decision| -> Choice { panic!("two\nlines") }) as Box<dyn Bot>;
    let mut player = Player::new(Box::new(factory), 1);
    for _ in 0..2 {
        let (out, mut parts) = unbounded_channel();
        player.out = out;
        player.start(GameStarted::default());
        player.decide(decision(0, 1)).unwrap();
        let Some(Part::Resign(resign)) = parts.recv().await else { panic!("no resignation") };
        assert_eq!((resign.seat, resign.crashed, resign.reason.as_deref()), (Some(0), true, Some("panic: two lines")));
        player.decide(decision(0, 2)).unwrap();
        player.thinkers.rest().await;
        assert!(parts.try_recv().is_err());
    }
}

/// A choice that comes after the game is over is not sent, and an error then is not a crash.
#[tokio::test]
async fn too_late() {
    let factory = |start: &GameStarted| {
        let fails = start.match_id == 1;
        Box::new(move |decision: &Decision| -> Choice {
            while decision.is_open() {
                thread::yield_now();
            }
            if fails { Err("too late".into()) } else { Ok(0) }
        }) as Box<dyn Bot>
    };
    let mut player = Player::new(Box::new(factory), 2);
    let (out, mut parts) = unbounded_channel();
    player.out = out;
    for match_id in 0..2 {
        player.start(GameStarted { match_id, ..GameStarted::default() });
        player.decide(decision(match_id, 1)).unwrap();
    }
    player.welcome(&[]);
    player.close().await;
    assert!(parts.try_recv().is_err());
}
