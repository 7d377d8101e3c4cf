use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};
use tonic::{Request, Status, Streaming};

use crate::catalogue::CATALOGUE;
use crate::error::Error;
use crate::player::{Out, Player};
use crate::settings::Setup;
use crate::v1::catalogue_service_client::CatalogueServiceClient;
use crate::v1::play_service_client::PlayServiceClient;
use crate::v1::{GetCatalogueRequest, Goodbye, PlayRequest, PlayResponse, Welcome};

/// The version of the protocol that this crate speaks.
const PROTOCOL_VERSION: u32 = 1;
/// How long the server may take to accept the bot, to answer another call, and to end the stream after a goodbye.
const WELCOME_TIME: Duration = Duration::from_secs(20);
const ANSWER_TIME: Duration = Duration::from_secs(2);
const GOODBYE_TIME: Duration = Duration::from_secs(5);
/// How long an answer may wait for others.
const HOLD: Duration = Duration::from_millis(2);
/// The largest batch that the server may send, in bytes.
const LARGEST_MESSAGE: usize = 64 << 20;
/// Bounds of the pauses between attempts to find a lost server.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The session with the server, on one stream after the other.
pub(crate) struct Session {
    setup: Setup,
    player: Arc<Player>,
    /// To and from the server on the last stream that had a welcome.
    stream: Option<(Out, Streaming<PlayResponse>)>,
    /// Since when that stream is lost.
    lost: Option<Instant>,
    /// Whether the server said that it shuts down.
    shutdown: bool,
    /// Upper bound of the last pause; zero once there was more than a welcome.
    pause: Duration,
}

/// A stream, and its first message.
type Opened = (Streaming<PlayResponse>, Option<PlayResponse>);

impl Session {
    pub(crate) fn new(setup: Setup, player: Arc<Player>) -> Self {
        Self { setup, player, stream: None, lost: None, shutdown: false, pause: Duration::ZERO }
    }

    /// Plays on one stream after the other, until one of them ends for good.
    pub(crate) async fn run(&mut self) -> Result<(), Error> {
        loop {
            let Err(mut error) = self.play().await else { return Ok(()) };
            let server = &self.setup.server;
            let Some(least) = error.retry_after else { return Err(error) };
            if self.stream.is_none() {
                let is_plain = self.setup.endpoint.uri().scheme_str() == Some("http") && !server.starts_with("unix:");
                if error.is_vague && is_plain && !self.answers().await {
                    let advice = format!("if it uses TLS, write HAPPYCITY_SERVER=grpcs://{server}");
                    error.text = format!("{server} does not answer without TLS; {advice}");
                }
                return Err(error);
            }
            self.shutdown |= error.reason == "SHUTTING_DOWN";
            let is_new = self.lost.is_none();
            let lost = self.lost.get_or_insert_with(Instant::now).elapsed();
            let left = self.setup.reconnect.saturating_sub(lost);
            if left.is_zero() || least > left {
                error.text = format!("no connection to {server} for {} s: {error}", lost.as_secs());
                return if self.shutdown { Ok(()) } else { Err(error) };
            }
            if is_new {
                log::warn!("{error}; trying again");
            }
            // Random, to spread the bots of a server that was restarted; the last attempt is when the time is over.
            self.pause = (2 * self.pause).clamp(FIRST_PAUSE, LONGEST_PAUSE);
            sleep(self.pause.mul_f64(fastrand::f64()).max(least).min(left)).await;
        }
    }

    /// Says goodbye to the server if the stream is open, and waits at most `GOODBYE_TIME` for its end.
    pub(crate) async fn leave(&mut self) {
        if let Some((out, stream)) = &mut self.stream {
            self.player.send(out, PlayRequest { goodbye: Some(Goodbye {}), ..PlayRequest::default() });
            let ended = async { while let Ok(Some(_)) = stream.message().await {} };
            let _ = timeout(GOODBYE_TIME, ended).await;
        }
    }

