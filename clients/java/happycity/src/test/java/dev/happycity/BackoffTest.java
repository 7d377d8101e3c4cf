package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class BackoffTest {
  /** Pauses are random, and their bound doubles from 0.1 s to 5 s. */
  @Test
  void doubles() {
    Backoff backoff = new Backoff();
    Duration bound = Backoff.FIRST_PAUSE;
    for (int i = 0; i < 20; i++) {
      assertBelow(bound, backoff.next());
      Duration twice = bound.multipliedBy(2);
      bound = twice.compareTo(Backoff.LONGEST_PAUSE) < 0 ? twice : Backoff.LONGEST_PAUSE;
    }
    backoff.reset();
    assertBelow(Backoff.FIRST_PAUSE, backoff.next());
  }

  private static void assertBelow(Duration bound, Duration pause) {
    assertTrue(!pause.isNegative() && pause.compareTo(bound) < 0, pause + ", below " + bound);
  }
}
