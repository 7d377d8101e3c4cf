use std::collections::BTreeMap;
use std::time::Duration;

use happycity::v1::game_over::End;
use happycity::v1::{GameOver, MatchResult, PlayResponse, Resign, Welcome};
use happycity::{Decision, Settings, VoidReason};
use tonic::Code;

use super::bots::{Ended, Questions, counting, first, listeners, noting};
use super::peer::{Peer, places, settings, within};

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
    assert_eq!((hello.resume_token.as_str(), hello.match_ids), ("one", vec![1, 2]));
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
    let _bot = peer.play(thinkers, settings(|s| s.thinkers = Some(1)));
    let (dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1, 2]);
    dialogue.ask(&[(1, 1), (2, 1)]);
    let question = questions.next().await;
    dialogue.cut();
    let (mut dialogue, _) = peer.accept().await;
    question.answer(1);
    let next = questions.next().await; // so the first answer has been noted
    dialogue.send(PlayResponse { welcome: Some(resumed("one")), ..PlayResponse::default() });
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

/// The notes about a decision that is sent again are sent again too: the bot is not asked again.
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

/// A welcome that resumes nothing makes the bot forget its games; they may start over, with a new bot.
#[tokio::test]
async fn forgotten_games() {
    let mut peer = Peer::new().await;
    let (mut ended, factory) = listeners();
    let _bot = peer.play(factory, Settings::default());
    let (dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1]);
    dialogue.cut();
    let (mut dialogue, _) = peer.welcome(welcome("two")).await;
    assert_eq!(within("end", ended.recv()).await, Some(Ended::Voided(1, VoidReason::Unknown)));
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    assert_eq!(dialogue.answers().await, BTreeMap::from([(1, 0)]));
    dialogue.cut();
    let (_, hello) = peer.accept().await;
    assert_eq!((hello.resume_token.as_str(), hello.match_ids), ("two", vec![1]));
}

/// A game that was over before the bot came back is over for it too.
#[tokio::test]
async fn game_over_meanwhile() {
    let mut peer = Peer::new().await;
    let (mut ended, factory) = listeners();
    let _bot = peer.play(factory, Settings::default());
    let (mut dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1, 2]);
    dialogue.nothing().await;
    dialogue.cut();
    let (dialogue, _) = peer.welcome(resumed("one")).await;
    let over = GameOver { match_id: 1, end: Some(End::Result(MatchResult { seats: places(&[2, 1]) })) };
    dialogue.send(PlayResponse { games_over: vec![over], ..PlayResponse::default() });
    assert_eq!(within("end", ended.recv()).await, Some(Ended::Over(1, vec![2, 1])));
    dialogue.cut();
    let (_, hello) = peer.accept().await;
    assert_eq!(hello.match_ids, [2]);
}

/// A resignation that may have been lost is sent again.
#[tokio::test]
async fn resign_again() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| |_: &Decision| Err("lost my notes".into()), Settings::default());
    let (mut dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    for _ in 0..2 {
        let reason = "lost my notes".into();
        assert_eq!(dialogue.resigns().await, [Resign { match_id: 1, seat: Some(0), crashed: true, reason }]);
        dialogue.cut();
        let hello;
        (dialogue, hello) = peer.welcome(resumed("one")).await;
        assert_eq!(hello.match_ids, [1]);
    }
}

/// After these reasons another attempt may succeed.
#[tokio::test]
async fn retryable_reasons() {
    for (reason, code) in [
        ("SHUTTING_DOWN", Code::Unavailable),
        ("NO_HEARTBEAT", Code::Aborted),
        ("STALLED", Code::Aborted),
        ("RATE_LIMITED", Code::ResourceExhausted),
        ("TOO_MANY_STREAMS", Code::ResourceExhausted),
        ("OF_A_NEWER_SERVER", Code::Unavailable),
        ("", Code::Internal),
    ] {
        let mut peer = Peer::new().await;
        let _bot = peer.play(|_| first, Settings::default());
        let (mut dialogue, _) = peer.welcome(welcome("one")).await;
        dialogue.nothing().await;
        dialogue.refuse(code, reason, Some(Duration::from_millis(1)));
        let (_, hello) = peer.accept().await;
        assert_eq!(hello.resume_token, "one", "after {reason}");
    }
}

/// A server that asks for a longer pause than the bot would search for it is given up.
#[tokio::test]
async fn retry_after() {
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, settings(|s| s.reconnect = Some(Duration::from_secs(30))));
    let (dialogue, _) = peer.welcome(welcome("one")).await;
    dialogue.refuse(Code::ResourceExhausted, "RATE_LIMITED", Some(Duration::from_secs(60)));
    bot.end().await.unwrap_err();
    assert!(peer.nobody_came());
}

/// A server that shut down in good order and doesn't come back is no error, any other one is.
#[tokio::test]
async fn server_gone() {
    let at_once = settings(|s| s.reconnect = Some(Duration::ZERO));
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, at_once.clone());
    let (dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.refuse(Code::Unavailable, "SHUTTING_DOWN", None);
    bot.end().await.unwrap();
    let bot = peer.play(|_| first, at_once);
    let (dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.cut();
    bot.end().await.unwrap_err();
}

/// A server that is silent for three of its ping intervals is taken for dead.
#[tokio::test]
async fn silence() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| first, Settings::default());
    let ping_interval = Some(Duration::from_millis(30).try_into().unwrap());
    let (_dialogue, _) = peer.welcome(Welcome { ping_interval, ..welcome("one") }).await;
    let (_, hello) = peer.accept().await;
    assert_eq!(hello.resume_token, "one");
}
