package dev.happycity;

import dev.happycity.v1.Hello;
import dev.happycity.v1.Notice;
import dev.happycity.v1.PlayRequest;
import dev.happycity.v1.PlayResponse;
import dev.happycity.v1.PlayServiceGrpc;
import dev.happycity.v1.Welcome;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One stream to the server, from the hello to its end. gRPC calls it with the server's messages.
 */
final class Connection implements ClientResponseObserver<PlayRequest, PlayResponse> {
  /** A server that has not welcomed the bot by then is given up. */
  private static final Duration WELCOME_TIME = Duration.ofSeconds(20);

  /** A server that is silent for so many of its own heartbeats is taken for dead. */
  private static final int SILENT_HEARTBEATS = 3;

  /**
   * The server has so long to end the stream after a goodbye. Tests give it longer, where a bot may
   * be slow to say it.
   */
  static Duration goodbyeTime = Duration.ofSeconds(1);

  private static final System.Logger LOG = System.getLogger("dev.happycity");

  private final Settings settings;
  private final Games games;
  private final ScheduledExecutorService clock;
  private final Alarm silence;
  private final CompletableFuture<Parting> ending = new CompletableFuture<>();
  private ClientCallStreamObserver<PlayRequest> call;
  private Outbox out;
  private volatile Parting verdict; // why this side broke the stream off; null if it didn't
  private volatile Welcome welcome; // null until the server answered the hello
  private volatile boolean useful; // whether the server said more than its welcome

  Connection(Settings settings, Games games, ScheduledExecutorService clock) {
    this.settings = settings;
    this.games = games;
    this.clock = clock;
    this.silence = new Alarm(clock, () -> breakOff(Parting.SILENCE));
  }

  /** The server's first words; null if there were none. */
  Welcome welcome() {
    return welcome;
  }

  boolean wasUseful() {
    return useful;
  }

  /**
   * Plays until the stream ends, and tells how it did.
   *
   * @throws InterruptedException if the thread is interrupted; the goodbye has been said then
   */
  Parting run(Hello hello) throws InterruptedException {
    // A channel of its own: a new stream must not come back to an old one's dead socket.
    ManagedChannel channel =
        settings.channel(
            options ->
                options
                    .directExecutor() // nothing here waits for anybody
                    .disableRetry() // the session does that
                    // The server allows a ping every 10 s. These find a dead machine below our
                    // own heartbeats.
                    .keepAliveTime(30, TimeUnit.SECONDS)
                    .keepAliveTimeout(10, TimeUnit.SECONDS));
    try {
      silence.setIn(WELCOME_TIME);
      PlayServiceGrpc.newStub(channel).play(this);
      out.hello(hello);
      return ending.get();
    } catch (InterruptedException e) {
      leave();
      throw e;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e); // it is never completed by an exception
    } finally {
      silence.clear();
      out.close();
      games.detach();
      channel.shutdownNow();
    }
  }

  /** Says goodbye, if there is anybody to say it to. */
  private void leave() throws InterruptedException {
    if (welcome == null) {
      return;
    }
    games.close();
    out.goodbye();
    try {
      ending.get(goodbyeTime.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      LOG.log(Level.DEBUG, "no answer to the goodbye");
    }
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<PlayRequest> call) {
    this.call = call;
    out = new Outbox(call, clock);
    call.setOnReadyHandler(out::flush);
  }

  /** Deals with a batch. It never waits for a bot, so pings are answered while bots think. */
  @Override
  public void onNext(PlayResponse batch) {
    if (verdict != null) {
      return;
    }
    if (welcome == null) {
      if (!isWelcome(batch)) {
        return;
      }
      greet(batch.getWelcome());
    } else {
      useful = true;
    }
    if (batch.hasPing()) {
      out.pong(batch.getPing());
    }
    listen();
    games.handle(batch);
    for (Notice notice : batch.getNoticesList()) {
      String game = Long.toUnsignedString(notice.getGameId());
      LOG.log(Level.WARNING, "{0}: {1} (game {2})", settings.name(), notice.getText(), game);
    }
  }

  @Override
  public void onError(Throwable error) {
    end(Parting.of(error));
  }

  @Override
  public void onCompleted() {
    end(Parting.FAREWELL);
  }

  private void end(Parting parting) {
    out.close();
    ending.complete(verdict != null ? verdict : parting);
  }

  /** Ends the stream from this side. gRPC then tells of its end, after what it tells just now. */
  private void breakOff(Parting verdict) {
    this.verdict = verdict;
    out.close();
    call.cancel(verdict.text(), null);
  }

  private boolean isWelcome(PlayResponse batch) {
    int version = batch.getWelcome().getProtocolVersion();
    if (!batch.hasWelcome()) {
      breakOff(unusable("it began without a welcome; is it a Happy City server?"));
    } else if (version != HappyCity.PROTOCOL_VERSION) {
      breakOff(
          unusable(
              "it wants to speak version %s of the protocol, this bot speaks version %d"
                  .formatted(Integer.toUnsignedString(version), HappyCity.PROTOCOL_VERSION)));
    }
    return verdict == null;
  }

  private Parting unusable(String text) {
    String message = "%s can't be played on: %s".formatted(settings.server(), text);
    return Parting.unusable(
        new ConnectionException(settings, Status.Code.FAILED_PRECONDITION, "", message));
  }

  private void greet(Welcome welcome) {
    this.welcome = welcome;
    LOG.log(
        Level.INFO,
        "{0}: connected to {1}{2}",
        settings.name(),
        settings.server(),
        welcome.getResumed() ? ", the games go on" : "");
    games.attach(out, welcome.getResumed());
  }

  /** Puts off the alarm about the server's silence. */
  private void listen() {
    long heartbeat = Integer.toUnsignedLong(welcome.getHeartbeatMs());
    if (heartbeat > 0) {
      silence.setIn(Duration.ofMillis(SILENT_HEARTBEATS * heartbeat));
    } else {
      silence.clear();
    }
  }
}
