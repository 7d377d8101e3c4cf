use std::collections::BTreeMap;

use happycity::v1::{Goodbye, Hello, PlayRequest, Welcome};
use happycity::{Error, GameStarted, Settings, UNLIMITED};
use tokio::sync::mpsc;
use tonic::Code;

use super::bots::{Questions, counting, first};
use super::peer::{Dialogue, Peer, settings, within};

/// Returns a welcome that names the workers at these peers.
fn naming(workers: &[&Peer]) -> Welcome {
    let worker_addresses = workers.iter().map(|worker| worker.address.to_string()).collect();
    Welcome { resume_token: "of the server".into(), worker_addresses, ..Welcome::default() }
}

fn any_number() -> Settings {
    settings(|s| s.games = Some(UNLIMITED))
}

/// Waits until the bot leaves for good.
async fn goodbye(dialogue: &mut Dialogue) {
    assert_eq!(dialogue.next().await, PlayRequest { goodbye: Some(Goodbye {}), ..PlayRequest::default() });
}

/// A bot that plays any number of games plays at the workers too, under the same name and with the same token. Each
/// game has a bot of its own, wherever it is played.
#[tokio::test]
async fn plays_at_all() {
    let (mut server, mut one, mut other) = (Peer::new().await, Peer::new().await, Peer::new().await);
    let me = settings(|s| (s.name, s.token, s.games) = (Some("me".into()), Some("secret".into()), Some(UNLIMITED)));
    let _bot = server.play(counting, me);
    let mut streams = vec![server.welcome(naming(&[&one, &other])).await.0];
    for worker in [&mut one, &mut other] {
        let (dialogue, Hello { name, max_games, resume_token, .. }) = worker.welcome(Welcome::default()).await;
        assert_eq!((name.as_str(), max_games, resume_token.as_str()), ("me", None, ""));
        assert_eq!(dialogue.authorization(), Some("Bearer secret"));
        streams.push(dialogue);
    }
    for (id, dialogue) in (0..).zip(&streams) {
        dialogue.start(&[id]);
    }
    for round in 0..3 {
        for (id, dialogue) in (0..).zip(&streams) {
            dialogue.ask(&[(id, round + 1)]);
        }
        for (id, dialogue) in (0..).zip(&mut streams) {
            assert_eq!(dialogue.answers().await, BTreeMap::from([(id, round)]));
        }
    }
}

/// A lost stream to a worker is resumed with its own token and its own games, and so is the one to the server.
#[tokio::test]
async fn resumes() {
    let (mut server, mut worker) = (Peer::new().await, Peer::new().await);
    let _bot = server.play(|_| first, any_number());
    let (mut at_server, _) = server.welcome(naming(&[&worker])).await;
    let (mut at_worker, _) =
        worker.welcome(Welcome { resume_token: "of the worker".into(), ..Welcome::default() }).await;
    at_server.start(&[1]);
    at_worker.start(&[2]);
    at_server.nothing().await;
    at_worker.nothing().await;
    at_worker.cut();
    let (_, hello) = worker.accept().await;
    assert_eq!((hello.resume_token.as_str(), hello.match_ids), ("of the worker", vec![2]));
    at_server.cut();
    let (_, hello) = server.accept().await;
    assert_eq!((hello.resume_token.as_str(), hello.match_ids), ("of the server", vec![1]));
}

/// The bot leaves a worker that the next welcome doesn't name, stays at one that it names again, and comes back to one
/// that ended its stream.
#[tokio::test]
async fn later_welcome() {
    let (mut server, mut left) = (Peer::new().await, Peer::new().await);
    let (mut kept, mut ended) = (Peer::new().await, Peer::new().await);
    let _bot = server.play(|_| first, any_number());
    let (mut at_server, _) = server.welcome(naming(&[&left, &kept, &ended])).await;
    let (mut at_left, _) = left.welcome(Welcome::default()).await;
    let (mut at_kept, _) = kept.welcome(Welcome::default()).await;
    drop(ended.welcome(Welcome::default()).await); // in good order
    while ended.nobody_came() {
        // The bot may get a welcome before it learns of that end.
        at_server.nothing().await;
        at_server.cut();
        (at_server, _) = server.welcome(naming(&[&kept, &ended])).await;
    }
    goodbye(&mut at_left).await;
    ended.accept().await;
    at_kept.nothing().await;
    assert!(kept.nobody_came(), "a second stream to the same worker");
}

