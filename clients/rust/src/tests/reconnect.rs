use std::collections::BTreeMap;
use std::time::Duration;

use tonic::Code;

use super::bots::{Heard, Questions, counting, first, listeners, noting};
use super::peer::{Peer, within};
use crate::v1::{GameOver, PlayResponse, Welcome};
use crate::{Decision, GameResult, PROTOCOL_VERSION, Settings, VoidReason};

fn welcome(token: &str) -> Welcome {
    Welcome { resume_token: token.into(), ..Welcome::default() }
}

fn resumed(token: &str) -> Welcome {
    Welcome { resumed: true, ..welcome(token) }
}

/// A bot whose connection is lost while it thinks comes back, and answers when it is asked again.
#[tokio::test]
async fn reconnect_mid_decision() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let _bot = peer.play(thinkers, Settings::default());
    let (dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1, 2]);
    dialogue.ask(&[(1, 1)]);
    let question = questions.next().await;
    dialogue.cut();
    let (mut dialogue, hello) = peer.welcome(resumed("two")).await;
    assert_eq!((hello.resume_token.as_str(), hello.games), ("one", vec![1, 2]));
    dialogue.ask(&[(1, 1)]);
    dialogue.nothing().await;
    question.answer(2);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(1, 2)]));
    assert!(questions.none(), "the bot was asked twice");
    dialogue.cut();
    let (_, hello) = peer.accept().await;
    assert_eq!(hello.resume_token, "two");
}

/// An answer that comes while there is no connection is sent only when it is asked for again.
#[tokio::test]
async fn answer_without_connection() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let _bot = peer.play(thinkers, Settings { thinkers: Some(1), ..Settings::default() });
    let (dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1, 2]);
    dialogue.ask(&[(1, 1), (2, 1)]);
    let question = questions.next().await;
    dialogue.cut();
    let (mut dialogue, _) = peer.accept().await;
    question.answer(1);
    let next = questions.next().await; // so the first answer has been noted
    let welcome = Some(Welcome { protocol_version: PROTOCOL_VERSION, ..resumed("one") });
    dialogue.send(PlayResponse { welcome, ..PlayResponse::default() });
    dialogue.nothing().await;
    dialogue.ask(&[(1, 1)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(1, 1)]));
    next.answer(0);
    dialogue.nothing().await;
}

/// A decision that is sent again is answered from memory, on the same connection or another.
#[tokio::test]
async fn resent_decision() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(counting, Settings::default());
    let (mut dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1, 2]);
    for round in 0..3 {
        let again = [(1, round + 1), (2, round + 1)];
        let expected = BTreeMap::from([(1, round), (2, round)]);
        for _ in 0..2 {
            dialogue.ask(&again);
            assert_eq!(dialogue.gather(2).await, expected);
        }
        dialogue.cut();
        (dialogue, _) = peer.welcome(resumed("one")).await;
        dialogue.ask(&again);
        assert_eq!(dialogue.gather(2).await, expected);
    }
}

/// So it is with what was noted about it: the bot is not asked again.
#[tokio::test]
async fn resent_notes() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(noting, Settings::default());
    let (mut dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1]);
    let noted = BTreeMap::from([("depth".into(), 0.0), ("nodes of 1".into(), 0.5)]);
    for _ in 0..3 {
        for _ in 0..2 {
            dialogue.ask(&[(1, 1)]);
            assert_eq!(dialogue.next().await.answers[0].metrics, noted);
        }
        dialogue.cut();
        (dialogue, _) = peer.welcome(resumed("one")).await;
    }
}

