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
    pub(crate) fn start(number: usize, slots: Slots, factory: Arc<Factory>) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), work: Condvar::new() });
        let (running, ended) = mpsc::channel(1);
        for _ in 0..number {
            let (shared, slots, factory, running) = (shared.clone(), slots.clone(), factory.clone(), running.clone());
            let runtime = Handle::current();
            let work = move || {
                let _inside = runtime.enter();
                shared.work(&slots, &*factory);
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
    fn work(&self, slots: &Slots, factory: &Factory) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.player.job() {
                drop(state);
                let done = slots.fill(|| job.perform(factory));
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

/// How many bots may think at once, on the threads of all servers together. Its clones are the same slots.
#[derive(Clone)]
pub(crate) struct Slots(Arc<(Mutex<usize>, Condvar)>);

impl Slots {
    pub(crate) fn new(number: usize) -> Self {
        Self(Arc::new((Mutex::new(number), Condvar::new())))
    }

    /// Fills a slot while something is done; waits for a free one first.
    fn fill<T>(&self, thing: impl FnOnce() -> T) -> T {
        let (free, freed) = &*self.0;
        let unpoisoned = "nothing panics while it holds the slots";
        let waiting = freed.wait_while(free.lock().expect(unpoisoned), |free| *free == 0);
        *waiting.expect(unpoisoned) -= 1;
        let result = thing();
        *free.lock().expect(unpoisoned) += 1;
        freed.notify_one();
        result
    }
}
