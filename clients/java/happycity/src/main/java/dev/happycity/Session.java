package dev.happycity;

import dev.happycity.v1.Hello;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;

/** One connection after the other, until one of them ends for good. */
final class Session {
  private static final System.Logger LOG = System.getLogger("dev.happycity");

  private final Settings settings;
  private final Games games;
  private final ScheduledExecutorService clock;
  private final Backoff backoff = new Backoff();
  private String token = ""; // to resume with
  private long deadline; // in System.nanoTime, when the search for a server ends
  private boolean shutDown; // whether the server that spoke last said that it shuts down
  private boolean searching; // whether it was logged that the server is gone

  Session(Settings settings, Games games, ScheduledExecutorService clock) {
    this.settings = settings;
    this.games = games;
    this.clock = clock;
  }

  void run() throws InterruptedException {
    searchFor(settings.waitTime());
    while (true) {
      Parting ending = connect();
      if (ending == Parting.FAREWELL) {
        return;
      }
      if (!ending.isPassing()) {
        throw ending.refused(settings);
      }
      Duration pause = longer(backoff.next(), ending.retryAfter());
      if (System.nanoTime() + pause.toNanos() - deadline >= 0) {
        giveUp(ending);
        return;
      }
      tellSearch(ending);
      Thread.sleep(pause.toMillis());
    }
  }

  /** Plays on one connection, and tells how that ended. */
  private Parting connect() throws InterruptedException {
    Connection connection = new Connection(settings, games, clock);
    Parting ending = connection.run(hello());
    if (connection.welcome() != null) {
      token = connection.welcome().getResumeToken();
      searchFor(settings.reconnectTime());
      searching = false;
    }
    if (connection.wasUseful()) { // a server that only welcomes and drops bots is not hammered
      backoff.reset();
    }
    if (connection.welcome() != null || !ending.reason().isEmpty()) {
      shutDown = ending.reason().equals("SHUTTING_DOWN");
    }
    return ending;
  }

  private Hello hello() {
    Hello.Builder hello =
        Hello.newBuilder()
            .setName(settings.name())
            .setProtocolVersion(HappyCity.PROTOCOL_VERSION)
            .setMaxGames(settings.games())
            .setSoftware("happycity-java/" + HappyCity.VERSION)
            .setResumeToken(token);
    if (!token.isEmpty()) {
      hello.addAllGames(games.known());
    }
    return hello.build();
  }

  private void searchFor(Duration time) {
    deadline = System.nanoTime() + time.toNanos();
  }

  private void tellSearch(Parting ending) {
    if (!searching) {
      searching = true;
      LOG.log(
          Level.WARNING, "{0}: no connection, trying again: {1}", settings.name(), ending.text());
    }
  }

  /** Ends the search for a server. It is no error if that parted in good order. */
  private void giveUp(Parting ending) {
    if (!shutDown) {
      throw ending.lost(settings);
    }
    LOG.log(Level.INFO, "{0}: the server has shut down", settings.name());
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) >= 0 ? one : other;
  }
}
