package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.util.Durations;
import dev.happycity.v1.MatchResult;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Resign;
import dev.happycity.v1.SeatResult;
import dev.happycity.v1.VoidReason;
import dev.happycity.v1.Welcome;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What happens when a stream is lost. */
class ReconnectTest {
  private static final BotFactory FIRST = BotFactory.stateless(decision -> 0);

  private final Peer peer = new Peer();

  @AfterEach
  void close() {
    peer.close();
  }

  /** A bot whose connection is lost while it thinks comes back, and answers when asked again. */
  @Test
  void midDecision() throws InterruptedException {
    Thinker thinker = new Thinker();
    peer.play(BotFactory.stateless(thinker));
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.start(1, 2);
    dialogue.ask(decision(1, 1));
    Thinker.Question question = within(thinker.asked, "question");
    dialogue.cut();
    dialogue = peer.welcome("two", true);
    assertEquals("one", dialogue.hello.getResumeToken());
    assertEquals(Set.of(1L, 2L), Set.copyOf(dialogue.hello.getMatchIdsList()));
    dialogue.ask(decision(1, 1));
    dialogue.expectSilence();
    question.answer().complete(2);
    assertEquals(Map.of(1L, 2), dialogue.answers());
    assertTrue(thinker.asked.isEmpty(), "the bot was asked twice");
    dialogue.cut();
    assertEquals("two", peer.accept().hello.getResumeToken());
  }

  /** An answer that comes while there is no connection is sent only when it is asked for again. */
  @Test
  void withoutConnection() throws InterruptedException {
    Thinker thinker = new Thinker();
    peer.play(BotFactory.stateless(thinker));
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    Thinker.Question question = within(thinker.asked, "question");
    dialogue.cut();
    dialogue = peer.accept();
    question.answer().complete(1);
    Welcome.Builder welcome = Welcome.newBuilder().setResumed(true);
    dialogue.send(PlayResponse.newBuilder().setWelcome(welcome));
    dialogue.expectSilence();
    dialogue.ask(decision(1, 1));
    assertEquals(Map.of(1L, 1), dialogue.answers());
  }

  /** A decision that is sent again is answered from memory, on the same connection or another. */
  @Test
  void resentDecision() throws InterruptedException {
    peer.play(Counter.FACTORY);
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.start(1, 2);
    for (int round = 0; round < 3; round++) {
      dev.happycity.v1.Decision[] decisions = {decision(1, round + 1), decision(2, round + 1)};
      Map<Long, Integer> expected = Map.of(1L, round, 2L, round);
      for (int again = 0; again < 3; again++) {
        dialogue.ask(decisions);
        assertEquals(expected, dialogue.answers(2));
      }
      dialogue.cut();
      dialogue = peer.welcome("one", true);
      dialogue.ask(decisions);
      assertEquals(expected, dialogue.answers(2));
    }
  }

  /** The notes are sent again too: the bot is not asked again. */
  @Test
  void resentNotes() throws InterruptedException {
    peer.play(Noter.FACTORY);
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.start(1);
    for (int connection = 0; connection < 3; connection++) {
      for (int again = 0; again < 2; again++) {
        dialogue.ask(decision(1, 1));
        assertEquals(Map.of("depth", 0.0, "nodes of 1", 0.5), dialogue.metrics());
      }
      dialogue.cut();
      dialogue = peer.welcome("one", true);
    }
  }

  /** A welcome that resumes nothing makes the bot forget its games; they may start over. */
  @Test
  void forgottenGames() throws InterruptedException {
    BlockingQueue<Listener> made = new LinkedBlockingQueue<>();
    peer.play(
        start -> {
          Listener listener = new Listener();
          made.add(listener);
          return listener;
        });
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.start(1, 2);
    Listener older = within(made, "bot");
    dialogue.cut();
    dialogue = peer.welcome("two", false);
    assertEquals(VoidReason.VOID_REASON_UNKNOWN, within(older.voids, "gameVoided").reason());
    within(made, "other bot");
    dialogue.start(1);
    within(made, "new bot");
    dialogue.ask(decision(1, 1));
    assertEquals(Map.of(1L, 0), dialogue.answers());
    dialogue.cut();
    dialogue = peer.accept();
    assertEquals(List.of(1L), dialogue.hello.getMatchIdsList());
    assertEquals("two", dialogue.hello.getResumeToken());
  }

