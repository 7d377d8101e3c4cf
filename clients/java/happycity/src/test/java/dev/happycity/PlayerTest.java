package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.PlayResponse;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A player whose clock stands still, so that nothing is sent because it was held long enough. */
class PlayerTest {
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private final Thinkers thinkers = new Thinkers(1);
  private final Player player = new Player(Counter.FACTORY, thinkers, clock);
  private final FakeCall call = new FakeCall();

  @BeforeEach
  void begin() {
    clock.execute(PlayerTest::waitForTheEnd);
    player.welcome(new Outbox(call, clock), false);
    PlayResponse.Builder start = PlayResponse.newBuilder();
    start.addGamesStarted(Dialogue.started(1, 0)).addGamesStarted(Dialogue.started(2, 0));
    player.handle(start.build());
  }

  @AfterEach
  void end() throws InterruptedException {
    clock.shutdownNow();
    thinkers.end(Duration.ofSeconds(Within.PATIENCE_SECONDS));
  }

  /** The last answer of a batch takes all of them along at once. */
  @Test
  void answersAtOnce() throws InterruptedException {
    for (int round = 1; round <= 3; round++) {
      PlayResponse.Builder batch = PlayResponse.newBuilder();
      player.handle(
          batch.addDecisions(decision(1, round)).addDecisions(decision(2, round)).build());
      assertEquals(2, within(call.sent, "message").getAnswersCount());
    }
    assertTrue(call.sent.isEmpty());
  }

  /** Answers from memory are sent at once too. */
  @Test
  void memoryAtOnce() throws InterruptedException {
    PlayResponse batch = PlayResponse.newBuilder().addDecisions(decision(1, 1)).build();
    for (int again = 0; again < 3; again++) {
      player.handle(batch);
      assertEquals(0, within(call.sent, "message").getAnswers(0).getMove());
    }
  }

  static void waitForTheEnd() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      // the end
    }
  }
}