    /// Plays on one stream, from the hello to its end.
    async fn play(&mut self) -> Result<(), Error> {
        let server = &self.setup.server;
        let failed = |action| move |status| Error::of_status(server, &status, action);
        let broken = |what| Error::of_protocol(server, what);
        let (out, requests) = unbounded_channel();
        let _ = out.send(PlayRequest { hello: Some(self.setup.hello.clone()), ..PlayRequest::default() });
        let opened = timeout(WELCOME_TIME, self.open(requests)).await;
        let opened = opened.unwrap_or_else(|_| Err(Status::from_error("no welcome within 20 s".into())));
        let (stream, first) = opened.map_err(failed("refused the bot"))?;
        let Some(batch) = first else { return Ok(()) };
        let welcome = batch.welcome.as_ref().ok_or_else(|| broken("its first message has no welcome"))?;
        greet(server, welcome);
        self.setup.hello.resume_token = Some(welcome.resume_token.clone());
        (self.lost, self.shutdown) = (None, false);
        let (out, stream) = self.stream.insert((out, stream));
        self.shutdown |= self.player.handle(batch, out).map_err(broken)?;
        while let Some(batch) = stream.message().await.map_err(failed("ended the session"))? {
            self.pause = Duration::ZERO;
            self.shutdown |= self.player.handle(batch, out).map_err(broken)?;
        }
        Ok(())
    }

    /// Opens a stream on a new connection.
    async fn open(&self, requests: UnboundedReceiver<PlayRequest>) -> Result<Opened, Status> {
        let requests = stream::unfold((requests, self.player.clone()), |(mut requests, player)| async {
            Some((gather(&mut requests, &player).await?, (requests, player)))
        });
        let mut request = Request::new(requests);
        if let Some(authorization) = &self.setup.authorization {
            request.metadata_mut().insert("authorization", authorization.clone());
        }
        let client = PlayServiceClient::new(self.setup.endpoint.connect_lazy());
        let mut stream = client.max_decoding_message_size(LARGEST_MESSAGE).play(request).await?.into_inner();
        let first = stream.message().await?;
        Ok((stream, first))
    }

    /// Returns whether the server answers another call, even if by refusing it: then it does speak gRPC.
    async fn answers(&self) -> bool {
        let mut client = CatalogueServiceClient::new(self.setup.endpoint.connect_lazy());
        let answer = timeout(ANSWER_TIME, client.get_catalogue(GetCatalogueRequest {})).await;
        answer.is_ok_and(|answer| answer.err().is_none_or(|status| status.source().is_none()))
    }
}

/// Returns what has gathered while the last request was being written. While bots are busy, it waits a moment for what
/// they add: a request for each answer would cost server and bot half of their rate.
async fn gather(requests: &mut UnboundedReceiver<PlayRequest>, player: &Player) -> Option<PlayRequest> {
    let mut request = requests.recv().await?;
    if request.pong.is_none() && request.goodbye.is_none() {
        let _ = timeout(HOLD, player.rest()).await;
    }
    while let Ok(part) = requests.try_recv() {
        request.answers.extend(part.answers);
        request.resigns.extend(part.resigns);
        request.pong = part.pong.or(request.pong);
        request.goodbye = part.goodbye.or(request.goodbye);
    }
    Some(request)
}

fn greet(server: &str, welcome: &Welcome) {
    let resumed = if welcome.match_ids.is_empty() { "" } else { ", and the games go on" };
    log::info!("connected to {server}{resumed}");
    let (theirs, own) = (welcome.protocol_version, PROTOCOL_VERSION);
    if theirs > own {
        log::warn!("the server speaks protocol version {theirs}, this SDK version {own}: what is new is left out");
    }
    if welcome.catalogue_digest != CATALOGUE.digest {
        log::warn!("the server's cards are not those of this SDK: some are new or changed");
    }
}
