use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::bot::Factory;
use crate::games::Games;

/// The threads on which bots choose. Whoever brings them work never waits for it.
///
/// They and the connection share the games; the lock is held for moments only, and never while a bot thinks.
pub(crate) struct Thinkers {
    shared: Arc<Shared>,
    /// Ends when all threads have ended.
    gone: mpsc::Receiver<()>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    games: Games,
    /// Threads that wait for work.
    idle: usize,
}

impl Thinkers {
    /// Starts the threads, within the runtime of whoever calls it.
    pub(crate) fn start(number: usize, factory: Arc<Factory>) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), work: Condvar::new() });
        let (here, gone) = mpsc::channel(1);
        for _ in 0..number {
            let (shared, factory, here) = (shared.clone(), factory.clone(), here.clone());
            let runtime = Handle::current();
            let think = move || {
                let _inside = runtime.enter();
                shared.think(&*factory);
                drop(here);
            };
            thread::Builder::new().name("thinker".into()).spawn(think).expect("the system has room for a thread");
        }
        Self { shared, gone }
    }

    /// Looks at the games or changes them.
    pub(crate) fn with_games<T>(&self, change: impl FnOnce(&mut Games) -> T) -> T {
        let mut state = self.shared.lock();
        let result = change(&mut state.games);
        let wanted = if state.games.is_closed() { state.idle } else { state.idle.min(state.games.waiting()) };
        drop(state);
        for _ in 0..wanted {
            self.shared.work.notify_one();
        }
        result
    }

    /// Lets the threads end, and returns when they have, or after that time.
    pub(crate) async fn close(mut self, at_most: Duration) {
        self.with_games(Games::close);
        let _ = timeout(at_most, self.gone.recv()).await; // those that are left don't matter any more
    }
}

/// Lets the threads end if nobody has: whoever plays may be dropped at any time.
impl Drop for Thinkers {
    fn drop(&mut self) {
        self.with_games(Games::close);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the games")
    }

    /// Does chores until the games are closed and nothing is left to do.
    fn think(&self, factory: &Factory) {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.games.task() {
                drop(state);
                let done = task.perform(factory);
                state = self.lock();
                state.games.done(done);
            } else if state.games.is_closed() {
                return;
            } else {
                state.idle += 1;
                state = self.work.wait(state).expect("nothing panics while it holds the games");
                state.idle -= 1;
            }
        }
    }
}
