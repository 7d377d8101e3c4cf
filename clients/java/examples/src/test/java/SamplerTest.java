import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import dev.happycity.Thought;
import dev.happycity.v1.Clock;
import dev.happycity.v1.Decision;
import dev.happycity.v1.Move;
import dev.happycity.v1.RollOut;
import dev.happycity.v1.RollOutRequest;
import dev.happycity.v1.RollOutResponse;
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
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SamplerTest {
  /** A decision of seat 1 between three moves. */
  private static final Decision DECISION =
      Decision.newBuilder()
          .setDecisionId(7)
          .setSeat(1)
          .setView(View.newBuilder().setRound(3))
          .addMoves(Move.getDefaultInstance())
          .addMoves(Move.getDefaultInstance())
          .addMoves(Move.getDefaultInstance())
          .build();

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
    script.rollOuts = List.of(points(50, 60, 10), points(20, 55, 30), points(70, 80, 20));
    Thought thought = new Thought(DECISION);
    assertEquals(1, sampler.choose(DECISION, thought));
    assertEquals(Map.of("playouts", 40.0, "lead", 25.0), thought.notes());
    RollOutRequest asked = script.requests.remove();
    assertTrue(asked.getEachMove());
    assertEquals(40, asked.getPlayouts());
    assertEquals(3, asked.getLines(0).getView().getRound());
  }

  /** Where several lead by as much, the first of them is played, also behind. */
  @Test
  void equalLeads() throws InterruptedException {
    script.rollOuts = List.of(points(30, 10), points(20, 15), points(25, 20));
    Thought thought = new Thought(DECISION);
    assertEquals(1, sampler.choose(DECISION, thought));
    assertEquals(-5.0, thought.notes().get("lead"));
  }

  /** A sampler that asked too often asks again when it may. */
  @Test
  void limited() throws InterruptedException {
    script.refusals.add(rateLimited("1"));
    script.rollOuts = List.of(points(0, 0), points(0, 0), points(0, 1));
    assertEquals(2, sampler.choose(DECISION, new Thought(DECISION)));
    assertEquals(2, script.requests.size());
  }

  /** One that would have to wait for too long plays the neutral move at once. */
  @Test
  void noTime() throws InterruptedException {
    script.refusals.add(rateLimited("10000"));
    Decision hurried =
        DECISION.toBuilder().setClock(Clock.newBuilder().setTimeLeftMs(10_000)).build();
    assertEquals(0, sampler.choose(hurried, new Thought(hurried)));
    assertEquals(1, script.requests.size());
  }

  /** Without simulations the neutral move is played, and the game goes on; there is no lead. */
  @Test
  void withoutSimulations() throws InterruptedException {
    script.refusals.add(Status.UNIMPLEMENTED.withDescription("turned off").asRuntimeException());
    Thought thought = new Thought(DECISION);
    assertEquals(0, sampler.choose(DECISION, thought));
    assertEquals(Map.of(), thought.notes());
  }

  /** Roll outs of other moves are of no use. */
  @Test
  void otherMoves() {
    script.rollOuts = List.of(points(1, 2));
    Exception error =
        assertThrows(
            IllegalStateException.class, () -> sampler.choose(DECISION, new Thought(DECISION)));
    assertEquals("1 roll outs of 3 moves", error.getMessage());
  }

  private static RollOut points(double... means) {
    return RollOut.newBuilder().addAllPointsMean(DoubleStream.of(means).boxed().toList()).build();
  }

  private static StatusRuntimeException rateLimited(String retryAfterMs) {
    ErrorInfo info =
        ErrorInfo.newBuilder()
            .setReason("RATE_LIMITED")
            .putMetadata("retry_after_ms", retryAfterMs)
            .build();
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(Status.Code.RESOURCE_EXHAUSTED.value())
            .addDetails(Any.pack(info))
            .build());
  }

  /** A server that refuses the first calls, and then answers. */
  private static final class Script extends SimulationServiceGrpc.SimulationServiceImplBase {
    final Queue<StatusRuntimeException> refusals = new ConcurrentLinkedQueue<>();
    final Queue<RollOutRequest> requests = new ConcurrentLinkedQueue<>();
    volatile List<RollOut> rollOuts = List.of();

    @Override
    public void rollOut(RollOutRequest request, StreamObserver<RollOutResponse> responses) {
      requests.add(request);
      StatusRuntimeException refusal = refusals.poll();
      if (refusal != null) {
        responses.onError(refusal);
        return;
      }
      responses.onNext(RollOutResponse.newBuilder().addAllRollOuts(rollOuts).build());
      responses.onCompleted();
    }
  }
}
