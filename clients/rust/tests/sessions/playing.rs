use std::collections::BTreeMap;
use std::time::Duration;

use happycity::v1::game_over::End;
use happycity::v1::{self, Answer, Clock, GameOver, MatchResult, PlayResponse, Resign, Welcome};
use happycity::{Bot, Choice, Decision, GameStarted, Settings, VoidReason};
use tokio::sync::mpsc;

use super::bots::{Ended, Questions, counting, first, listeners, noting};
use super::peer::{Peer, decision, places, settings, within};

fn over(match_id: i64) -> PlayResponse {
    PlayResponse { games_over: vec![GameOver { match_id, end: None }], ..PlayResponse::default() }
}

/// All decisions of a message are answered, if there is time in one message: see the tests of the player.
#[tokio::test]
async fn batch() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(counting, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2, 3]);
    for round in 0..3 {
        dialogue.ask(&[(1, round + 1), (2, round + 1), (3, round + 1)]);
        assert_eq!(dialogue.gather(3).await, BTreeMap::from([(1, round), (2, round), (3, round)]));
    }
}

/// What a bot notes goes with that answer, of each name the last number; of nothing noted, nothing.
#[tokio::test]
async fn notes() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(noting, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    let noted = BTreeMap::from([("depth".into(), 0.0), ("nodes of 1".into(), 0.5)]);
    assert_eq!(dialogue.next().await.answers[0].metrics, noted);
    dialogue.ask(&[(1, 2)]);
    assert_eq!(dialogue.next().await.answers[0].metrics, BTreeMap::new());
    dialogue.ask(&[(1, 3)]);
    let noted = BTreeMap::from([("depth".into(), 2.0), ("nodes of 3".into(), 0.5)]);
    assert_eq!(dialogue.next().await.answers[0].metrics, noted);
}

/// It is for the server to drop what can't be a metric; the answer comes all the same.
#[tokio::test]
async fn strange_notes() {
    let mut peer = Peer::new().await;
    let strange = |decision: &Decision| -> Choice {
        decision.note("", f64::INFINITY);
        decision.note("\0 Ähm \u{1f3d9}".repeat(100), f64::NAN);
        (0..1000).for_each(|i| decision.note(i.to_string(), i));
        Ok(2)
    };
    let _bot = peer.play(move |_| strange, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    let Answer { r#move, metrics, .. } = dialogue.next().await.answers.remove(0);
    assert_eq!((r#move, metrics.len(), metrics[""]), (2, 1002, f64::INFINITY));
}

/// Threads of a bot's own may note, too.
#[tokio::test]
async fn notes_of_many_threads() {
    let mut peer = Peer::new().await;
    let crowd = |decision: &Decision| -> Choice {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || (0..1000).for_each(|i| decision.note(format!("depth of {thread}"), i)));
            }
        });
        Ok(0)
    };
    let _bot = peer.play(move |_| crowd, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    let noted: BTreeMap<String, f64> = (0..4).map(|thread| (format!("depth of {thread}"), 999.0)).collect();
    assert_eq!(dialogue.next().await.answers[0].metrics, noted);
}

/// An answer doesn't wait for a game that is thought about for long.
#[tokio::test]
async fn slow_game() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let _bot = peer.play(thinkers, settings(|s| s.thinkers = Some(2)));
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    dialogue.ask(&[(1, 1), (2, 1)]);
    let (slow, fast) = (questions.next().await, questions.next().await);
    let (slow_id, fast_id) = (slow.match_id, fast.match_id);
    fast.answer(2);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(fast_id, 2)]));
    slow.answer(1);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(slow_id, 1)]));
}

/// No more decisions are thought about at once than the settings say.
#[tokio::test]
async fn thinkers() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let _bot = peer.play(thinkers, settings(|s| s.thinkers = Some(1)));
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    dialogue.ask(&[(1, 1), (2, 1)]);
    let question = questions.next().await;
    dialogue.nothing().await;
    assert!(questions.none(), "two decisions at once");
    question.answer(0);
    questions.next().await.answer(1);
    let mut answers = dialogue.answers().await;
    if answers.len() < 2 {
        answers.extend(dialogue.answers().await); // the first one was not held any longer
    }
    assert_eq!(answers, BTreeMap::from([(1, 0), (2, 1)]));
}

/// A ping is answered while the bot thinks.
#[tokio::test]
async fn ping() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let _bot = peer.play(thinkers, settings(|s| s.thinkers = Some(1)));
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    let question = questions.next().await;
    dialogue.nothing().await;
    question.answer(1);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(1, 1)]));
}

/// Plays one game with a bot that crashes and one with another, and returns the reason of the resignation.
async fn crash<B: Bot + 'static>(crashing: impl Fn() -> B + Send + Sync + 'static) -> String {
    let mut peer = Peer::new().await;
    let factory = move |start: &GameStarted| -> Box<dyn FnMut(&Decision) -> Choice + Send> {
        if start.match_id > 1 {
            return Box::new(first);
        }
        let mut bot = crashing();
        Box::new(move |decision| bot.choose(decision))
    };
    let _bot = peer.play(factory, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    dialogue.ask(&[(1, 1)]);
    let Resign { match_id, seat, crashed, reason } = dialogue.resigns().await.remove(0);
    assert_eq!((match_id, seat, crashed), (1, Some(0), true));
    dialogue.ask(&[(1, 3), (2, 1)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(2, 0)]));
    reason
}

