use std::pin::Pin;
use std::time::Duration;
use std::{io, iter};

use futures_util::stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use tonic::{Request, Streaming};

use crate::catalogue::CATALOGUE;
use crate::error::{Error, one_line};
use crate::player::{Player, Thinkers, place};
use crate::settings::Setup;
use crate::v1::play_service_client::PlayServiceClient;
use crate::v1::{Answer, Goodbye, Hello, NoticeKind, PlayRequest, PlayResponse, Pong, Resign, Welcome};

/// The version of the protocol that this crate speaks.
const PROTOCOL_VERSION: u32 = 1;
/// How long the server may take to accept the bot, and to end the stream after a goodbye.
const WELCOME_TIME: Duration = Duration::from_secs(20);
const GOODBYE_TIME: Duration = Duration::from_secs(1);
/// How long an answer may wait for others.
const HOLD: Duration = Duration::from_millis(2);
/// The largest batch that the server may send, in bytes.
const LARGEST_MESSAGE: usize = 64 << 20;

/// Ready when the bot has to stop.
pub(crate) type Stop<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send)>;

/// What the server has said about the session on one stream.
#[derive(Default)]
pub(crate) struct Progress {
    /// The resume token of the welcome; `None` until the bot is accepted.
    pub(crate) token: Option<String>,
    /// Whether there was more than the welcome.
    pub(crate) beyond_welcome: bool,
    /// Whether the server is about to shut down.
    pub(crate) shutdown: bool,
}

/// Plays on one stream, from the hello to its end or until the bot has to stop.
pub(crate) async fn play_stream(
    setup: &Setup,
    player: &mut Player,
    hello: Hello,
    progress: &mut Progress,
    mut stop: Stop<'_>,
) -> Result<(), Error> {
    let protocol = |what| Error::of_protocol(&setup.server, what);
    let greeted = tokio::select! {
        greeted = timeout(WELCOME_TIME, connect(setup, player, hello)) => greeted,
        () = &mut stop => return Ok(()),
    };
    let silent = |_| Error::of_transport(&setup.server, &io::Error::other("no welcome within 20 s"));
    let (mut stream, first) = greeted.map_err(silent)??;
    let Some(mut batch) = first else { return Ok(()) };
    let welcome = batch.welcome.take().ok_or_else(|| protocol("its first message has no welcome"))?;
    greet(setup, &welcome);
    player.welcome(&welcome.match_ids);
    progress.token = Some(welcome.resume_token);
    loop {
        handle(batch, player, progress).map_err(protocol)?;
        let message = tokio::select! {
            message = stream.message() => message,
            () = &mut stop => {
                let _ = player.out.send(Part::Goodbye);
                player.thinkers.finished.notify_waiters();
                let ended = async { while let Ok(Some(_)) = stream.message().await {} };
                let _ = timeout(GOODBYE_TIME, ended).await; // how it ends doesn't matter
                return Ok(());
            }
        };
        let ended = |status| Error::of_status(&setup.server, &status, "ended the session");
        let Some(next) = message.map_err(ended)? else { return Ok(()) };
        batch = next;
        progress.beyond_welcome = true;
    }
}

/// Opens a stream on a new connection, and returns it with its first message.
async fn connect(
    setup: &Setup,
    player: &mut Player,
    hello: Hello,
) -> Result<(Streaming<PlayResponse>, Option<PlayResponse>), Error> {
    let refused = |status| Error::of_status(&setup.server, &status, "refused the bot");
    let channel = setup.endpoint.connect().await.map_err(|error| Error::of_transport(&setup.server, &error))?;
    let (sender, parts) = unbounded_channel();
    player.out = sender;
    let _ = player.out.send(Part::Hello(hello));
    let requests = stream::unfold((parts, player.thinkers.clone()), |(mut parts, thinkers)| async {
        Some((gather(&mut parts, &thinkers).await?, (parts, thinkers)))
    });
    let mut request = Request::new(requests);
    if let Some(authorization) = &setup.authorization {
        request.metadata_mut().insert("authorization", authorization.clone());
    }
    let mut client = PlayServiceClient::new(channel).max_decoding_message_size(LARGEST_MESSAGE);
    let mut stream = client.play(request).await.map_err(refused)?.into_inner();
    let first = stream.message().await.map_err(refused)?;
    Ok((stream, first))
}

/// Returns what has gathered while the last request was being written. While bots are busy, it waits a moment for what
/// they add: a request for each answer would cost server and bot half of their rate.
async fn gather(parts: &mut UnboundedReceiver<Part>, thinkers: &Thinkers) -> Option<PlayRequest> {
    let mut request = PlayRequest::default();
    let first = parts.recv().await?;
    if !matches!(first, Part::Pong(_) | Part::Goodbye) {
        let _ = timeout(HOLD, thinkers.rest()).await;
    }
    for part in iter::once(first).chain(iter::from_fn(|| parts.try_recv().ok())) {
        match part {
            Part::Hello(hello) => request.hello = Some(hello),
            Part::Answer(answer) => request.answers.push(answer),
            Part::Resign(resign) => request.resigns.push(resign),
            Part::Pong(pong) => request.pong = Some(pong),
            Part::Goodbye => request.goodbye = Some(Goodbye {}),
        }
    }
    Some(request)
}

/// A part of a request.
#[derive(Clone)]
pub(crate) enum Part {
    Hello(Hello),
    Answer(Answer),
    Resign(Resign),
    Pong(Pong),
    Goodbye,
}

fn greet(setup: &Setup, welcome: &Welcome) {
    let resumed = if welcome.match_ids.is_empty() { "" } else { ", and the games go on" };
    log::info!("connected to {}{resumed}", setup.server);
    let version = welcome.protocol_version;
    if version > PROTOCOL_VERSION {
        log::warn!(
            "the server speaks protocol version {version}, this SDK version {PROTOCOL_VERSION}: what is new is left out"
        );
    }
    if welcome.catalogue_digest != CATALOGUE.digest {
        log::warn!("the server's cards are not those of this SDK: some are new or changed");
    }
}

/// Handles a batch. It never waits for a bot, so pings are answered while bots think.
fn handle(batch: PlayResponse, player: &mut Player, progress: &mut Progress) -> Result<(), &'static str> {
    if let Some(ping) = batch.ping {
        let _ = player.out.send(Part::Pong(Pong { nonce: ping.nonce }));
        player.thinkers.finished.notify_waiters(); // it waits for no bot
    }
    for notice in &batch.notices {
        progress.shutdown |= notice.kind() == NoticeKind::Shutdown;
        if notice.kind() != NoticeKind::Forfeit {
            // the end of the game tells that, with its reason
            let place = place(notice.match_id, notice.round, notice.decision_id);
            let gap = if place.is_empty() { "" } else { ": " };
            log::warn!("{place}{gap}{}", one_line(&notice.text));
        }
    }
    batch.games_started.into_iter().for_each(|started| player.start(started));
    batch.decisions.into_iter().try_for_each(|decision| player.decide(decision))?;
    batch.games_over.iter().for_each(|over| player.end(over));
    Ok(())
}
