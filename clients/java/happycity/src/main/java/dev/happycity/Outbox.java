package dev.happycity;

import dev.happycity.v1.Answer;
import dev.happycity.v1.Goodbye;
import dev.happycity.v1.Hello;
import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.Pong;
import dev.happycity.v1.Resign;
import io.grpc.stub.CallStreamObserver;
import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;

/** Gathers what is to be sent over one connection, and sends it in as few messages as can be. */
final class Outbox {
  /** How long an answer waits for others at most, while bots think about other decisions. */
  static final Duration HOLD_TIME = Duration.ofMillis(5);

  private final CallStreamObserver<PlayRequest> call;
  private final Alarm holding; // set while answers wait for others
  private PlayRequest.Builder request = PlayRequest.newBuilder();
  private boolean empty = true;
  private boolean closed;

  Outbox(CallStreamObserver<PlayRequest> call, ScheduledExecutorService clock) {
    this.call = call;
    this.holding = new Alarm(clock, this::flush);
  }

  /** Sends who is calling. */
  synchronized void hello(Hello hello) {
    if (!closed) {
      call.onNext(PlayRequest.newBuilder().setHello(hello).build());
    }
  }

  /** Adds an answer; it waits for others, but not for long. */
  synchronized void answer(Answer answer) {
    request.addAnswers(answer);
    if (empty) {
      empty = false;
      holding.setIn(HOLD_TIME);
    }
  }

  /** Adds that a game is given up. */
  synchronized void resign(Resign resign) {
    request.addResigns(resign);
    flushNow();
  }

  /** Adds the answer to a ping. A batch holds one: the newest says all that an older one would. */
  synchronized void pong(long nonce) {
    request.setPong(Pong.newBuilder().setNonce(nonce));
    flushNow();
  }

  /** Adds that the bot leaves for good, and closes this side of the stream after that. */
  synchronized void goodbye() {
    request.setGoodbye(Goodbye.getDefaultInstance());
    flushNow();
  }

  /** Takes back what is still to be sent about a match. */
  synchronized void forget(long matchId) {
    for (int i = request.getAnswersCount() - 1; i >= 0; i--) {
      if (request.getAnswers(i).getMatchId() == matchId) {
        request.removeAnswers(i);
      }
    }
    for (int i = request.getResignsCount() - 1; i >= 0; i--) {
      if (request.getResigns(i).getMatchId() == matchId) {
        request.removeResigns(i);
      }
    }
  }

  /** Sends what has gathered. If the connection doesn't take it now, it goes when that is ready. */
  synchronized void flush() {
    if (empty || closed || !call.isReady()) {
      return;
    }
    PlayRequest gathered = request.build();
    request = PlayRequest.newBuilder();
    empty = true;
    holding.clear();
    if (gathered.getSerializedSize() > 0) {
      call.onNext(gathered);
    }
    if (gathered.hasGoodbye()) {
      closed = true;
      call.onCompleted();
    }
  }

  /** Drops what was not sent. */
  synchronized void close() {
    closed = true;
    holding.clear();
  }

  private void flushNow() {
    empty = false;
    flush();
  }
}
