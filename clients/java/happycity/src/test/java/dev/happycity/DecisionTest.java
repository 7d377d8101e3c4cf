package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DecisionTest {
  private static final dev.happycity.v1.Decision MESSAGE =
      dev.happycity.v1.Decision.getDefaultInstance();

  /** The time left shrinks to zero; without a limit there is none. */
  @Test
  void timeLeft() {
    assertEquals(Optional.empty(), new Decision(MESSAGE).timeLeft());
    assertEquals(Optional.of(Duration.ZERO), withTime(0).timeLeft());
    Duration left = withTime(10_000_000).timeLeft().orElseThrow();
    assertTrue(left.compareTo(Duration.ofSeconds(10)) <= 0, left.toString());
    assertTrue(left.compareTo(Duration.ofSeconds(5)) > 0, left.toString());
  }

  /** A later note replaces an earlier one of the same name. */
  @Test
  void notes() {
    Decision decision = new Decision(MESSAGE);
    decision.note("depth", 2);
    decision.note("depth", 3);
    assertEquals(Map.of("depth", 3.0), decision.notes());
  }

  private static Decision withTime(long microseconds) {
    Clock clock = Clock.newBuilder().setTimeLeftUs(microseconds).build();
    return new Decision(MESSAGE.toBuilder().setClock(clock).build());
  }
}
