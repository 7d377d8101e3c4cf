package dev.happycity;

import static dev.happycity.Dialogue.decision;
import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import author.Forgetful;
import dev.happycity.v1.Answer;
import dev.happycity.v1.Clock;
import dev.happycity.v1.MatchResult;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.Resign;
import dev.happycity.v1.SeatResult;
import dev.happycity.v1.VoidReason;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** How games are played over one stream. */
class PlayTest {
  private final Peer peer = new Peer();
  private final Thinker thinker = new Thinker();

  @AfterEach
  void close() {
    peer.close();
  }

  private Dialogue thinking(int thinkers) throws InterruptedException {
    peer.play(BotFactory.stateless(thinker), peer.settings().thinkers(thinkers));
    return peer.welcome("", false);
  }

  /** All decisions of a message are answered, if there is time in one message: see PlayerTest. */
  @Test
  void batch() throws InterruptedException {
    peer.play(Counter.FACTORY);
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1, 2, 3);
    for (int round = 0; round < 3; round++) {
      dialogue.ask(decision(1, round + 1), decision(2, round + 1), decision(3, round + 1));
      assertEquals(Map.of(1L, round, 2L, round, 3L, round), dialogue.answers(3));
    }
  }

  /** What a bot notes goes with that answer, of each name the last number; else nothing. */
  @Test
  void notes() throws InterruptedException {
    peer.play(Noter.FACTORY);
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    assertEquals(Map.of("depth", 0.0, "nodes of 1", 0.5), dialogue.metrics());
    dialogue.ask(decision(1, 2));
    assertEquals(Map.of(), dialogue.metrics());
    dialogue.ask(decision(1, 3));
    assertEquals(Map.of("depth", 2.0, "nodes of 3", 0.5), dialogue.metrics());
  }

  /** It is for the server to drop what can't be a metric; it can read the answer anyway. */
  @Test
  void strangeNotes() throws InterruptedException {
    Bot bot =
        decision -> {
          decision.note(null, 1);
          decision.note("", Double.POSITIVE_INFINITY);
          decision.note("\uD83C", Double.NaN);
          return 2;
        };
    peer.play(BotFactory.stateless(bot));
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    Answer answer = dialogue.next().getAnswers(0);
    assertEquals(2, answer.getMove());
    assertEquals(
        Map.of("null", 1.0, "", Double.POSITIVE_INFINITY, "?", Double.NaN), answer.getMetricsMap());
  }

  /** Threads of a bot's own may note, too. */
  @Test
  void notesOfManyThreads() throws InterruptedException {
    int many = 20_000;
    Bot bot =
        decision -> {
          IntStream.range(0, many).parallel().forEach(i -> decision.note("node " + i, i));
          return 2;
        };
    peer.play(BotFactory.stateless(bot));
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    assertEquals(many, dialogue.metrics().size());
  }

  /** An answer doesn't wait for a game that is thought about for long. */
  @Test
  void slowGame() throws InterruptedException {
    Dialogue dialogue = thinking(2);
    dialogue.start(1, 2);
    dialogue.ask(decision(1, 1), decision(2, 1));
    Thinker.Question slow = within(thinker.asked, "question");
    Thinker.Question fast = within(thinker.asked, "question");
    fast.answer().complete(2);
    assertEquals(Map.of(fast.decision().matchId(), 2), dialogue.answers());
    slow.answer().complete(1);
    assertEquals(Map.of(slow.decision().matchId(), 1), dialogue.answers());
  }

  /** No more decisions are thought about at once than the settings say. */
  @Test
  void thinkers() throws InterruptedException {
    Dialogue dialogue = thinking(1);
    dialogue.start(1, 2);
    dialogue.ask(decision(1, 1), decision(2, 1));
    Thinker.Question question = within(thinker.asked, "question");
    dialogue.expectSilence();
    assertTrue(thinker.asked.isEmpty(), "two decisions at once");
    question.answer().complete(0);
    within(thinker.asked, "question").answer().complete(1);
    int answered = dialogue.answers().size(); // the first may be sent on its own
    assertEquals(2, answered == 2 ? answered : answered + dialogue.answers().size());
  }

  /** A ping is answered while the bot thinks. */
  @Test
  void ping() throws InterruptedException {
    Dialogue dialogue = thinking(1);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    Thinker.Question question = within(thinker.asked, "question");
    dialogue.expectSilence();
    question.answer().complete(1);
    assertEquals(Map.of(1L, 1), dialogue.answers());
  }

  /** A bot that crashes gives up that game only, however it does, and says why in one line. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("crashes")
  void crash(String name, Bot bot, String reason) throws InterruptedException {
    peer.play(started -> started.getMatchId() == 1 ? bot : decision -> 0);
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1, 2);
    dialogue.ask(decision(1, 1));
    Resign.Builder expected = Resign.newBuilder().setMatchId(1).setSeat(0).setCrashed(true);
    assertEquals(List.of(expected.setReason(reason).build()), dialogue.next().getResignsList());
    dialogue.ask(decision(1, 3), decision(2, 1));
    assertEquals(Map.of(2L, 0), dialogue.answers());
  }

  static List<Arguments> crashes() {
    return List.of(
        crash("an exception", new Exception("lost my\n\u001bnotes"), "Exception: lost my notes"),
        crash("an error", new StackOverflowError(), "StackOverflowError"),
        crash("an interruption by itself", new InterruptedException(), "InterruptedException"),
        crash(
            "a class without a name",
            new Exception("lost") {},
            PlayTest.class.getName() + "$1: lost"),
        crash(
            "a long story",
            new Exception("\uD83C\uDFDB".repeat(300)),
            "Exception: " + "\uD83C\uDFDB".repeat(189)),
        Arguments.of(
            "in the author's code",
            new Forgetful(),
            "ArrayIndexOutOfBoundsException: Index 0 out of bounds for length 0 (Forgetful.java:12)"),
        Arguments.of("too high", (Bot) decision -> 3, illegal(3)),
        Arguments.of("negative", (Bot) decision -> -1, illegal(-1)),
        Arguments.of("no bot", null, "IllegalStateException: the factory returned no bot"));
  }

  private static String illegal(int position) {
    return "IllegalArgumentException: the bot chose move %d, and there are 3".formatted(position);
  }

  private static Arguments crash(String name, Throwable failure, String reason) {
    failure.setStackTrace(new StackTraceElement[0]); // it would be that of the test
    Bot bot =
        decision -> {
          if (failure instanceof Error error) {
            throw error;
          }
          throw (Exception) failure;
        };
    return Arguments.of(name, bot, reason);
  }

  /** A bot learns how its games ended. */
  @Test
  void gameOver() throws InterruptedException {
    Listener listener = new Listener();
    peer.play(BotFactory.stateless(listener), peer.settings().thinkers(1));
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1, 2, 3, 4);
    SeatResult second = SeatResult.newBuilder().setPlace(2).build();
    dialogue.send(
        PlayResponse.newBuilder()
            .addGamesOver(over(1).setResult(MatchResult.newBuilder().addSeats(second)))
            .addGamesOver(over(2).setVoidReason(VoidReason.VOID_REASON_STOPPED))
            .addGamesOver(over(3).setVoidReasonValue(99)) // of a newer server
            .addGamesOver(over(4)));
    assertEquals(new GameOver(1, List.of(second)), within(listener.overs, "gameOver"));
    for (Listener.Voided expected :
        List.of(
            new Listener.Voided(2, VoidReason.VOID_REASON_STOPPED),
            new Listener.Voided(3, VoidReason.VOID_REASON_UNKNOWN),
            new Listener.Voided(4, VoidReason.VOID_REASON_UNKNOWN))) {
      assertEquals(expected, within(listener.voids, "gameVoided"));
    }
  }

  /** After the end of a game nothing is answered for it, and a bot that thinks is interrupted. */
  @Test
  void gameOverWhileThinking() throws InterruptedException {
    Dialogue dialogue = thinking(1);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    Thinker.Question question = within(thinker.asked, "question");
    dialogue.send(PlayResponse.newBuilder().addGamesOver(over(1)));
    assertTrue(within(question.interrupted(), "interruption"));
    question.answer().complete(1);
    dialogue.expectSilence();
  }

  /** A decision that the clock has settled is void when the next one comes, which has to wait. */
  @Test
  void settledByTheClock() throws InterruptedException {
    Dialogue dialogue = thinking(2);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    Thinker.Question late = within(thinker.asked, "question");
    dialogue.ask(decision(1, 4));
    assertTrue(within(late.interrupted(), "interruption"));
    assertTrue(thinker.asked.isEmpty(), "the bot was asked two things at once");
    late.answer().complete(1);
    within(thinker.asked, "question").answer().complete(2);
    Answer expected = Answer.newBuilder().setMatchId(1).setDecisionId(4).setMove(2).build();
    assertEquals(List.of(expected), dialogue.next().getAnswersList());
  }

  /** An exception after the time is up is no crash: the clock decides. */
  @Test
  void outOfTime() throws InterruptedException {
    BlockingQueue<Decision> begun = new LinkedBlockingQueue<>();
    BlockingQueue<Decision> interrupted = new LinkedBlockingQueue<>();
    Bot bot =
        decision -> {
          begun.add(decision);
          if (decision.timeLeft().isEmpty()) {
            return Thread.currentThread().isInterrupted() ? 2 : 1;
          }
          try {
            new CountDownLatch(1).await();
            return 0;
          } finally {
            interrupted.add(decision);
          }
        };
    peer.play(BotFactory.stateless(bot), peer.settings().thinkers(1));
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1, 2);
    dialogue.ask(limited(1, 1, 60_000));
    Decision patient = within(begun, "question");
    dialogue.ask(decision(1, 2)); // makes void the patient one, whose alarm is set
    assertSame(patient, within(interrupted, "interruption"));
    assertEquals(Map.of(1L, 1), dialogue.answers());
    int number = 3;
    // Longer, if the time was up before the bot's turn came.
    for (int limit = 1; interrupted.isEmpty(); limit *= 2) {
      // The only thinker takes the first game when it is done with the second.
      dialogue.ask(limited(2, number, limit), decision(1, number));
      assertEquals(Map.of(1L, 1), dialogue.answers());
      number++;
    }
    dialogue.ask(decision(2, number));
    assertEquals(Map.of(2L, 1), dialogue.answers());
  }

  /** An interruption is about one decision: it is over when that is, even if the bot ignored it. */
  @Test
  void ignoredInterruption() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    Bot bot =
        decision -> {
          if (decision.decisionId() > 1) {
            return Thread.currentThread().isInterrupted() ? 2 : 1;
          }
          begun.countDown();
          while (!Thread.currentThread().isInterrupted()) {
            Thread.onSpinWait();
          }
          return 0;
        };
    peer.play(BotFactory.stateless(bot), peer.settings().thinkers(1));
    Dialogue dialogue = peer.welcome("", false);
    dialogue.start(1);
    dialogue.ask(decision(1, 1));
    begun.await();
    dialogue.ask(decision(1, 2));
    assertEquals(Map.of(1L, 1), dialogue.answers());
  }

  /** A decision whose time is up before its turn comes is not put to the bot. */
  @Test
  void lateBeforeItsTurn() throws InterruptedException {
    Dialogue dialogue = thinking(1);
    dialogue.start(1, 2);
    dialogue.ask(decision(1, 1), limited(2, 1, 1));
    Thinker.Question first = within(thinker.asked, "question");
    dialogue.expectSilence(); // so the time of the other one runs
    long late = System.nanoTime() + Duration.ofMillis(1).toNanos();
    while (System.nanoTime() - late < 0) {
      Thread.onSpinWait();
    }
    first.answer().complete(2);
    assertEquals(Map.of(1L, 2), dialogue.answers());
    dialogue.ask(decision(2, 2));
    assertEquals(decision(2, 2), within(thinker.asked, "question").decision().message());
  }

  private static dev.happycity.v1.GameOver.Builder over(long matchId) {
    return dev.happycity.v1.GameOver.newBuilder().setMatchId(matchId);
  }

  private static dev.happycity.v1.Decision limited(long matchId, int decisionId, long timeLeftMs) {
    return decision(matchId, decisionId).toBuilder()
        .setClock(Clock.newBuilder().setTimeLeftUs(1000 * timeLeftMs))
        .build();
  }
}
