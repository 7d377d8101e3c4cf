package dev.happycity;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * How long to wait between two attempts to connect: a random share of a bound that doubles with
 * every attempt. The randomness spreads the bots of a server that was restarted.
 */
final class Backoff {
  static final Duration FIRST_PAUSE = Duration.ofMillis(100);
  static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  private long bound = FIRST_PAUSE.toNanos();

  Duration next() {
    long pause = ThreadLocalRandom.current().nextLong(bound);
    bound = Math.min(2 * bound, LONGEST_PAUSE.toNanos());
    return Duration.ofNanos(pause);
  }

  /** Starts again, after a connection that was of use. */
  void reset() {
    bound = FIRST_PAUSE.toNanos();
  }
}
