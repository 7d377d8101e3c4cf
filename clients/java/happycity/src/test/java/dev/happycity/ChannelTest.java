package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.happycity.v1.ApplyMovesRequest;
import dev.happycity.v1.ApplyMovesResponse;
import dev.happycity.v1.SimulationServiceGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class ChannelTest {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final CompletableFuture<String> shown = new CompletableFuture<>();

  /** Calls go to the bot's server with its token, and a refusal says when to try again. */
  @Test
  void otherServices() throws IOException {
    Server server =
        Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
            .addService(new BusySimulator())
            .intercept(new ShowAuthorization())
            .build()
            .start();
    Settings settings =
        Settings.builder()
            .name("me")
            .server("127.0.0.1:" + server.getPort())
            .token("hc_secret")
            .build(Map.of());
    ManagedChannel channel = settings.channel();
    try {
      StatusRuntimeException refusal =
          assertThrows(
              StatusRuntimeException.class,
              () ->
                  SimulationServiceGrpc.newBlockingStub(channel)
                      .applyMoves(ApplyMovesRequest.getDefaultInstance()));
      assertEquals("Bearer hc_secret", shown.join());
      assertEquals(Optional.of(Duration.ofMillis(1500)), HappyCity.retryAfter(refusal));
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
    }
  }

  /** Without such a time, or if trying again is pointless, there is none. */
  @Test
  void noTime() {
    assertEquals(Optional.empty(), HappyCity.retryAfter(new IOException("anything else")));
    assertEquals(
        Optional.empty(),
        HappyCity.retryAfter(Refusal.of(Status.Code.RESOURCE_EXHAUSTED, "RATE_LIMITED")));
    assertEquals(
        Optional.empty(),
        HappyCity.retryAfter(Refusal.of(Status.Code.ABORTED, "REPLACED", Duration.ofMillis(1500))));
  }

  private static final class BusySimulator extends SimulationServiceGrpc.SimulationServiceImplBase {
    @Override
    public void applyMoves(
        ApplyMovesRequest request, StreamObserver<ApplyMovesResponse> responses) {
      responses.onError(
          Refusal.of(Status.Code.RESOURCE_EXHAUSTED, "RATE_LIMITED", Duration.ofMillis(1500)));
    }
  }

  private final class ShowAuthorization implements ServerInterceptor {
    @Override
    public <A, B> ServerCall.Listener<A> interceptCall(
        ServerCall<A, B> call, Metadata headers, ServerCallHandler<A, B> next) {
      shown.complete(headers.get(AUTHORIZATION));
      return next.startCall(call, headers);
    }
  }
}
