use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tonic::Code;

use crate::backoff::Backoff;
use crate::bot::{Bot, Factory, any_bot};
use crate::connection::Connection;
use crate::error::Error;
use crate::parting::Parting;
use crate::settings::{Settings, Setup};
use crate::thinkers::Thinkers;
use crate::v1::Hello;
use crate::{GameStarted, PROTOCOL_VERSION};

/// Bots that still think when there is nothing left to play have so long to return.
const LAST_THOUGHTS: Duration = Duration::from_secs(1);

/// Plays all games that the server offers, with a bot of the factory's for each, until it parts for good. When `stop`
/// is ready, it says goodbye to the server and returns.
///
/// A connection that is lost is made again, and the games go on.
///
/// # Errors
///
/// [`Error::Setting`] if a setting makes no sense; [`Error::Connection`] if there is no server, if it refuses the
/// bot, or if it didn't come back.
pub async fn play<F, B>(factory: F, settings: Settings, stop: impl Future<Output = ()> + Send) -> Result<(), Error>
where
    F: Fn(&GameStarted) -> B + Send + Sync + 'static,
    B: Bot + 'static,
{
    play_any(any_bot(factory), settings, pin!(stop)).await
}

/// Ready when the bot is to stop.
pub(crate) type Stop<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send)>;

pub(crate) async fn play_any(factory: Arc<Factory>, settings: Settings, stop: Stop<'_>) -> Result<(), Error> {
    let setup = settings.setup()?;
    let thinkers = Thinkers::start(setup.thinkers, factory);
    let result = Session::new(&setup, &thinkers).run(stop).await;
    thinkers.close(LAST_THOUGHTS).await;
    result
}

/// One connection after the other, until one of them ends for good.
struct Session<'a> {
    setup: &'a Setup,
    thinkers: &'a Thinkers,
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
    fn new(setup: &'a Setup, thinkers: &'a Thinkers) -> Self {
        Self {
            setup,
            thinkers,
            backoff: Backoff::new(),
            token: String::new(),
            deadline: Instant::now() + setup.wait,
            shut_down: false,
            searching: false,
        }
    }

    async fn run(mut self, mut stop: Stop<'_>) -> Result<(), Error> {
        loop {
            let Some(ending) = self.connect(stop.as_mut()).await else { return Ok(()) };
            if ending.code == Code::Ok {
                return Ok(());
            }
            if !ending.is_passing() {
                return Err(ending.refused(self.setup));
            }
            let pause = self.backoff.next().max(ending.retry_after);
            if Instant::now() + pause >= self.deadline {
                return self.give_up(&ending);
            }
            self.tell_search(&ending);
            tokio::select! {
                () = sleep(pause) => {}
                () = &mut stop => return Ok(()),
            }
        }
    }

    /// Plays on one connection, and tells how that ended; `None` if the bot was stopped.
    async fn connect(&mut self, stop: Stop<'_>) -> Option<Parting> {
        let mut connection = Connection::new(self.setup, self.thinkers, self.hello());
        let ending = connection.run(stop).await?;
        if connection.heard > 1 {
            self.backoff = Backoff::new(); // a server that only welcomes and drops bots is not to be hammered
        }
        if connection.welcome.is_some() || !ending.reason.is_empty() {
            self.shut_down = ending.reason == "SHUTTING_DOWN";
        }
        if let Some(welcome) = connection.welcome {
            self.token = welcome.resume_token;
            self.deadline = Instant::now() + self.setup.reconnect;
            self.searching = false;
        }
        Some(ending)
    }

    fn hello(&self) -> Hello {
        let games = if self.token.is_empty() { Vec::new() } else { self.thinkers.with_games(|games| games.known()) };
        Hello {
            name: self.setup.name.clone(),
            protocol_version: PROTOCOL_VERSION,
            max_games: self.setup.games,
            software: concat!("happycity-rust/", env!("CARGO_PKG_VERSION")).into(),
            resume_token: self.token.clone(),
            games,
        }
    }

    fn tell_search(&mut self, ending: &Parting) {
        if !self.searching {
            self.searching = true;
            log::warn!("no connection to {}: {}; trying again", self.setup.server, ending.text);
        }
    }

    /// Ends the search for a server. It is no error if that parted in good order.
    fn give_up(&self, ending: &Parting) -> Result<(), Error> {
        if self.shut_down {
            log::info!("{} has shut down", self.setup.server);
            return Ok(());
        }
        Err(ending.lost(self.setup))
    }
}
