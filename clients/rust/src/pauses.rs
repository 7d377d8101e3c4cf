use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a bot waits before it connects again: the pauses double until its server plays again.
pub(crate) struct Pauses {
    reconnect: Duration,
    bound: Duration,
    /// When the last stream ended that the server had welcomed.
    pub(crate) lost_at: Option<Instant>,
}

impl Pauses {
    pub(crate) fn new(reconnect: Duration) -> Self {
        Self { reconnect, bound: FIRST_PAUSE, lost_at: None }
    }

    /// Returns the pause after a stream that brought some messages; `None` gives the server up. The delay is what the
    /// server asks for at least. Chance takes a share of the pause, from 0 to 1: it spreads the bots of a server that
    /// was restarted.
    pub(crate) fn next(&mut self, now: Instant, messages: usize, delay: Duration, share: f64) -> Option<Duration> {
        if messages > 0 {
            self.lost_at = Some(now);
        }
        if messages > 1 {
            self.bound = FIRST_PAUSE; // a server that only welcomes and drops bots is not to be hammered
        }
        let left = self.reconnect.saturating_sub(now - self.lost_at?);
        if left <= delay {
            return None;
        }
        let pause = self.bound.mul_f64(share).min(left).max(delay);
        self.bound = (2 * self.bound).min(LONGEST_PAUSE);
        Some(pause)
    }
}
