use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// How long to wait between two attempts to connect: a random share of a bound that doubles with every attempt. The
/// randomness spreads the bots of a server that was restarted.
pub(crate) struct Backoff {
    bound: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { bound: FIRST }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.bound.mul_f64(fastrand::f64());
        self.bound = LONGEST.min(2 * self.bound);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pauses are random, and their bound doubles from 0.1 s to 5 s.
    #[test]
    fn bounds() {
        let mut backoff = Backoff::new();
        let mut bound = FIRST;
        let mut shares = Vec::new();
        for _ in 0..50 {
            let pause = backoff.next();
            assert!(pause <= bound, "a pause of {pause:?}, above {bound:?}");
            shares.push(pause.as_secs_f64() / bound.as_secs_f64());
            bound = LONGEST.min(2 * bound);
        }
        assert_eq!(backoff.bound, LONGEST);
        assert!(shares.iter().any(|share| *share < 0.5) && shares.iter().any(|share| *share > 0.5), "{shares:?}");
    }
}