/// A worker that can't be reached, one that refuses the bot, and one to which its token would travel unencrypted are no
/// reason to leave the server.
#[tokio::test]
async fn lost_workers() {
    let (mut server, mut refusing) = (Peer::new().await, Peer::new().await);
    let bot = server.play(|_| first, settings(|s| (s.token, s.games) = (Some("secret".into()), Some(UNLIMITED))));
    let mut welcome = naming(&[&refusing]);
    welcome.worker_addresses.extend(["127.0.0.1:1".into(), "192.0.2.1:1".into()]);
    let (mut at_server, _) = server.welcome(welcome).await;
    let (at_worker, _) = refusing.accept().await;
    at_worker.refuse(Code::PermissionDenied, "WRONG_NAME", None);
    at_server.start(&[1]);
    at_server.ask(&[(1, 1)]);
    assert_eq!(at_server.answers().await, BTreeMap::from([(1, 0)]));
    drop(at_server);
    bot.end().await.unwrap();
    assert!(refusing.nobody_came(), "it tried again");
}

/// The streams to workers end when the bot is stopped.
#[tokio::test]
async fn stopped() {
    let (mut server, mut worker) = (Peer::new().await, Peer::new().await);
    let bot = server.play(|_| first, any_number());
    let (mut at_server, _) = server.welcome(naming(&[&worker])).await;
    let (mut at_worker, _) = worker.welcome(Welcome::default()).await;
    at_worker.nothing().await;
    let ended = bot.stop();
    goodbye(&mut at_server).await;
    drop(at_server);
    goodbye(&mut at_worker).await;
    drop(at_worker);
    within("end of the bot", ended).await.unwrap().unwrap();
}

/// The streams to workers end when the server has refused the bot.
#[tokio::test]
async fn refused_by_the_server() {
    let (mut server, mut worker) = (Peer::new().await, Peer::new().await);
    let bot = server.play(|_| first, any_number());
    let (at_server, _) = server.welcome(naming(&[&worker])).await;
    let (mut at_worker, _) = worker.welcome(Welcome::default()).await;
    at_worker.nothing().await;
    at_server.refuse(Code::Aborted, "REPLACED", None);
    goodbye(&mut at_worker).await;
    drop(at_worker);
    assert!(matches!(bot.end().await, Err(Error::Connection { code: Code::Aborted, .. })));
}

/// A bot with a maximum number of games stays at the server: the maximum holds for all its games together.
#[tokio::test]
async fn maximum() {
    let (mut server, mut worker) = (Peer::new().await, Peer::new().await);
    let _bot = server.play(|_| first, settings(|s| s.games = Some(8)));
    for _ in 0..3 {
        let (mut at_server, _) = server.welcome(naming(&[&worker])).await;
        at_server.nothing().await;
        at_server.cut();
    }
    server.accept().await;
    assert!(worker.nobody_came());
}

/// No more bots think at once than the settings say, at all servers together.
#[tokio::test]
async fn thinkers() {
    let (mut server, mut worker) = (Peer::new().await, Peer::new().await);
    let (mut questions, thinkers) = Questions::new();
    let _bot = server.play(thinkers, settings(|s| (s.games, s.thinkers) = (Some(UNLIMITED), Some(1))));
    let (mut at_server, _) = server.welcome(naming(&[&worker])).await;
    let (mut at_worker, _) = worker.welcome(Welcome::default()).await;
    at_server.start(&[1]);
    at_server.ask(&[(1, 1)]);
    let question = questions.next().await;
    at_worker.start(&[2]);
    at_worker.ask(&[(2, 1)]);
    at_worker.nothing().await;
    assert!(questions.none(), "two bots think at once");
    question.answer(1);
    assert_eq!(at_server.answers().await, BTreeMap::from([(1, 1)]));
    questions.next().await.answer(2);
    assert_eq!(at_worker.answers().await, BTreeMap::from([(2, 2)]));
}

/// A session that is dropped leaves nothing behind at its workers either: the threads end, and with them the factory.
#[tokio::test]
async fn abandoned() {
    let (mut server, mut worker) = (Peer::new().await, Peer::new().await);
    let (kept, mut gone) = mpsc::channel::<()>(1);
    let factory = move |_: &GameStarted| {
        let _ = &kept;
        first
    };
    let bot = server.play(factory, any_number());
    let (_at_server, _) = server.welcome(naming(&[&worker])).await;
    let (mut at_worker, _) = worker.welcome(Welcome::default()).await;
    at_worker.nothing().await;
    bot.abandon();
    assert_eq!(within("end of the threads", gone.recv()).await, None);
}
