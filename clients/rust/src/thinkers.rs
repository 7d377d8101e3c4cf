use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::bot::Factory;
use crate::player::Player;

/// The threads on which bots choose. Nobody who brings them work waits for it.
///
/// They and the connection share the player; its lock is held for moments only, and never while a bot thinks.
pub(crate) struct Thinkers {
    shared: Arc<Shared>,
    /// Closed when all threads have ended.
    ended: mpsc::Receiver<()>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    player: Player,
    /// Threads that wait for work.
    idle: usize,
}

impl Thinkers {
    /// Starts the threads, within the runtime of the caller.
    pub(crate) fn start(number: usize, factory: Arc<Factory>) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), work: Condvar::new() });
        let (running, ended) = mpsc::channel(1);
        for _ in 0..number {
            let (shared, factory, running) = (shared.clone(), factory.clone(), running.clone());
            let runtime = Handle::current();
            let work = move || {
                let _inside = runtime.enter();
                shared.work(&*factory);
                drop(running);
            };
            thread::Builder::new().name("thinker".into()).spawn(work).expect("the system has room for a thread");
        }
        Self { shared, ended }
    }

    /// Looks at the games or changes them.
    pub(crate) fn with_player<T>(&self, change: impl FnOnce(&mut Player) -> T) -> T {
        let mut state = self.shared.lock();
        let result = change(&mut state.player);
        let needed = if state.player.is_closed() { state.idle } else { state.idle.min(state.player.waiting()) };
        drop(state);
        for _ in 0..needed {
            self.shared.work.notify_one();
        }
        result
    }

    /// Lets the threads end, and returns when they have, or after that time.
    pub(crate) async fn close(mut self, at_most: Duration) {
        self.with_player(Player::close);
        let _ = timeout(at_most, self.ended.recv()).await; // those that still run are left alone
    }
}

/// Lets the threads end if `close` was not called: the future of `play` may be dropped at any time.
impl Drop for Thinkers {
    fn drop(&mut self) {
        self.with_player(Player::close);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the player")
    }

    /// Does jobs until the player is closed and nothing is left to do.
    fn work(&self, factory: &Factory) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.player.job() {
                drop(state);
                let done = job.perform(factory);
                state = self.lock();
                state.player.done(done);
            } else if state.player.is_closed() {
                return;
            } else {
                state.idle += 1;
                state = self.work.wait(state).expect("nothing panics while it holds the player");
                state.idle -= 1;
            }
        }
    }
}
