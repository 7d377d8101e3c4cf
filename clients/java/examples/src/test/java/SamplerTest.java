import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.util.Durations;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.happycity.Decision;
import dev.happycity.v1.Clock;
import dev.happycity.v1.Move;
import dev.happycity.v1.RolloutRequest;
import dev.happycity.v1.RolloutResponse;
import dev.happycity.v1.RolloutResult;
import dev.happycity.v1.SeatEstimate;
import dev.happycity.v1.SimulationServiceGrpc;
import dev.happycity.v1.View;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SamplerTest {
  /** A decision of seat 1 between three moves. */
  private static final dev.happycity.v1.Decision MESSAGE =
      dev.happycity.v1.Decision.newBuilder()
          .setDecisionId(7)
          .setView(View.newBuilder().setRound(3).setSeat(1))
          .addAllMoves(Collections.nCopies(3, Move.getDefaultInstance()))
          .build();

  private final Decision decision = Decision.of(MESSAGE);

  private final Script script = new Script();
  private final Server server;
  private final ManagedChannel channel;
  private final Sampler sampler;

  SamplerTest() throws IOException {
    server =
        Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
            .addService(script)
            .build()
            .start();
    channel =
        Grpc.newChannelBuilder("127.0.0.1:" + server.getPort(), InsecureChannelCredentials.create())
            .build();
    sampler = new Sampler(SimulationServiceGrpc.newBlockingStub(channel));
  }

  @AfterEach
  void close() {
    channel.shutdownNow();
    server.shutdownNow();
  }

  /**
   * The move after which the own seat leads by most is played, and not the one with most points.
   */
  @Test
  void furthestAhead() throws InterruptedException {
    script.results = List.of(points(50, 60, 10), points(20, 55, 30), points(70, 80, 20));
    assertEquals(1, sampler.choose(decision));
    assertEquals(Map.of("playouts", 40.0, "lead", 25.0), decision.notes());
    RolloutRequest asked = script.requests.remove();
    assertTrue(asked.getEachMove());
    assertEquals(40, asked.getPlayouts());
    assertEquals(3, asked.getLines(0).getView().getRound());
  }

  /** Where several lead by as much, the first of them is played, also behind. */
  @Test
  void equalLeads() throws InterruptedException {
    script.results = List.of(points(30, 10), points(20, 15), points(25, 20));
    assertEquals(1, sampler.choose(decision));
    assertEquals(-5.0, decision.notes().get("lead"));
  }

  /** A sampler that is refused because it asked too often asks again later. */
  @Test
  void limited() throws InterruptedException {
    script.refusals.add(rateLimited(1));
    script.results = List.of(points(0, 0), points(0, 0), points(0, 1));
    assertEquals(2, sampler.choose(decision));
    assertEquals(2, script.requests.size());
  }

  /** One that would have to wait for too long plays the neutral move at once. */
  @Test
  void noTime() throws InterruptedException {
    script.refusals.add(rateLimited(10_000));
    Clock clock = Clock.newBuilder().setTimeLeftUs(10_000_000).build();
    Decision hurried = Decision.of(MESSAGE.toBuilder().setClock(clock).build());
    assertEquals(0, sampler.choose(hurried));
    assertEquals(1, script.requests.size());
  }

  /** Without simulations the neutral move is played, and the game goes on; there is no lead. */
  @Test
  void withoutSimulations() throws InterruptedException {
    script.refusals.add(Status.UNIMPLEMENTED.withDescription("turned off").asRuntimeException());
    assertEquals(0, sampler.choose(decision));
    assertEquals(Map.of(), decision.notes());
  }

  /** Playouts of other moves are of no use. */
  @Test
  void otherMoves() {
    script.results = List.of(points(1, 2));
    Exception error = assertThrows(IllegalStateException.class, () -> sampler.choose(decision));
    assertEquals("playouts of 1 moves instead of 3", error.getMessage());
  }

  private static RolloutResult points(double... means) {
    RolloutResult.Builder result = RolloutResult.newBuilder();
    for (double mean : means) {
      result.addSeats(SeatEstimate.newBuilder().setPointsMean(mean));
    }
    return result.build();
  }

  private static StatusRuntimeException rateLimited(long delayMs) {
    ErrorInfo info =
        ErrorInfo.newBuilder().setDomain("happycity.dev").setReason("RATE_LIMITED").build();
    RetryInfo retry = RetryInfo.newBuilder().setRetryDelay(Durations.fromMillis(delayMs)).build();
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(Status.Code.RESOURCE_EXHAUSTED.value())
            .addDetails(Any.pack(info))
            .addDetails(Any.pack(retry))
            .build());
  }

  /** A server that refuses the first calls, and then answers. */
  private static final class Script extends SimulationServiceGrpc.SimulationServiceImplBase {
    final Queue<StatusRuntimeException> refusals = new ConcurrentLinkedQueue<>();
    final Queue<RolloutRequest> requests = new ConcurrentLinkedQueue<>();
    volatile List<RolloutResult> results = List.of();

    @Override
    public void rollout(RolloutRequest request, StreamObserver<RolloutResponse> responses) {
      requests.add(request);
      StatusRuntimeException refusal = refusals.poll();
      if (refusal != null) {
        responses.onError(refusal);
        return;
      }
      responses.onNext(RolloutResponse.newBuilder().addAllResults(results).build());
      responses.onCompleted();
    }
  }
}
