use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use tonic::{Code, Request};

use crate::outbox::{Outbox, Requests};
use crate::play::{OnWelcome, Stop};
use crate::player::Player;
use crate::settings::{LONGEST, Setup};
use crate::stream_status::StreamStatus;
use crate::text::{one_line, place};
use crate::thinkers::Thinkers;
use crate::transport::LARGEST_MESSAGE;
use crate::v1::play_service_client::PlayServiceClient;
use crate::v1::{Hello, NoticeKind, PlayResponse, Welcome};

/// A server that has not welcomed the bot by then is given up.
const WELCOME_TIME: Duration = Duration::from_secs(20);
/// A server that is silent for so many of its ping intervals is taken for dead.
const SILENT_PINGS: u32 = 3;
/// How long the server has to end the stream after a goodbye. Only this crate's tests change it: on a busy machine
/// their bots may be slow.
#[doc(hidden)]
pub static GOODBYE_MILLISECONDS: AtomicU64 = AtomicU64::new(1000);

/// One stream to the server, from the hello to its end.
pub(crate) struct Connection<'a> {
    setup: &'a Setup,
    thinkers: &'a Thinkers,
    on_welcome: OnWelcome<'a>,
    out: Outbox,
    /// What the server said to the hello; `None` until then.
    pub(crate) welcome: Option<Welcome>,
    /// How many messages the server sent.
    pub(crate) received: u64,
    /// How long a server that has welcomed the bot may be silent; `None` if as long as it likes.
    patience: Option<Duration>,
    /// When the server has been silent for too long; `None` if it may.
    deadline: Option<Instant>,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(setup: &'a Setup, thinkers: &'a Thinkers, on_welcome: OnWelcome<'a>, hello: Hello) -> Self {
        let deadline = Some(Instant::now() + WELCOME_TIME);
        let out = Outbox::new(hello);
        Self { setup, thinkers, on_welcome, out, welcome: None, received: 0, patience: None, deadline }
    }

    /// Plays until the stream ends, and returns how it did; `None` if that was because of `stop`.
    pub(crate) async fn run(&mut self, stop: Stop<'_>) -> Option<StreamStatus> {
        let thinkers = self.thinkers;
        let mut exchange = pin!(self.exchange());
        let status = tokio::select! {
            result = &mut exchange => Some(result.err().unwrap_or_else(|| StreamStatus::new(Code::Ok, ""))),
            () = stop => {
                if thinkers.with_player(Player::say_goodbye) {
                    let time = Duration::from_millis(GOODBYE_MILLISECONDS.load(Ordering::Relaxed));
                    let _ = timeout(time, exchange).await; // how it ends doesn't matter
                }
                None
            }
        };
        thinkers.with_player(Player::disconnect);
        status
    }

    /// Reads until the stream ends. A connection is made for each stream: a new one must not come back to an old
    /// one's dead socket.
    async fn exchange(&mut self) -> Result<(), StreamStatus> {
        let channel = self.in_time(self.setup.endpoint.connect()).await??;
        let mut client = PlayServiceClient::new(channel).max_decoding_message_size(LARGEST_MESSAGE);
        let mut request = Request::new(Requests::of(self.out.clone()));
        self.setup.bearer.show(request.metadata_mut());
        let mut stream = self.in_time(client.play(request)).await??.into_inner();
        while let Some(batch) = self.in_time(stream.message()).await?? {
            self.received += 1;
            self.take(batch)?;
        }
        Ok(())
    }

    /// Waits for something of the server's, unless it is silent for too long.
    async fn in_time<T>(&self, event: impl Future<Output = T>) -> Result<T, StreamStatus> {
        let event = unless_malformed(event);
        let Some(deadline) = self.deadline else { return event.await };
        let what = if self.welcome.is_some() { "no sign of life" } else { "no welcome" };
        let silent = |_| StreamStatus::new(Code::Unavailable, &format!("{what} from the server"));
        timeout_at(deadline, event).await.map_err(silent)?
    }

    /// Handles a batch. It never waits for a bot, so pings are answered while bots think.
    fn take(&mut self, mut batch: PlayResponse) -> Result<(), StreamStatus> {
        if let Some(ping) = batch.ping {
            self.out.pong(ping.nonce);
        }
        if self.welcome.is_none() {
            self.greet(batch.welcome.take())?;
        }
        self.deadline = self.patience.map(|patience| Instant::now() + patience);
        for notice in &batch.notices {
            if notice.kind() != NoticeKind::Forfeit {
                // the end of the game says that, with the reason
                let place = place(notice.match_id, notice.round, notice.decision_id);
                let gap = if place.is_empty() { "" } else { ": " };
                log::warn!("{place}{gap}{}", one_line(&notice.text));
            }
        }
        self.thinkers.with_player(|player| player.handle(batch));
        Ok(())
    }

    /// Takes the server's answer to the hello.
    fn greet(&mut self, welcome: Option<Welcome>) -> Result<(), StreamStatus> {
        let no_welcome = "its first message is no welcome; is it a Happy City server?";
        let welcome = welcome.ok_or_else(|| StreamStatus::new(Code::FailedPrecondition, no_welcome))?;
        let how = if welcome.resumed { ", and the games go on" } else { "" };
        log::info!("{}: connected to {}{how}", self.setup.name, self.setup.server);
        self.thinkers.with_player(|player| player.welcome(self.out.clone(), welcome.resumed));
        let interval = welcome.ping_interval.and_then(|interval| Duration::try_from(interval).ok()).unwrap_or_default();
        self.patience = (!interval.is_zero()).then(|| LONGEST.min(interval.saturating_mul(SILENT_PINGS)));
        (self.on_welcome)(&welcome);
        self.welcome = Some(welcome);
        Ok(())
    }
}

/// Waits for something of the server's. tonic panics on a status whose details are no base64:
/// <https://github.com/grpc/grpc-rust/pull/2618>.
async fn unless_malformed<T>(event: impl Future<Output = T>) -> Result<T, StreamStatus> {
    let mut event = pin!(event);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| event.as_mut().poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(_) => Poll::Ready(Err(StreamStatus::new(Code::Unknown, "the server's status is malformed"))),
    })
    .await
}
