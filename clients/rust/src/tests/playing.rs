use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::bots::{Heard, Questions, counting, first, listeners, noting};
use super::peer::{Peer, decision, within};
use crate::v1::{Answer, Clock, GameOver, PlayResponse, Welcome};
use crate::{Bot, Choice, Decision, GameResult, GameStarted, Settings, VoidReason};

fn over(game_id: u64) -> PlayResponse {
    PlayResponse { games_over: vec![GameOver { game_id, ..GameOver::default() }], ..PlayResponse::default() }
}

/// All decisions of a message are answered, if there is time in one message: see the tests of the games.
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

/// What makes no sense as a metric is for the server to drop; the answer comes all the same.
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
    let _bot = peer.play(thinkers, Settings { thinkers: Some(2), ..Settings::default() });
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    dialogue.ask(&[(1, 1), (2, 1)]);
    let (slow, fast) = (questions.next().await, questions.next().await);
    let (slow_id, fast_id) = (slow.game_id, fast.game_id);
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
    let _bot = peer.play(thinkers, Settings { thinkers: Some(1), ..Settings::default() });
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
        answers.extend(dialogue.answers().await); // the first one didn't wait for company any longer
    }
    assert_eq!(answers, BTreeMap::from([(1, 0), (2, 1)]));
}

/// A ping is answered while the bot thinks.
#[tokio::test]
async fn ping() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let _bot = peer.play(thinkers, Settings { thinkers: Some(1), ..Settings::default() });
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    let question = questions.next().await;
    dialogue.nothing().await;
    question.answer(1);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(1, 1)]));
}

/// Plays one game with a bot that fails and one with another, and returns the reason of the resignation.
async fn failure<B: Bot + 'static>(failing: impl Fn() -> B + Send + Sync + 'static) -> String {
    let mut peer = Peer::new().await;
    let factory = move |start: &GameStarted| -> Box<dyn FnMut(&Decision) -> Choice + Send> {
        if start.game_id > 1 {
            return Box::new(first);
        }
        let mut bot = failing();
        Box::new(move |decision| bot.choose(decision))
    };
    let _bot = peer.play(factory, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    dialogue.ask(&[(1, 1)]);
    let resigns = dialogue.resigns().await;
    assert_eq!((resigns.len(), resigns[0].game_id), (1, 1));
    dialogue.ask(&[(1, 3), (2, 1)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(2, 0)]));
    resigns[0].reason.clone()
}

/// A bot that returns an error gives up that game only.
#[tokio::test]
async fn error() {
    assert_eq!(failure(|| |_: &Decision| Err("lost my notes".into())).await, "lost my notes");
}

/// A bot that panics gives up that game only.
#[tokio::test]
async fn panics() {
    let told = "the bot panicked: lost my notes";
    assert_eq!(failure(|| |_: &Decision| panic!("lost my notes")).await, told);
    assert_eq!(failure(|| |_: &Decision| panic!("lost my {}", "notes")).await, told);
}

/// A bot that chooses a move that isn't there gives up that game only.
#[tokio::test]
async fn no_such_move() {
    assert_eq!(failure(|| |_: &Decision| Ok(3)).await, "the bot chose move 3, but they are 0 to 2");
}

/// A factory that panics gives up that game only.
#[tokio::test]
async fn no_bot() {
    let none: fn() -> fn(&Decision) -> Choice = || panic!("no more bots");
    assert_eq!(failure(none).await, "the bot panicked: no more bots");
}

/// A long reason is shortened, by characters.
#[tokio::test]
async fn long_reason() {
    assert_eq!(failure(|| |_: &Decision| Err("ä".repeat(300).into())).await, "ä".repeat(200));
}

/// A bot hears how its games ended.
#[tokio::test]
async fn game_over() {
    let mut peer = Peer::new().await;
    let (mut heard, factory) = listeners();
    let _bot = peer.play(factory, Settings { thinkers: Some(1), ..Settings::default() });
    let (dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    let result = Some(GameResult { places: vec![1, 2], ..GameResult::default() });
    dialogue.send(PlayResponse {
        games_over: vec![
            GameOver { game_id: 1, result, ..GameOver::default() },
            GameOver { game_id: 2, void_reason: VoidReason::Stopped.into(), ..GameOver::default() },
        ],
        ..PlayResponse::default()
    });
    assert_eq!(within("end", heard.recv()).await, Some(Heard::Over(1, vec![1, 2])));
    assert_eq!(within("end", heard.recv()).await, Some(Heard::Voided(2, VoidReason::Stopped)));
}

/// A bot that fails when it hears of the end of its game fails alone.
#[tokio::test]
async fn failure_at_the_end() {
    struct Sore;

    impl Bot for Sore {
        fn choose(&mut self, _: &Decision) -> Choice {
            Ok(1)
        }

        fn game_voided(&mut self, _: VoidReason) {
            panic!("what a pity");
        }
    }

    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| Sore, Settings { thinkers: Some(1), ..Settings::default() });
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    dialogue.send(over(1));
    dialogue.ask(&[(2, 1)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(2, 1)]));
}

/// After the end of a game nothing is answered for it, and whoever thinks about it can tell.
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
    let _bot = peer.play(thinkers, Settings { thinkers: Some(2), ..Settings::default() });
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
    let answer = Answer { game_id: 1, decision_id: 4, r#move: 2, ..Answer::default() };
    assert_eq!(dialogue.next().await.answers, [answer]);
}

/// A bot that fails because its time is up has not failed: the clock decides, and the game goes on.
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
    let _bot = peer.play(factory, Settings { thinkers: Some(1), ..Settings::default() });
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1, 2]);
    let (mut number, mut limit) = (1, 1);
    let time_left = loop {
        let clock = Some(Clock { time_left_ms: limit, ..Clock::default() });
        let hurried = crate::v1::Decision { clock, ..decision(1, number) };
        dialogue.send(PlayResponse { decisions: vec![hurried, decision(2, number)], ..PlayResponse::default() });
        // The only thinker takes the second game when it is done with the first.
        assert_eq!(dialogue.answers().await, BTreeMap::from([(2, 1)]));
        number += 1;
        match returned.try_recv() {
            Ok(time_left) => break time_left,
            Err(_) => limit *= 2, // the time was up before the bot's turn came
        }
    };
    assert_eq!(time_left, Some(std::time::Duration::ZERO));
    dialogue.ask(&[(1, number)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(1, 1)]));
}
