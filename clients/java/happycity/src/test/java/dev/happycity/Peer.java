package dev.happycity;

import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.PlayServiceGrpc;
import dev.happycity.v1.Welcome;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** A scripted server: each stream that a bot opens is handed to the test. */
final class Peer extends PlayServiceGrpc.PlayServiceImplBase implements AutoCloseable {
  static final Context.Key<String> AUTHORIZATION = Context.key("authorization");

  final BlockingQueue<Dialogue> opened = new LinkedBlockingQueue<>();
  private final Server server;
  private final List<Playing> players = new ArrayList<>();

  Peer() {
    this(InsecureServerCredentials.create());
  }

  Peer(ServerCredentials credentials) {
    try {
      server =
          Grpc.newServerBuilderForPort(0, credentials)
              .addService(this)
              .intercept(new ShowAuthorization())
              .build()
              .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  String address() {
    return "127.0.0.1:" + server.getPort();
  }

  @Override
  public StreamObserver<PlayRequest> play(StreamObserver<PlayResponse> responses) {
    Dialogue dialogue = new Dialogue(responses, AUTHORIZATION.get());
    opened.add(dialogue);
    return dialogue;
  }

  /** Waits for the next stream, and checks that it begins with a hello. */
  Dialogue accept() throws InterruptedException {
    Dialogue dialogue = within(opened, "stream");
    PlayRequest request = dialogue.next();
    assertTrue(request.hasHello(), "the first message has no hello");
    dialogue.hello = request.getHello();
    return dialogue;
  }

  /** Waits for the next stream, and welcomes its bot. */
  Dialogue welcome(String token, boolean resumed) throws InterruptedException {
    return welcome(Welcome.newBuilder().setResumeToken(token).setResumed(resumed));
  }

  Dialogue welcome(Welcome.Builder welcome) throws InterruptedException {
    Dialogue dialogue = accept();
    dialogue.send(PlayResponse.newBuilder().setWelcome(welcome));
    return dialogue;
  }

  /** Starts a bot here. It is stopped at the end of the test. */
  Playing play(BotFactory factory, Settings.Builder settings) {
    Playing player = new Playing(factory, settings.build(Map.of()));
    players.add(player);
    return player;
  }

  Playing play(BotFactory factory) {
    return play(factory, settings());
  }

  Settings.Builder settings() {
    return Settings.builder().name("tester").server(address());
  }

  @Override
  public void close() {
    players.forEach(Playing::stop);
    server.shutdownNow();
  }

  private static final class ShowAuthorization implements ServerInterceptor {
    private static final Metadata.Key<String> HEADER =
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    @Override
    public <A, B> ServerCall.Listener<A> interceptCall(
        ServerCall<A, B> call, Metadata headers, ServerCallHandler<A, B> next) {
      Context context = Context.current().withValue(AUTHORIZATION, headers.get(HEADER));
      return Contexts.interceptCall(context, call, headers, next);
    }
  }
}
