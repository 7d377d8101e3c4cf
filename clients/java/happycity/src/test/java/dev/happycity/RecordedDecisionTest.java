package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RecordedDecisionTest {
  private static final Path FIRST = Path.of("../../conformance/first.decision");

  /** The file has the start of the game, the decision, and all that happened before. */
  @Test
  void startAndDecision() throws IOException {
    RecordedDecision recorded = RecordedDecision.read(FIRST);
    assertEquals(22, recorded.started().getMatchId());
    assertEquals("mine", recorded.started().getBots(recorded.started().getSeat()));
    assertEquals(Long.MIN_VALUE, recorded.started().getSeed()); // 2^63
    assertEquals(32, recorded.decision().message().getDecisionId());
    assertEquals(1, recorded.decision().view().getSeat());
    assertEquals(6, recorded.decision().moves().size());
    assertTrue(recorded.decision().message().getEventsCount() >= 32);
    assertEquals(Optional.empty(), recorded.decision().timeLeft());
  }

  /** A bot is made for the game, and asked there. */
  @Test
  void ask() throws Exception {
    BotFactory fourth = started -> decision -> started.getSeat() + 2;
    assertEquals("Spa", Cards.infoOf(RecordedDecision.read(FIRST).ask(fourth).getCard()).getName());
  }

  /** A file of another kind and an illegal choice are errors. */
  @Test
  void errors() throws IOException {
    RecordedDecision recorded = RecordedDecision.read(FIRST);
    BotFactory last = BotFactory.stateless(decision -> decision.moves().size());
    assertThrows(IndexOutOfBoundsException.class, () -> recorded.ask(last));
    Path other = FIRST.resolveSibling("catalogue.json");
    IOException error = assertThrows(IOException.class, () -> RecordedDecision.read(other));
    assertTrue(error.getMessage().contains("catalogue.json is not a decision as this writes it"));
  }
}
