package dev.happycity;

import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.Answer;
import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.Resign;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class OutboxTest {
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
  private final FakeCall call = new FakeCall();
  private final Outbox out = new Outbox(call, clock);

  @AfterEach
  void stop() {
    clock.shutdownNow();
  }

  /** What has gathered while the connection took nothing is sent as one message. */
  @Test
  void gathers() {
    call.ready = false;
    out.answer(answer(1));
    out.answer(answer(2));
    out.resign(resign(3, "tired"));
    out.pong(1);
    out.pong(2);
    assertTrue(call.sent.isEmpty());
    call.ready = true;
    out.flush();
    PlayRequest request = call.sent.remove();
    assertEquals(List.of(answer(1), answer(2)), request.getAnswersList());
    assertEquals("tired", request.getResigns(0).getReason());
    assertEquals(2, request.getPong().getNonce());
    out.flush();
    assertTrue(call.sent.isEmpty());
  }

  /** An answer is held, but not for ever, even if nothing else happens. */
  @Test
  void holds() throws InterruptedException {
    for (int match = 1; match <= 3; match++) {
      out.answer(answer(match));
      assertEquals(List.of(answer(match)), within(call.sent, "answer").getAnswersList());
    }
  }

  /** After the end of a match nothing is sent about it, not even an empty message. */
  @Test
  void forgets() {
    clock.execute(PlayerTest::waitForTheEnd);
    out.answer(answer(1));
    out.forget(1);
    out.flush();
    assertTrue(call.sent.isEmpty());
    out.answer(answer(1));
    out.answer(answer(2));
    out.forget(1);
    out.flush();
    assertEquals(List.of(answer(2)), call.sent.remove().getAnswersList());
  }

  /** The goodbye is sent with what has gathered, and nothing follows it. */
  @Test
  void goodbye() {
    clock.execute(PlayerTest::waitForTheEnd);
    out.answer(answer(1));
    out.goodbye();
    out.resign(resign(2, "too late"));
    PlayRequest last = call.sent.remove();
    assertTrue(last.hasGoodbye() && last.getAnswersCount() == 1);
    assertTrue(call.completed && call.sent.isEmpty());
  }

  /** Nothing is sent over a connection that is gone. */
  @Test
  void closed() {
    out.close();
    out.resign(resign(1, "too late"));
    out.goodbye();
    assertTrue(call.sent.isEmpty());
  }

  private static Answer answer(long matchId) {
    return Answer.newBuilder().setMatchId(matchId).build();
  }

  private static Resign resign(long matchId, String reason) {
    return Resign.newBuilder().setMatchId(matchId).setReason(reason).build();
  }
}
