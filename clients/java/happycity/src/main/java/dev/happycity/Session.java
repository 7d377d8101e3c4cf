package dev.happycity;

import dev.happycity.v1.Hello;
import dev.happycity.v1.Welcome;
import io.grpc.Status;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;

/** One connection after the other, until one of them ends for good. */
final class Session {
  private static final System.Logger LOG = System.getLogger("dev.happycity");

  private final Settings settings;
  private final Player player;
  private final ScheduledExecutorService clock;
  private final Consumer<Welcome> onWelcome;
  private final Backoff backoff = new Backoff();
  private String token = ""; // to resume with
  private long deadline; // in System.nanoTime, when the search for a server ends
  private boolean shutDown; // whether the server that spoke last said that it shuts down
  private boolean searching; // whether it was logged that the server is gone

  Session(
      Settings settings,
      Player player,
      ScheduledExecutorService clock,
      Consumer<Welcome> onWelcome) {
    this.settings = settings;
    this.player = player;
    this.clock = clock;
    this.onWelcome = onWelcome;
  }

  void run() throws InterruptedException {
    searchFor(settings.waitTime());
    while (true) {
      StreamStatus status = connect();
      if (status.code() == Status.Code.OK) {
        return;
      }
      if (!status.isRetryable()) {
        throw status.refused(settings);
      }
      Duration pause = longer(backoff.next(), status.retryAfter().orElse(Duration.ZERO));
      if (System.nanoTime() + pause.toNanos() - deadline >= 0) {
        giveUp(status);
        return;
      }
      logSearch(status);
      Thread.sleep(pause.toMillis());
    }
  }

  /** Plays on one connection, and returns how it ended. */
  private StreamStatus connect() throws InterruptedException {
    Connection connection = new Connection(settings, player, clock, onWelcome);
    StreamStatus status = connection.run(hello());
    if (connection.welcome() != null) {
      token = connection.welcome().getResumeToken();
      searchFor(settings.reconnectTime());
      searching = false;
    }
    if (connection.madeProgress()) { // a server that only welcomes and drops bots is not hammered
      backoff.reset();
    }
    if (connection.welcome() != null || !status.reason().isEmpty()) {
      shutDown = status.reason().equals("SHUTTING_DOWN");
    }
    return status;
  }

  private Hello hello() {
    Hello.Builder hello =
        Hello.newBuilder()
            .setName(settings.name())
            .setSoftware("happycity-java/" + HappyCity.VERSION)
            .setResumeToken(token)
            .setInfo(settings.info());
    if (settings.games() != Settings.UNLIMITED) {
      hello.setMaxGames(settings.games());
    }
    if (!token.isEmpty()) {
      hello.addAllMatchIds(player.matchIds());
    }
    return hello.build();
  }

  private void searchFor(Duration time) {
    deadline = System.nanoTime() + time.toNanos();
  }

  private void logSearch(StreamStatus status) {
    if (!searching) {
      searching = true;
      LOG.log(Level.WARNING, "{0}: {1}; trying again", settings.name(), status.text());
    }
  }

  /** Ends the search for a server. It is no error if the server ended in good order. */
  private void giveUp(StreamStatus status) {
    if (!shutDown) {
      throw status.lost(settings);
    }
    LOG.log(Level.INFO, "{0}: the server has shut down", settings.name());
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) >= 0 ? one : other;
  }
}
