use std::time::Duration;

use happycity::v1::{BotInfo, Goodbye, Hello, PlayRequest, PlayResponse, Welcome};
use happycity::{Error, GameStarted, Settings, UNLIMITED};
use tokio::sync::mpsc;
use tonic::Code;

use super::bots::{Questions, first};
use super::peer::{Peer, settings, within};

/// The hello says who is calling, and the token travels as a bearer token.
#[tokio::test]
async fn hello() {
    let mut peer = Peer::new().await;
    let said =
        BotInfo { author: "Ann".into(), version: "1.2".into(), description: "slow".into(), ..Default::default() };
    let me = settings(|s| {
        (s.name, s.token, s.games) = (Some("me".into()), Some("secret".into()), Some(3));
        s.info = said.clone();
    });
    let _bot = peer.play(|_| first, me);
    let (dialogue, hello) = peer.accept().await;
    let software = concat!("happycity-rust/", env!("CARGO_PKG_VERSION")).into();
    let info = Some(BotInfo { language: "Rust".into(), ..said });
    assert_eq!(hello, Hello { name: "me".into(), max_games: Some(3), software, info, ..Hello::default() });
    assert_eq!(dialogue.authorization(), Some("Bearer secret"));
}

/// Any number of games is no number on the wire, and without a token there is no authorization.
#[tokio::test]
async fn hello_of_an_open_server() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| first, settings(|s| s.games = Some(UNLIMITED)));
    let (dialogue, hello) = peer.accept().await;
    assert_eq!((hello.max_games, dialogue.authorization()), (None, None));
}

/// A bot that is refused for good ends with the server's reason, and doesn't try again.
#[tokio::test]
async fn refusals() {
    for (refusal, status) in [
        ("REPLACED", Code::Aborted),
        ("UNAUTHENTICATED", Code::Unauthenticated),
        ("WRONG_NAME", Code::PermissionDenied),
        ("WRONG_ROLE", Code::PermissionDenied),
        ("REVOKED", Code::PermissionDenied),
        ("INVALID_FIELD", Code::InvalidArgument),
        ("HELLO_EXPECTED", Code::InvalidArgument),
        ("", Code::Unimplemented),
    ] {
        let mut peer = Peer::new().await;
        let bot = peer.play(|_| first, settings(|s| s.wait = Duration::from_secs(60)));
        let (dialogue, _) = peer.accept().await;
        dialogue.refuse(status, refusal, None);
        let Err(Error::Connection { code, reason, .. }) = bot.end().await else { panic!("no error after {refusal}") };
        assert_eq!((code, reason.as_str()), (status, refusal));
        assert!(peer.nobody_came(), "it tried again after {refusal}");
    }
}

/// A server that doesn't welcome the bot can't be played on.
#[tokio::test]
async fn no_welcome() {
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, Settings::default());
    let (dialogue, _) = peer.accept().await;
    dialogue.send(PlayResponse::default());
    let text = bot.end().await.unwrap_err().to_string();
    assert!(text.ends_with("its first message is no welcome; is it a Happy City server?"), "{text}");
}

/// Without a server the bot ends at once, and says what to do.
#[tokio::test]
async fn no_server() {
    let peer = Peer::new().await;
    let bot = peer.play(|_| first, settings(|s| s.server = Some("127.0.0.1:1".into())));
    let text = bot.end().await.unwrap_err().to_string();
    assert!(text.starts_with("no connection to 127.0.0.1:1: ") && text.contains("refused"), "{text}");
    assert!(text.contains("happycity serve"), "{text}");
}

/// A bot that may wait for its server tries again.
#[tokio::test]
async fn waits() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| first, settings(|s| s.wait = Duration::MAX));
    let (dialogue, _) = peer.accept().await;
    dialogue.cut();
    peer.accept().await;
}

/// When it is stopped, a bot says goodbye, closes its side, and ends without an error.
#[tokio::test]
async fn goodbye() {
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.nothing().await;
    let ended = bot.stop();
    assert_eq!(dialogue.next().await, PlayRequest { goodbye: Some(Goodbye {}), ..PlayRequest::default() });
    dialogue.closed().await;
    drop(dialogue);
    within("end of the bot", ended).await.unwrap().unwrap();
}

/// A bot that is stopped before it was welcomed has nobody to say goodbye to.
#[tokio::test]
async fn stopped_early() {
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, Settings::default());
    let _dialogue = peer.accept().await;
    within("end of the bot", bot.stop()).await.unwrap().unwrap();
}

/// A bot that thinks when it is stopped can see that, and doesn't delay the goodbye.
#[tokio::test]
async fn goodbye_while_thinking() {
    let mut peer = Peer::new().await;
    let (mut questions, thinkers) = Questions::new();
    let bot = peer.play(thinkers, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.start(&[1]);
    dialogue.ask(&[(1, 1)]);
    let question = questions.next().await;
    assert!(question.is_open());
    let ended = bot.stop();
    assert_eq!(dialogue.next().await, PlayRequest { goodbye: Some(Goodbye {}), ..PlayRequest::default() });
    assert!(!question.is_open());
    question.answer(0);
    drop(dialogue);
    within("end of the bot", ended).await.unwrap().unwrap();
}

/// A session that is dropped leaves nothing behind: its threads end, and with them the factory.
#[tokio::test]
async fn abandoned() {
    let mut peer = Peer::new().await;
    let (kept, mut gone) = mpsc::channel::<()>(1);
    let factory = move |_: &GameStarted| {
        let _ = &kept;
        first
    };
    let bot = peer.play(factory, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.nothing().await;
    bot.abandon();
    assert_eq!(within("end of the threads", gone.recv()).await, None);
}

/// A server that ends the stream in good order ends the bot without an error.
#[tokio::test]
async fn server_ends() {
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, Settings::default());
    drop(peer.welcome(Welcome::default()).await);
    bot.end().await.unwrap();
}
