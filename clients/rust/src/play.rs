use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tonic::Code;

use crate::GameStarted;
use crate::backoff::Backoff;
use crate::bot::{Bot, Factory, any_bot};
use crate::connection::Connection;
use crate::error::Error;
use crate::player::Player;
use crate::settings::{Settings, Setup};
use crate::stream_status::StreamStatus;
use crate::thinkers::{Slots, Thinkers};
use crate::v1::{Hello, Welcome};
use crate::worker_streams::WorkerStreams;

/// Bots that still think when there is nothing left to play have so long to return.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// Plays all games that the server offers, each with a bot that the factory makes, until the server ends the session
/// for good. When `stop` is ready, it says goodbye to the server and returns.
///
/// A connection that is lost is made again, and the games go on. A bot that plays any number of games at once also plays
/// at the workers of the server.
///
/// # Errors
///
/// [`Error::Setting`] if a setting can't be used; [`Error::Connection`] if there is no server, if it refuses the bot,
/// or if it didn't come back.
pub async fn play<F, B>(factory: F, settings: Settings, stop: impl Future<Output = ()> + Send) -> Result<(), Error>
where
    F: Fn(&GameStarted) -> B + Send + Sync + 'static,
    B: Bot + 'static,
{
    play_any(any_bot(factory), settings, pin!(stop)).await
}

/// Ready when the bot has to stop.
pub(crate) type Stop<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send)>;

pub(crate) async fn play_any(factory: Arc<Factory>, settings: Settings, stop: Stop<'_>) -> Result<(), Error> {
    let setup = settings.clone().setup()?;
    let slots = Slots::new(setup.thinkers);
    let mut workers = WorkerStreams::new(settings, &setup, factory.clone(), slots.clone());
    let mut on_welcome = |welcome: &Welcome| workers.follow(&welcome.worker_addresses);
    let result = play_session(&setup, factory, slots, &mut on_welcome, stop).await;
    workers.close().await;
    result
}

/// Called with each welcome. It is Sync so that a connection may be shared while it waits.
pub(crate) type OnWelcome<'a> = &'a mut (dyn FnMut(&Welcome) + Send + Sync);

/// Plays on one server, with games of its own.
pub(crate) async fn play_session(
    setup: &Setup,
    factory: Arc<Factory>,
    slots: Slots,
    on_welcome: OnWelcome<'_>,
    stop: Stop<'_>,
) -> Result<(), Error> {
    let thinkers = Thinkers::start(setup.thinkers, slots, factory);
    let result = Session::new(setup, &thinkers, on_welcome).run(stop).await;
    thinkers.close(CLOSING_TIME).await;
    result
}

/// One connection after the other, until one of them ends for good.
struct Session<'a> {
    setup: &'a Setup,
    thinkers: &'a Thinkers,
    on_welcome: OnWelcome<'a>,
    backoff: Backoff,
    /// To resume with.
    token: String,
    /// When the search for a server ends.
    deadline: Instant,
    /// Whether the server that spoke last said that it shuts down.
    shut_down: bool,
    /// Whether it was logged that the server is gone.
    searching: bool,
}

impl<'a> Session<'a> {
    fn new(setup: &'a Setup, thinkers: &'a Thinkers, on_welcome: OnWelcome<'a>) -> Self {
        Self {
            setup,
            thinkers,
            on_welcome,
            backoff: Backoff::new(),
            token: String::new(),
            deadline: Instant::now() + setup.wait,
            shut_down: false,
            searching: false,
        }
    }

    async fn run(mut self, mut stop: Stop<'_>) -> Result<(), Error> {
        loop {
            let Some(status) = self.connect(stop.as_mut()).await else { return Ok(()) };
            if status.code == Code::Ok {
                return Ok(());
            }
            if !status.is_retryable() {
                return Err(status.refused(self.setup));
            }
            let pause = self.backoff.next().max(status.retry_after.unwrap_or_default());
            if Instant::now() + pause >= self.deadline {
                return self.give_up(&status);
            }
            if !self.searching {
                self.searching = true;
                log::warn!("{}: {}; trying again", self.setup.name, status.text);
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = &mut stop => return Ok(()),
            }
        }
    }

    /// Plays on one connection, and returns how it ended; `None` if the bot was stopped.
    async fn connect(&mut self, stop: Stop<'_>) -> Option<StreamStatus> {
        let hello = self.hello();
        let mut connection = Connection::new(self.setup, self.thinkers, self.on_welcome, hello);
        let status = connection.run(stop).await?;
        if connection.received > 1 {
            self.backoff = Backoff::new(); // a server that only welcomes and drops bots is not to be hammered
        }
        if connection.welcome.is_some() || !status.reason.is_empty() {
            self.shut_down = status.reason == "SHUTTING_DOWN";
        }
        if let Some(welcome) = connection.welcome {
            self.token = welcome.resume_token;
            self.deadline = Instant::now() + self.setup.reconnect;
            self.searching = false;
        }
        Some(status)
    }

    fn hello(&self) -> Hello {
        let resumes = !self.token.is_empty();
        Hello {
            name: self.setup.name.clone(),
            max_games: (self.setup.games > 0).then_some(self.setup.games),
            software: concat!("happycity-rust/", env!("CARGO_PKG_VERSION")).into(),
            resume_token: self.token.clone(),
            info: Some(self.setup.info.clone()),
            match_ids: if resumes { self.thinkers.with_player(|player| Player::match_ids(player)) } else { vec![] },
        }
    }

    /// Ends the search for a server. It is no error if the server ended the session in good order.
    fn give_up(&self, status: &StreamStatus) -> Result<(), Error> {
        if self.shut_down {
            log::info!("{}: the server has shut down", self.setup.name);
            return Ok(());
        }
        Err(status.lost(self.setup))
    }
}
