package dev.happycity;

import java.time.Duration;

/**
 * How long a bot waits before it connects again: the pauses double until its server plays again.
 * All times are milliseconds.
 */
final class Pauses {
  private static final long FIRST_PAUSE = 100;
  private static final long LONGEST_PAUSE = 5000;

  private final long reconnect;
  private long bound = FIRST_PAUSE;
  long lostAt; // when the last stream ended that the server had welcomed

  Pauses(Duration reconnect) {
    this.reconnect = reconnect.toMillis();
  }

  /**
   * Returns the pause after a stream that brought some messages; null gives the server up. Chance
   * takes a share of the pause, from 0 to 1: it spreads the bots of a server that was restarted.
   *
   * @param delay what the server asks for at least
   */
  Long next(long now, int messages, long delay, double share) {
    if (messages > 0) {
      lostAt = now;
    }
    if (messages > 1) { // a server that only welcomes and drops bots is not to be hammered
      bound = FIRST_PAUSE;
    }
    long left = reconnect - (now - lostAt);
    if (left <= delay) {
      return null;
    }
    long pause = Math.max(delay, Math.min(left, (long) (share * bound)));
    bound = Math.min(2 * bound, LONGEST_PAUSE);
    return pause;
  }
}
