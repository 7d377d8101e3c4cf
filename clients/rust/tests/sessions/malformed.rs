//! Servers that keep to no contract: whatever they send, the bot ends or plays on.

use std::convert::Infallible;
use std::time::Duration;

use happycity::v1::{Clock, Decision, GameOver, GameStarted, Notice, PlayResponse, Welcome};
use happycity::{Choice, Error, Settings};
use prost_types::Duration as Interval;
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codegen::{Bytes, http};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Status};

use super::bots::first;
use super::peer::{Peer, decision, settings, within};

/// Times that no clock can hold, unknown matches and missing parts stop no bot.
#[tokio::test]
async fn strange_messages() {
    let mut peer = Peer::new().await;
    let bot = |decision: &happycity::Decision| -> Choice {
        let _ = (decision.time_left(), decision.view().seats.len(), decision.is_open());
        Ok(2)
    };
    let _bot = peer.play(move |_| bot, Settings::default());
    let longest = Some(Interval { seconds: i64::MAX, nanos: i32::MAX });
    let (mut dialogue, _) = peer.welcome(Welcome { ping_interval: longest, ..Welcome::default() }).await;
    dialogue.start(&[i64::MIN, i64::MAX]);
    dialogue.send(PlayResponse {
        games_started: vec![GameStarted { seat: u32::MAX, ..GameStarted::default() }],
        decisions: vec![Decision { match_id: 99, decision_id: u32::MAX, ..Decision::default() }],
        games_over: vec![GameOver { match_id: -99, end: None }],
        notices: vec![Notice { text: "\x1b]0;owned\x07\n".repeat(100_000), kind: 99, ..Notice::default() }],
        ..PlayResponse::default()
    });
    let clock = Some(Clock { time_left_us: Some(u64::MAX), bank_left_us: Some(u64::MAX), ..Clock::default() });
    let endless = Decision { clock, view: None, ..decision(i64::MIN, 0, u32::MAX) };
    dialogue.send(PlayResponse { decisions: vec![endless], ..PlayResponse::default() });
    assert_eq!(dialogue.answers().await[&i64::MIN], 2);
}

/// A negative ping interval is none.
#[tokio::test]
async fn negative_interval() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(|_| first, Settings::default());
    let ping_interval = Some(Interval { seconds: -1, nanos: -1 });
    let (mut dialogue, _) = peer.welcome(Welcome { ping_interval, ..Welcome::default() }).await;
    dialogue.nothing().await;
}

/// The reason for which a session ends is one line, without control characters.
#[tokio::test]
async fn strange_reason() {
    let mut peer = Peer::new().await;
    let bot = peer.play(|_| first, Settings::default());
    let (dialogue, _) = peer.accept().await;
    dialogue.fail(Status::with_details(Code::NotFound, "\x1b[2J gone\nfor good", Bytes::from_static(b"\xff\xff")));
    let text = bot.end().await.unwrap_err().to_string();
    assert!(text.ends_with("ended the session of \"tester\": [2J gone for good"), "{text}");
}

/// Details that are no base64 end the stream, as a network failure does.
#[tokio::test]
async fn no_base64() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap().to_string();
    let refuse = tower::service_fn(|_| async {
        let response = http::Response::builder().header("content-type", "application/grpc").header("grpc-status", "9");
        Ok::<_, Infallible>(response.header("grpc-status-details-bin", "no base64!").body(Body::empty()).unwrap())
    });
    let serving = Server::builder().serve_with_incoming(refuse, TcpIncoming::from(listener));
    tokio::spawn(serving);
    let once = settings(|s| (s.server, s.wait) = (Some(server), Duration::ZERO));
    let ended = within("end of the bot", happycity::play(|_| first, once, std::future::pending())).await;
    let Err(Error::Connection { code, text, .. }) = ended else { panic!("the bot ended with {ended:?}") };
    assert_eq!(code, Code::Unknown);
    assert!(text.contains("the server's status is malformed"), "{text}");
}
