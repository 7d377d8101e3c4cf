package dev.happycity;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledThreadPoolExecutor;

/** Plays on a Happy City arena. */
public final class HappyCity {
  /** The version of the protocol that this package speaks. */
  public static final int PROTOCOL_VERSION = 1;

  /** This package's version. */
  public static final String VERSION = "0.1.0";

  /** Bots that still think when there is nothing left to play have so long to return. */
  private static final Duration LAST_THOUGHTS = Duration.ofSeconds(1);

  private HappyCity() {}

  /** Plays with settings that are all taken from the environment, or by default. */
  public static void run(BotFactory factory) {
    run(factory, Settings.builder());
  }

  /**
   * Is all of a bot's program: plays until the server parts for good, or until SIGINT or SIGTERM,
   * and then returns. If a setting makes no sense, if there is no server to play on, or if it
   * refuses the bot, one line says so and the program exits with status 2.
   */
  public static void run(BotFactory factory, Settings.Builder settings) {
    ProgramLog.shorten();
    Thread player = Thread.currentThread();
    Signals signals = new Signals(player::interrupt);
    signals.hear();
    try {
      play(factory, settings.build());
    } catch (InterruptedException e) {
      // told to stop, and has said goodbye
    } catch (HappyCityException e) {
      System.err.println("error: " + e.getMessage());
      System.exit(2);
    } finally {
      signals.restore();
    }
  }

  /**
   * Plays all games that the server offers, until it parts for good.
   *
   * <p>A connection that is lost is made again, and the games go on.
   *
   * @throws InterruptedException if the thread is interrupted; the bot has said goodbye then
   * @throws SettingException if the address makes no sense
   * @throws ConnectionException if there is no server, if it refuses the bot, or if it didn't come
   *     back
   */
  public static void play(BotFactory factory, Settings settings) throws InterruptedException {
    ScheduledThreadPoolExecutor clock = newClock();
    Thinkers thinkers = new Thinkers(settings.thinkers());
    Games games = new Games(factory, thinkers, clock);
    try {
      new Session(settings, games, clock).run();
    } finally {
      games.close();
      clock.shutdownNow();
      thinkers.end(LAST_THOUGHTS);
    }
  }

  /**
   * Tells how long a server wants to be left alone that refused a call as one too many; empty if it
   * refused for anything else.
   */
  public static Optional<Duration> retryAfter(Throwable error) {
    Parting parting = Parting.of(error);
    return parting.reason().equals("RATE_LIMITED")
        ? Optional.of(parting.retryAfter())
        : Optional.empty();
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
