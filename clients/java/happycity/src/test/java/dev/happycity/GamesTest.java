package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.GameStarted;
import dev.happycity.v1.PlayResponse;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Games whose clock stands still, so that nothing is sent for having waited long enough. */
class GamesTest {
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private final Thinkers thinkers = new Thinkers(1);
  private final Games games = new Games(Counter.FACTORY, thinkers, clock);
  private final FakeCall call = new FakeCall();

  @BeforeEach
  void begin() {
    clock.execute(GamesTest::waitForTheEnd);
    games.attach(new Outbox(call, clock), false);
    PlayResponse.Builder start = PlayResponse.newBuilder();
    for (int id = 1; id <= 2; id++) {
      start.addGamesStarted(GameStarted.newBuilder().setGameId(id));
    }
    games.handle(start.build());
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
      games.handle(batch.addDecisions(decision(1, round)).addDecisions(decision(2, round)).build());
      assertEquals(2, within(call.sent, "message").getAnswersCount());
    }
    assertTrue(call.sent.isEmpty());
  }

  /** Answers from memory are sent at once too. */
  @Test
  void memoryAtOnce() throws InterruptedException {
    PlayResponse batch = PlayResponse.newBuilder().addDecisions(decision(1, 1)).build();
    for (int again = 0; again < 3; again++) {
      games.handle(batch);
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
