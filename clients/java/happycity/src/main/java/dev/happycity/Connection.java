package dev.happycity;

import dev.happycity.v1.Hello;
import dev.happycity.v1.Notice;
import dev.happycity.v1.NoticeKind;
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
import java.util.function.Consumer;

/**
 * One stream to the server, from the hello to its end. gRPC calls it with the server's messages.
 */
final class Connection implements ClientResponseObserver<PlayRequest, PlayResponse> {
  /** A server that has not welcomed the bot by then is given up. */
  private static final Duration WELCOME_TIME = Duration.ofSeconds(20);

  /** A server that is silent for so many of its ping intervals is taken for dead. */
  private static final int SILENT_PINGS = 3;

  /**
   * How long the server has to end the stream after a goodbye. Only tests change it: on a busy
   * machine their bots may be slow.
   */
  static Duration goodbyeTime = Duration.ofSeconds(1);

  private static final System.Logger LOG = System.getLogger("dev.happycity");

  private final Settings settings;
  private final Player player;
  private final ScheduledExecutorService clock;
  private final Consumer<Welcome> onWelcome;
  private final Alarm silence;
  private final CompletableFuture<StreamStatus> ending = new CompletableFuture<>();
  private ClientCallStreamObserver<PlayRequest> call;
  private Outbox out;
  private volatile StreamStatus verdict; // why this side broke the stream off; null if it didn't
  private volatile Welcome welcome; // null until the server answered the hello
  private volatile boolean madeProgress;

  Connection(
      Settings settings,
      Player player,
      ScheduledExecutorService clock,
      Consumer<Welcome> onWelcome) {
    this.settings = settings;
    this.player = player;
    this.clock = clock;
    this.onWelcome = onWelcome;
    this.silence = new Alarm(clock, this::giveUp);
  }

  /** What the server said to the hello; null if nothing. */
  Welcome welcome() {
    return welcome;
  }

  /** Whether the server said more than its welcome. */
  boolean madeProgress() {
    return madeProgress;
  }

  /**
   * Plays until the stream ends, and returns how it did.
   *
   * @throws InterruptedException if the thread is interrupted; the goodbye has been said then
   */
  StreamStatus run(Hello hello) throws InterruptedException {
    // A channel of its own: a new stream must not come back to an old one's dead socket.
    ManagedChannel channel =
        settings.channel(
            options ->
                options
                    .directExecutor() // nothing here blocks
                    .disableRetry() // the session does that
                    // The server allows a ping every 10 s. These find a dead machine before the
                    // server's own pings do.
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
      throw new IllegalStateException(e); // never completed with an exception
    } finally {
      silence.clear();
      out.close();
      player.disconnect();
      channel.shutdownNow();
    }
  }

  /** Says goodbye, if there is anybody to say it to. */
  private void leave() throws InterruptedException {
    if (welcome == null) {
      return;
    }
    player.close();
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

  /** Handles a batch. It never waits for a bot, so pings are answered while bots think. */
  @Override
  public void onNext(PlayResponse batch) {
    if (verdict != null) {
      return;
    }
    if (welcome == null) {
      if (!batch.hasWelcome()) {
        String text = "its first message is no welcome; is it a Happy City server?";
        breakOff(StreamStatus.of(Status.Code.FAILED_PRECONDITION, text));
        return;
      }
      greet(batch.getWelcome());
    } else {
      madeProgress = true;
    }
    if (batch.hasPing()) {
      out.pong(batch.getPing().getNonce());
    }
    listen();
    batch.getNoticesList().forEach(this::log); // about what happened before the other parts
    player.handle(batch);
  }

  private void log(Notice notice) {
    if (notice.getKind() == NoticeKind.NOTICE_KIND_FORFEIT) {
      return; // the end of the game says it, with the reason
    }
    String place = Place.of(notice.getMatchId(), notice.getRound(), notice.getDecisionId());
    String text = (place.isEmpty() ? "" : place + ": ") + OneLine.of(notice.getText());
    LOG.log(Level.WARNING, settings.name() + ": " + text);
  }

  @Override
  public void onError(Throwable error) {
    end(StreamStatus.of(error));
  }

  @Override
  public void onCompleted() {
    end(StreamStatus.OK);
  }

  private void end(StreamStatus status) {
    out.close();
    ending.complete(verdict != null ? verdict : status);
  }

  /** Breaks off the stream of a silent server. */
  private void giveUp() {
    String what = welcome == null ? "no welcome" : "no sign of life";
    breakOff(StreamStatus.of(Status.Code.UNAVAILABLE, what + " from the server"));
  }

  /** Ends the stream from this side. gRPC reports the end when this returns. */
  private void breakOff(StreamStatus verdict) {
    this.verdict = verdict;
    out.close();
    call.cancel(verdict.text(), null);
  }

  private void greet(Welcome welcome) {
    this.welcome = welcome;
    LOG.log(
        Level.INFO,
        "{0}: connected to {1}{2}",
        settings.name(),
        settings.server(),
        welcome.getResumed() ? ", and the games go on" : "");
    player.welcome(out, welcome.getResumed());
    onWelcome.accept(welcome);
  }

  /** Puts off the alarm about the server's silence. */
  private void listen() {
    Duration interval = StreamStatus.bounded(welcome.getPingInterval());
    if (interval.isZero()) {
      silence.clear(); // a server that doesn't ping
    } else {
      silence.setIn(interval.multipliedBy(SILENT_PINGS));
    }
  }
}
