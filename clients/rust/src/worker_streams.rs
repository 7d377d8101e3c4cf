use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::Settings;
use crate::bot::Factory;
use crate::error::Error;
use crate::play::play_session;
use crate::settings::{Setup, UNLIMITED};
use crate::thinkers::Slots;

/// Keeps a stream to each worker that the server's last welcome named, with a session of its own.
///
/// A stream that can't be opened is no reason to leave the server: the games are played there then. Streams end at once
/// when this is dropped.
pub(crate) struct WorkerStreams {
    /// Of the stream to the server.
    settings: Settings,
    name: String,
    games: u32,
    factory: Arc<Factory>,
    slots: Slots,
    /// What stops a stream when it is dropped, by address. It is closed when the stream has ended.
    streams: HashMap<String, oneshot::Sender<()>>,
    tasks: JoinSet<()>,
}

impl WorkerStreams {
    pub(crate) fn new(settings: Settings, setup: &Setup, factory: Arc<Factory>, slots: Slots) -> Self {
        let (name, games) = (setup.name.clone(), setup.games);
        Self { settings, name, games, factory, slots, streams: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Opens streams to the workers at these addresses, and ends those to others.
    ///
    /// A bot with a maximum number of games opens none, as it holds for all streams together.
    pub(crate) fn follow(&mut self, addresses: &[String]) {
        let wanted: HashSet<&String> = addresses.iter().filter(|_| self.games == UNLIMITED).collect();
        self.streams.retain(|address, stream| wanted.contains(address) && !stream.is_closed());
        for address in wanted {
            if !self.streams.contains_key(address) {
                self.open(address.clone());
            }
        }
    }

    /// Ends all streams.
    pub(crate) async fn close(mut self) {
        self.streams.clear();
        while self.tasks.join_next().await.is_some() {}
    }

    fn open(&mut self, address: String) {
        let (stop, stopped) = oneshot::channel();
        self.streams.insert(address.clone(), stop);
        let settings = Settings {
            server: Some(address.clone()),
            // When the server is lost for good, its workers are given up too.
            wait: Duration::MAX,
            reconnect: Some(Duration::MAX),
            ..self.settings.clone()
        };
        let (name, factory, slots) = (self.name.clone(), self.factory.clone(), self.slots.clone());
        self.tasks.spawn(async move {
            if let Err(error) = keep(settings, factory, slots, stopped).await {
                log::warn!("{name}: no games at the worker {address}: {error}");
            }
        });
    }
}

/// Plays at a worker until the session there ends for good, or until the stream is stopped.
async fn keep(
    settings: Settings,
    factory: Arc<Factory>,
    slots: Slots,
    stopped: oneshot::Receiver<()>,
) -> Result<(), Error> {
    let stop = pin!(async {
        let _ = stopped.await;
    });
    play_session(&settings.setup()?, factory, slots, &mut |_| {}, stop).await
}
