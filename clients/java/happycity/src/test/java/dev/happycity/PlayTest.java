package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import dev.happycity.v1.GameStarted;
import dev.happycity.v1.Move;
import dev.happycity.v1.Ping;
import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.PlayServiceGrpc;
import dev.happycity.v1.View;
import dev.happycity.v1.Welcome;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What {@link HappyCity#play} does for a program of one's own. */
class PlayTest {
  private static final BotFactory FIRST = BotFactory.stateless(decision -> 0);
  private static final PlayResponse WELCOME =
      PlayResponse.newBuilder()
          .setWelcome(Welcome.newBuilder().setCatalogueDigest(Cards.CATALOGUE.getDigest()))
          .setPing(Ping.newBuilder().setNonce(1))
          .build();

  private final BlockingQueue<PlayRequest> received = new LinkedBlockingQueue<>();
  private BiConsumer<PlayRequest, StreamObserver<PlayResponse>> script;
  private final io.grpc.Server server =
      Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
          .addService(new ScriptedService())
          .build();
  private final Settings settings;

  PlayTest() throws IOException {
    server.start();
    settings = new Settings(Map.of()).server("127.0.0.1:" + server.getPort()).name("me");
  }

  @AfterEach
  void stop() {
    server.shutdownNow();
  }

  /** It returns when the server ends the session normally. */
  @Test
  void ended() throws InterruptedException {
    script =
        (request, responses) -> {
          responses.onNext(WELCOME);
          responses.onCompleted();
        };
    HappyCity.play(FIRST, settings);
    assertEquals("me", received.take().getHello().getName());
  }

  /** The error of a server that refuses the bot has the server's text and its reason. */
  @Test
  void refused() {
    Any reason = Any.pack(ErrorInfo.newBuilder().setReason("WRONG_NAME").build());
    com.google.rpc.Status status =
        com.google.rpc.Status.newBuilder()
            .setCode(Code.PERMISSION_DENIED_VALUE)
            .setMessage("not your name")
            .addDetails(reason)
            .build();
    script =
        (request, responses) -> responses.onError(StatusProto.toStatusRuntimeException(status));
    HappyCityException error =
        assertThrows(HappyCityException.class, () -> HappyCity.play(FIRST, settings));
    String text = "127.0.0.1:%d refused the bot: not your name";
    assertEquals(text.formatted(server.getPort()), error.getMessage());
    assertEquals("WRONG_NAME", error.reason());
    assertEquals(2, error.exitStatus);
  }

  /** When its thread is interrupted, it says goodbye before it throws. */
  @Test
  void interrupted() throws InterruptedException {
    Thread bot = Thread.currentThread();
    script =
        (request, responses) -> {
          if (request.hasHello()) {
            responses.onNext(WELCOME);
          } else if (request.hasPong()) {
            bot.interrupt();
          } else {
            responses.onCompleted();
          }
        };
    assertThrows(InterruptedException.class, () -> HappyCity.play(FIRST, settings));
    assertTrue(received.take().hasHello());
    assertTrue(received.take().hasPong());
    assertTrue(received.take().hasGoodbye());
  }

  /** It doesn't wait for a server. */
  @Test
  void noServer() throws InterruptedException {
    int port = server.getPort();
    server.shutdownNow().awaitTermination();
    HappyCityException error =
        assertThrows(HappyCityException.class, () -> HappyCity.play(FIRST, settings));
    String address = "127.0.0.1:" + port;
    assertTrue(error.getMessage().startsWith(address + " can't be reached: "), error.getMessage());
    String advice = "; `happycity status %s` says why".formatted(address);
    assertTrue(error.getMessage().endsWith(advice), error.getMessage());
  }

  /** An answer doesn't wait for a game whose bot is still being made. */
  @Test
  void otherGameStarts() throws InterruptedException {
    CountDownLatch answered = new CountDownLatch(1);
    BotFactory factory =
        started -> {
          if (started.getMatchId() == 1) {
            answered.await();
          }
          return decision -> 0;
        };
    script =
        (request, responses) -> {
          if (request.hasHello()) {
            responses.onNext(WELCOME.toBuilder().mergeFrom(game(1)).mergeFrom(game(2)).build());
          } else if (request.getAnswersCount() > 0) {
            answered.countDown();
            responses.onCompleted();
          }
        };
    HappyCity.play(factory, settings.threads(2));
  }

  private static PlayResponse game(long match) {
    return PlayResponse.newBuilder()
        .addGamesStarted(GameStarted.newBuilder().setMatchId(match))
        .addDecisions(
            dev.happycity.v1.Decision.newBuilder()
                .setMatchId(match)
                .setDecisionId(1)
                .setView(View.getDefaultInstance())
                .addMoves(Move.getDefaultInstance()))
        .build();
  }

  private final class ScriptedService extends PlayServiceGrpc.PlayServiceImplBase {
    @Override
    public StreamObserver<PlayRequest> play(StreamObserver<PlayResponse> responses) {
      return new StreamObserver<>() {
        @Override
        public void onNext(PlayRequest request) {
          received.add(request);
          script.accept(request, responses);
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {}
      };
    }
  }
}
