package dev.happycity;

import dev.happycity.v1.Welcome;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Plays on a Happy City arena. */
public final class HappyCity {
  /** This package's version. */
  public static final String VERSION = "0.1.0";

  /** Bots that still think when there is nothing left to play have so long to return. */
  private static final Duration CLOSING_TIME = Duration.ofSeconds(1);

  private HappyCity() {}

  /** Is a bot's whole program, with all settings from the environment or by default. */
  public static void run(BotFactory factory) {
    run(factory, Settings.builder());
  }

  /**
   * Is a bot's whole program: plays until the server ends the session for good, or until SIGINT or
   * SIGTERM, and then returns. If a setting can't be used, if there is no server to play on, or if
   * it refuses the bot, one line says so and the program exits with status 2.
   */
  public static void run(BotFactory factory, Settings.Builder settings) {
    ProgramLog.shorten();
    Thread player = Thread.currentThread();
    Signals signals = new Signals(player::interrupt);
    signals.listen();
    try {
      play(factory, settings.build());
    } catch (InterruptedException e) {
      // stopped, and has said goodbye
    } catch (HappyCityException e) {
      System.err.println("error: " + e.getMessage());
      System.exit(2);
    } finally {
      signals.restore();
    }
  }

  /**
   * Plays all games that the server offers, until it ends the session for good.
   *
   * <p>A connection that is lost is made again, and the games go on. A bot that plays any number of
   * games at once also plays at the workers of the server.
   *
   * @throws InterruptedException if the thread is interrupted; the bot has said goodbye then
   * @throws SettingException if the address can't be used
   * @throws ConnectionException if there is no server, if it refuses the bot, or if it didn't come
   *     back
   */
  public static void play(BotFactory factory, Settings settings) throws InterruptedException {
    ScheduledThreadPoolExecutor clock = newClock();
    Thinkers thinkers = new Thinkers(settings.thinkers());
    try {
      playWithWorkers(settings, () -> new Player(factory, thinkers, clock), clock);
    } finally {
      clock.shutdownNow();
      thinkers.end(CLOSING_TIME);
    }
  }

  /** Plays on a server and on the workers that it names. */
  private static void playWithWorkers(
      Settings settings, Supplier<Player> players, ScheduledExecutorService clock)
      throws InterruptedException {
    WorkerStreams workers =
        new WorkerStreams(
            settings, ofWorker -> playSession(ofWorker, players.get(), clock, welcome -> {}));
    try {
      playSession(
          settings,
          players.get(),
          clock,
          welcome -> workers.follow(welcome.getWorkerAddressesList()));
    } finally {
      workers.close();
    }
  }

  /** Plays on one server, with games of its own. */
  private static void playSession(
      Settings settings, Player player, ScheduledExecutorService clock, Consumer<Welcome> onWelcome)
      throws InterruptedException {
    try {
      new Session(settings, player, clock, onWelcome).run();
    } finally {
      player.close();
    }
  }

  /**
   * Returns how long the server asks to wait before a call that it refused is made again; empty if
   * it doesn't say so, or if another attempt is pointless.
   */
  public static Optional<Duration> retryAfter(Throwable error) {
    StreamStatus status = StreamStatus.of(error);
    return status.retryAfter().filter(delay -> status.isRetryable());
  }

  private static ScheduledThreadPoolExecutor newClock() {
    ScheduledThreadPoolExecutor clock =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              Thread thread = new Thread(work, "happycity-clock");
              thread.setDaemon(true);
              return thread;
            });
    clock.setRemoveOnCancelPolicy(true);
    return clock;
  }
}
