package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.Clock;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DecisionTest {
  /** The clock is read as times; what is absent is empty, and zero is a time. */
  @Test
  void clock() {
    Clock clock =
        Clock.newBuilder().setTimeLeftUs(0).setLastThinkUs(1500).setRoundTripUs(300).build();
    Decision decision = Decision.of(decision(1, 1).toBuilder().setClock(clock).build());
    assertEquals(Optional.of(Duration.ZERO), decision.timeLeft());
    assertEquals(Optional.empty(), decision.bankLeft());
    assertEquals(Optional.of(Duration.ofNanos(1_500_000)), decision.lastThink());
    assertEquals(Optional.of(Duration.ofNanos(300_000)), decision.roundTrip());
    assertTrue(decision.isLate());
  }

  /** Without a clock nothing is limited. */
  @Test
  void noClock() {
    Decision decision = Decision.of(decision(1, 1));
    assertEquals(Optional.empty(), decision.timeLeft());
    assertEquals(Optional.empty(), decision.lastThink());
  }
}
