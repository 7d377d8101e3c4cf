use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};
use tonic::{Request, Status, Streaming};

use crate::catalogue::CATALOGUE;
use crate::error::Error;
use crate::pauses::Pauses;
use crate::player::{Out, Player};
use crate::settings::Setup;
use crate::v1::play_service_client::PlayServiceClient;
use crate::v1::{Goodbye, PlayRequest, PlayResponse, Welcome};

/// How long the server may take to accept the bot, and to end the stream after a goodbye.
const WELCOME_TIME: Duration = Duration::from_secs(20);
const GOODBYE_TIME: Duration = Duration::from_secs(5);
/// How long an answer may wait for others.
const HOLD: Duration = Duration::from_millis(2);
/// The largest batch that the server may send, in bytes.
const LARGEST_MESSAGE: usize = 64 << 20;

/// The session with the server, on one stream after the other.
pub(crate) struct Session {
    setup: Setup,
    player: Arc<Player>,
    /// To and from the server on the last stream that had a welcome.
    stream: Option<(Out, Streaming<PlayResponse>)>,
    /// The number of messages on the last stream.
    messages: usize,
    /// Whether the server said that it shuts down.
    shutdown: bool,
}

/// A stream, and its first message.
type Opened = (Streaming<PlayResponse>, Option<PlayResponse>);

impl Session {
    pub(crate) fn new(setup: Setup, player: Arc<Player>) -> Self {
        Self { setup, player, stream: None, messages: 0, shutdown: false }
    }

    /// Plays on one stream after the other, until one of them ends for good.
    pub(crate) async fn run(&mut self) -> Result<(), Error> {
        let mut pauses = Pauses::new(self.setup.reconnect);
        loop {
            let Err(mut error) = self.play().await else { return Ok(()) };
            let Some(least) = error.retry_after.filter(|_| self.stream.is_some()) else { return Err(error) };
            self.shutdown |= error.reason == "SHUTTING_DOWN";
            let now = Instant::now();
            let Some(pause) = pauses.next(now, self.messages, least, fastrand::f64()) else {
                if self.shutdown {
                    log::info!("the server has shut down");
                    return Ok(());
                }
                let lost = pauses.lost_at.map_or(0, |lost_at| (now - lost_at).as_secs());
                if lost > 0 {
                    error.text = format!("no connection to {} for {lost} s: {error}", self.setup.server);
                }
                return Err(error);
            };
            if self.messages > 0 {
                log::warn!("{error}; trying again");
            }
            sleep(pause).await;
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
        self.messages = 0;
        let (server, url) = (&self.setup.server, &self.setup.url);
        let failed = |is_welcomed| move |status| Error::of_status(server, url, &status, is_welcomed);
        let broken = |what| Error::of_protocol(server, what);
        let (out, requests) = unbounded_channel();
        let _ = out.send(PlayRequest { hello: Some(self.setup.hello.clone()), ..PlayRequest::default() });
        let opened = timeout(WELCOME_TIME, self.open(requests)).await;
        let opened = opened.unwrap_or_else(|_| Err(Status::from_error("no welcome within 20 s".into())));
        let (stream, first) = opened.map_err(failed(false))?;
        let Some(batch) = first else { return Ok(()) };
        let welcome = batch.welcome.as_ref().ok_or_else(|| broken("its first message has no welcome"))?;
        greet(server, welcome);
        self.setup.hello.resume_token = Some(welcome.resume_token.clone());
        (self.messages, self.shutdown) = (1, false);
        let (out, stream) = self.stream.insert((out, stream));
        self.shutdown |= self.player.handle(batch, out).map_err(broken)?;
        while let Some(batch) = stream.message().await.map_err(failed(true))? {
            self.messages += 1;
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
    if welcome.catalogue_digest != CATALOGUE.digest {
        log::warn!("the server's cards are not those of this SDK: some are new or changed");
    }
}
