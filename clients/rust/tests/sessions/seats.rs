//! One bot in several seats of a match.

use happycity::v1::game_over::End;
use happycity::v1::{Answer, GameOver, MatchResult, PlayResponse, Resign, Welcome};
use happycity::{Choice, Decision, GameStarted, Settings};

use super::bots::{Ended, counting, listeners};
use super::peer::{Peer, decision, places, started, within};

fn two_seats() -> PlayResponse {
    PlayResponse { games_started: vec![started(7, 0), started(7, 2)], ..PlayResponse::default() }
}

fn decisions(seats: &[(u32, u32)]) -> PlayResponse {
    let decisions = seats.iter().map(|(seat, number)| decision(7, *seat, *number)).collect();
    PlayResponse { decisions, ..PlayResponse::default() }
}

fn answer(decision_id: u32, position: u32) -> Answer {
    Answer { match_id: 7, decision_id, r#move: position, ..Answer::default() }
}

/// Each seat has a bot of its own, which is asked that seat's decisions.
#[tokio::test]
async fn a_bot_for_each() {
    let mut peer = Peer::new().await;
    let _bot = peer.play(counting, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome::default()).await;
    dialogue.send(two_seats());
    for (seat, number, position) in [(0, 1, 0), (2, 2, 0), (0, 4, 1), (0, 5, 2), (2, 6, 1)] {
        dialogue.send(decisions(&[(seat, number)]));
        assert_eq!(dialogue.next().await.answers, [answer(number, position)]);
    }
}

/// A bot that crashes in one seat plays on in the other. When it comes back, it names the match once.
#[tokio::test]
async fn crash_in_one() {
    let mut peer = Peer::new().await;
    let factory = |start: &GameStarted| {
        let seat = start.seat;
        move |_: &Decision| -> Choice { if seat == 2 { Err("lost my notes".into()) } else { Ok(1) } }
    };
    let _bot = peer.play(factory, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome { resume_token: "one".into(), ..Welcome::default() }).await;
    dialogue.send(two_seats());
    dialogue.send(decisions(&[(2, 1)]));
    let resigned = [Resign { match_id: 7, seat: Some(2), crashed: true, reason: "lost my notes".into() }];
    assert_eq!(dialogue.resigns().await, resigned);
    dialogue.send(decisions(&[(0, 2)]));
    assert_eq!(dialogue.next().await.answers, [answer(2, 1)]);
    dialogue.cut();
    let (mut dialogue, hello) = peer.welcome(Welcome { resumed: true, ..Welcome::default() }).await;
    assert_eq!(hello.match_ids, [7]);
    assert_eq!(dialogue.resigns().await, resigned);
}

/// The end of the match is the end in all of its seats.
#[tokio::test]
async fn one_end() {
    let mut peer = Peer::new().await;
    let (mut ended, factory) = listeners();
    let _bot = peer.play(factory, Settings::default());
    let (mut dialogue, _) = peer.welcome(Welcome { resume_token: "one".into(), ..Welcome::default() }).await;
    dialogue.send(two_seats());
    let end = Some(End::Result(MatchResult { seats: places(&[1, 2, 3]) }));
    dialogue.send(PlayResponse { games_over: vec![GameOver { match_id: 7, end }], ..PlayResponse::default() });
    for _ in 0..2 {
        assert_eq!(within("end", ended.recv()).await, Some(Ended::Over(7, vec![1, 2, 3])));
    }
    dialogue.nothing().await;
    dialogue.cut();
    let (_, hello) = peer.accept().await;
    assert!(hello.match_ids.is_empty());
}