  /** A game that was over before the bot came back is over for it too. */
  @Test
  void gameOverMeanwhile() throws InterruptedException {
    Listener listener = new Listener();
    peer.play(BotFactory.stateless(listener));
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.start(1, 2);
    dialogue.expectSilence();
    dialogue.cut();
    dialogue = peer.welcome("one", true);
    SeatResult first = SeatResult.newBuilder().setPlace(1).build();
    MatchResult result = MatchResult.newBuilder().addSeats(first).build();
    dialogue.send(
        PlayResponse.newBuilder()
            .addGamesOver(dev.happycity.v1.GameOver.newBuilder().setMatchId(1).setResult(result)));
    assertEquals(new GameOver(1, List.of(first)), within(listener.overs, "gameOver"));
    dialogue.cut();
    assertEquals(List.of(2L), peer.accept().hello.getMatchIdsList());
  }

  /** A resignation that may have been lost is sent again. */
  @Test
  void resignAgain() throws InterruptedException {
    peer.play(
        BotFactory.stateless(
            decision -> {
              throw new IllegalStateException("lost my notes");
            }));
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    for (int again = 0; again < 2; again++) {
      Resign expected =
          Resign.newBuilder()
              .setMatchId(1)
              .setSeat(0)
              .setCrashed(true)
              .setReason("IllegalStateException: lost my notes")
              .build();
      assertEquals(List.of(expected), dialogue.next().getResignsList());
      dialogue.cut();
      dialogue = peer.welcome("one", true);
      assertEquals(List.of(1L), dialogue.hello.getMatchIdsList());
    }
  }

  /** After these reasons another attempt may succeed. */
  @ParameterizedTest
  @CsvSource({
    "UNAVAILABLE, SHUTTING_DOWN",
    "ABORTED, NO_HEARTBEAT",
    "ABORTED, STALLED",
    "RESOURCE_EXHAUSTED, RATE_LIMITED",
    "RESOURCE_EXHAUSTED, TOO_MANY_STREAMS",
    "UNAVAILABLE, OF_A_NEWER_SERVER",
    "INTERNAL, ''",
  })
  void retryableReasons(Status.Code code, String reason) throws InterruptedException {
    peer.play(FIRST);
    Dialogue dialogue = peer.welcome("one", false);
    dialogue.expectSilence();
    dialogue.fail(Refusal.of(code, reason, Duration.ofMillis(1)));
    assertEquals("one", peer.accept().hello.getResumeToken());
  }

  /** A server that asks for a longer pause than the bot would search for it is given up. */
  @Test
  void retryAfter() throws InterruptedException {
    Playing bot = peer.play(FIRST, peer.settings().reconnect(Duration.ofSeconds(30)));
    Duration minute = Duration.ofMinutes(1);
    peer.welcome("", false)
        .fail(Refusal.of(Status.Code.RESOURCE_EXHAUSTED, "RATE_LIMITED", minute));
    assertInstanceOf(ConnectionException.class, bot.end().orElseThrow());
    assertTrue(peer.opened.isEmpty());
  }

  /** A server that shut down in good order and doesn't come back is no error, any other one is. */
  @Test
  void serverGone() throws InterruptedException {
    Settings.Builder once = peer.settings().reconnect(Duration.ZERO);
    Playing bot = peer.play(FIRST, once);
    peer.welcome("", false).refuse(Status.Code.UNAVAILABLE, "SHUTTING_DOWN");
    assertEquals(Optional.empty(), bot.end());
    bot = peer.play(FIRST, once);
    peer.welcome("", false).cut();
    assertInstanceOf(ConnectionException.class, bot.end().orElseThrow());
  }

  /** A server that is silent for three of its ping intervals is taken for dead. */
  @Test
  void silence() throws InterruptedException {
    peer.play(FIRST);
    Welcome.Builder welcome = Welcome.newBuilder().setPingInterval(Durations.fromMillis(30));
    Dialogue dialogue = peer.welcome(welcome.setResumeToken("one"));
    assertEquals(Dialogue.END, dialogue.next());
    assertEquals("one", peer.accept().hello.getResumeToken());
  }
}
