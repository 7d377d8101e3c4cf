use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use tonic::Request;

use crate::PROTOCOL_VERSION;
use crate::games::Games;
use crate::outbox::{Outbox, Requests};
use crate::parting::Parting;
use crate::play::Stop;
use crate::settings::Setup;
use crate::thinkers::Thinkers;
use crate::transport::LARGEST_MESSAGE;
use crate::v1::play_service_client::PlayServiceClient;
use crate::v1::{Hello, PlayResponse, Welcome};

/// A server that has not welcomed the bot by then is given up.
const WELCOME_TIME: Duration = Duration::from_secs(20);
/// A server that is silent for so many of its own heartbeats is taken for dead.
const SILENT_HEARTBEATS: u32 = 3;
/// The server has so long to end the stream after a goodbye; longer in tests, where a bot may be slow to say it.
const GOODBYE_TIME: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 1 });

/// One stream to the server, from the hello to its end.
pub(crate) struct Connection<'a> {
    setup: &'a Setup,
    thinkers: &'a Thinkers,
    out: Outbox,
    /// `None` until the server answered the hello.
    pub(crate) welcome: Option<Welcome>,
    /// How many messages came.
    pub(crate) heard: u64,
    /// How long the welcomed server may be silent; `None` if as long as it likes.
    patience: Option<Duration>,
    /// When the server will have been silent for too long; `None` if it may.
    silence: Option<Instant>,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(setup: &'a Setup, thinkers: &'a Thinkers, hello: Hello) -> Self {
        let silence = Some(Instant::now() + WELCOME_TIME);
        Self { setup, thinkers, out: Outbox::new(hello), welcome: None, heard: 0, patience: None, silence }
    }

    /// Plays until the stream ends, and tells how it did; `None` if that was because of `stop`.
    pub(crate) async fn run(&mut self, stop: Stop<'_>) -> Option<Parting> {
        let thinkers = self.thinkers;
        let mut exchange = pin!(self.exchange());
        let ending = tokio::select! {
            ending = &mut exchange => Some(ending.err().unwrap_or_else(Parting::good)),
            () = stop => {
                if thinkers.with_games(Games::leave) {
                    let _ = timeout(GOODBYE_TIME, exchange).await; // it was said; whether it was heard doesn't matter
                }
                None
            }
        };
        thinkers.with_games(Games::detach);
        ending
    }

    /// Reads until the stream ends. A connection is made for each stream: a new one must not come back to an old
    /// one's dead socket.
    async fn exchange(&mut self) -> Result<(), Parting> {
        let channel = self.before_silence(self.setup.endpoint.connect()).await??;
        let mut client = PlayServiceClient::new(channel).max_decoding_message_size(LARGEST_MESSAGE);
        let mut request = Request::new(Requests::of(self.out.clone()));
        self.setup.bearer.show(request.metadata_mut());
        let mut stream = self.before_silence(client.play(request)).await??.into_inner();
        while let Some(batch) = self.before_silence(stream.message()).await?? {
            self.heard += 1;
            self.take(batch)?;
        }
        Ok(())
    }

    async fn before_silence<T>(&self, wait: impl Future<Output = T>) -> Result<T, Parting> {
        match self.silence {
            Some(deadline) => timeout_at(deadline, wait).await.map_err(|_| Parting::silent()),
            None => Ok(wait.await),
        }
    }

    /// Deals with a batch. It never waits for a bot, so pings are answered while bots think.
    fn take(&mut self, mut batch: PlayResponse) -> Result<(), Parting> {
        if let Some(ping) = batch.ping {
            self.out.pong(ping);
        }
        if self.welcome.is_none() {
            self.greet(batch.welcome.take())?;
        }
        self.silence = self.patience.map(|patience| Instant::now() + patience);
        for notice in &batch.notices {
            match notice.game_id {
                0 => log::warn!("{}", notice.text),
                game => log::warn!("game {game}: {}", notice.text),
            }
        }
        self.thinkers.with_games(|games| games.handle(batch));
        Ok(())
    }

    /// Takes the server's first words.
    fn greet(&mut self, welcome: Option<Welcome>) -> Result<(), Parting> {
        let welcome =
            welcome.ok_or_else(|| Parting::unusable("it began without a welcome; is it a Happy City server?"))?;
        if welcome.protocol_version != PROTOCOL_VERSION {
            return Err(Parting::unusable(format!(
                "it wants to speak version {} of the protocol, this bot speaks version {PROTOCOL_VERSION}",
                welcome.protocol_version
            )));
        }
        let how = if welcome.resumed { "back on" } else { "connected to" };
        log::info!("{how} {} as {}", self.setup.server, self.setup.name);
        self.thinkers.with_games(|games| games.attach(self.out.clone(), welcome.resumed));
        let heartbeat = Duration::from_millis(welcome.heartbeat_ms.into());
        self.patience = (!heartbeat.is_zero()).then_some(SILENT_HEARTBEATS * heartbeat);
        self.welcome = Some(welcome);
        Ok(())
    }
}