/// A bot that returns an error gives up that game only, and gives the error as the reason, in one line.
#[tokio::test]
async fn error() {
    assert_eq!(crash(|| |_: &Decision| Err("lost my\n\x1bnotes".into())).await, "lost my notes");
    assert_eq!(crash(|| |_: &Decision| Err("ä".repeat(300).into())).await, "ä".repeat(200));
}

/// A bot that panics gives up that game only, and says where that was.
#[tokio::test]
async fn panics() {
    let line = line!() + 1;
    let reason = crash(|| |_: &Decision| panic!("lost my notes")).await;
    assert_eq!(reason, format!("panic: lost my notes (playing.rs:{line})"));
    let reason = crash(|| |_: &Decision| panic!("lost my {}\n", "notes")).await;
    assert_eq!(reason, format!("panic: lost my notes (playing.rs:{})", line + 2));
}

/// A bot that chooses a move that isn't there gives up that game only.
#[tokio::test]
async fn no_such_move() {
    assert_eq!(crash(|| |_: &Decision| Ok(3)).await, "the bot chose move 3, and there are 3");
}

/// A factory that panics gives up that game only.
#[tokio::test]
async fn no_bot() {
    let none: fn() -> fn(&Decision) -> Choice = || panic!("no more bots");
    let reason = crash(none).await;
    assert!(reason.starts_with("panic: no more bots (playing.rs:"), "{reason}");
}

/// A bot learns how its games ended.
#[tokio::test]
async fn game_over() {
    let mut peer = Peer::new().await;
    let (mut ended, factory) = listeners();
    let _bot = peer.play(factory, settings(|s| s.thinkers = Some(1)));
    let (dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2, 3, 4]);
    let ends = [
        Some(End::Result(MatchResult { seats: places(&[1, 2]) })),
        Some(End::VoidReason(VoidReason::Stopped.into())),
        Some(End::VoidReason(99)), // of a newer server
        None,
    ];
    let games_over = (1..).zip(ends).map(|(match_id, end)| GameOver { match_id, end }).collect();
    dialogue.send(PlayResponse { games_over, ..PlayResponse::default() });
    for expected in [
        Ended::Over(1, vec![1, 2]),
        Ended::Voided(2, VoidReason::Stopped),
        Ended::Voided(3, VoidReason::Unknown),
        Ended::Voided(4, VoidReason::Unknown),
    ] {
        assert_eq!(within("end", ended.recv()).await, Some(expected));
    }
}

/// A bot that crashes at the end of its game crashes alone.
#[tokio::test]
async fn crash_at_the_end() {
    struct Sore;

    impl Bot for Sore {
        fn choose(&mut self, _: &Decision) -> Choice {
            Ok(1)
        }

        fn game_voided(&mut self, _: i64, _: VoidReason) {
            panic!("what a pity");
        }
    }

    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| Sore, settings(|s| s.thinkers = Some(1)));
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    dialogue.send(over(1));
    dialogue.ask(&[(2, 1)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(2, 1)]));
}

/// After the end of a game nothing is answered for it, and a bot that thinks about it can see that.
#[tokio::test]
async fn game_over_while_thinking() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let _bot = peer.play(thinkers, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    let question = questions.next().await;
    assert!(question.is_open());
    dialogue.send(over(1));
    dialogue.nothing().await;
    assert!(!question.is_open());
    question.answer(1);
    dialogue.nothing().await;
}

/// A decision that the clock has settled is void when the next one comes; that one has to wait for its bot.
#[tokio::test]
async fn settled_by_the_clock() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let _bot = peer.play(thinkers, settings(|s| s.thinkers = Some(2)));
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    let late = questions.next().await;
    dialogue.ask(&[(1, 4)]);
    dialogue.nothing().await;
    assert!(!late.is_open());
    assert!(questions.none(), "the bot was asked two things at once");
    late.answer(1);
    let question = questions.next().await;
    assert_eq!(question.decision_id, 4);
    question.answer(2);
    let answer = Answer { match_id: 1, decision_id: 4, r#move: 2, ..Answer::default() };
    assert_eq!(dialogue.next().await.answers, [answer]);
}

/// An error after the time is up is no crash: the clock decides, and the game goes on.
#[tokio::test]
async fn out_of_time() {
    let (returning, mut returned) = mpsc::unbounded_channel();
    let mut peer = Peer::new().await;
    let factory = move |_: &GameStarted| {
        let returning = returning.clone();
        move |decision: &Decision| -> Choice {
            if decision.time_left().is_none() {
                return Ok(1);
            }
            while decision.is_open() {
                std::thread::yield_now();
            }
            returning.send(decision.time_left())?;
            Err("there was no time".into())
        }
    };
    let _bot = peer.play(factory, settings(|s| s.thinkers = Some(1)));
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    let (mut number, mut limit) = (1, 1000);
    let time_left = loop {
        let clock = Some(Clock { time_left_us: Some(limit), ..Clock::default() });
        let hurried = v1::Decision { clock, ..decision(1, 0, number) };
        dialogue.send(PlayResponse { decisions: vec![hurried, decision(2, 0, number)], ..PlayResponse::default() });
        // The only thinker takes the second game when it is done with the first.
        assert_eq!(dialogue.answers().await, BTreeMap::from([(2, 1)]));
        number += 1;
        match returned.try_recv() {
            Ok(time_left) => break time_left,
            Err(_) => limit *= 2, // the time was up before the bot's turn came
        }
    };
    assert_eq!(time_left, Some(Duration::ZERO));
    dialogue.ask(&[(1, number)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(1, 1)]));
}