/// A welcome that resumes nothing makes the bot forget its games; they may begin anew, with a new bot.
#[tokio::test]
async fn forgotten_games() {
    let mut peer = Peer::new().await;
    let (mut heard, factory) = listeners();
    let _bot = peer.play(factory, Settings::default());
    let (dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1]);
    dialogue.cut();
    let (mut dialogue, _) = peer.welcome(welcome("two")).await;
    assert_eq!(within("end", heard.recv()).await, Some(Heard::Voided(1, VoidReason::Unknown)));
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(1, 0)]));
    dialogue.cut();
    let (_, hello) = peer.accept().await;
    assert_eq!((hello.resume_token.as_str(), hello.games), ("two", vec![1]));
}

/// A game that was over before the bot came back is over for it too.
#[tokio::test]
async fn game_over_meanwhile() {
    let mut peer = Peer::new().await;
    let (mut heard, factory) = listeners();
    let _bot = peer.play(factory, Settings::default());
    let (mut dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1, 2]);
    dialogue.nothing().await;
    dialogue.cut();
    let (dialogue, _) = peer.welcome(resumed("one")).await;
    let over = GameOver { game_id: 1, result: Some(GameResult::default()), ..GameOver::default() };
    dialogue.send(PlayResponse { games_over: vec![over], ..PlayResponse::default() });
    assert_eq!(within("end", heard.recv()).await, Some(Heard::Over(1, vec![])));
    dialogue.cut();
    let (_, hello) = peer.accept().await;
    assert_eq!(hello.games, [2]);
}

/// A resignation that may have been lost is said again.
#[tokio::test]
async fn resign_again() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| |_: &Decision| Err("lost my notes".into()), Settings::default());
    let (mut dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    for _ in 0..2 {
        let resigns = dialogue.resigns().await;
        assert_eq!((resigns.len(), resigns[0].game_id, resigns[0].reason.as_str()), (1, 1, "lost my notes"));
        dialogue.cut();
        let hello;
        (dialogue, hello) = peer.welcome(resumed("one")).await;
        assert_eq!(hello.games, [1]);
    }
}

/// After these reasons another attempt may go well.
#[tokio::test]
async fn passing_reasons() {
    for (reason, code) in [
        ("SHUTTING_DOWN", Code::Unavailable),
        ("NO_HEARTBEAT", Code::Aborted),
        ("STALLED", Code::Aborted),
        ("RATE_LIMITED", Code::ResourceExhausted),
        ("TOO_MANY_STREAMS", Code::ResourceExhausted),
        ("", Code::Internal),
    ] {
        let mut peer = Peer::new().await;
        let _bot = peer.play(|_| first, Settings::default());
        let (mut dialogue, _) = peer.welcome(welcome("one")).await;
        dialogue.nothing().await;
        dialogue.refuse(code, reason, &[("retry_after_ms", "1")]);
        let (_, hello) = peer.accept().await;
        assert_eq!(hello.resume_token, "one", "after {reason}");
    }
}

/// A server that asks to be left alone for longer than the bot would seek it is given up.
#[tokio::test]
async fn retry_after() {
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, Settings { reconnect: Some(Duration::from_secs(30)), ..Settings::default() });
    let (dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.refuse(Code::ResourceExhausted, "RATE_LIMITED", &[("retry_after_ms", "60000")]);
    bot.end().await.unwrap_err();
    assert!(peer.nobody_came());
}

/// A server that shut down in good order and doesn't come back is no error, any other one is.
#[tokio::test]
async fn server_gone() {
    let at_once = Settings { reconnect: Some(Duration::ZERO), ..Settings::default() };
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, at_once.clone());
    let (dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.refuse(Code::Unavailable, "SHUTTING_DOWN", &[]);
    bot.end().await.unwrap();
    let bot = peer.play(|_| first, at_once);
    let (dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.cut();
    bot.end().await.unwrap_err();
}

/// A server that is silent for three of its heartbeats is taken for dead.
#[tokio::test]
async fn silence() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| first, Settings::default());
    let (_dialogue, _) = peer.welcome(Welcome { heartbeat_ms: 30, ..welcome("one") }).await;
    let (_, hello) = peer.accept().await;
    assert_eq!(hello.resume_token, "one");
}
