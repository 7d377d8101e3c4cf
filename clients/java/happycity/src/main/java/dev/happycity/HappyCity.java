package dev.happycity;

import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** Plays on a Happy City arena. */
public final class HappyCity {
  /** This package's version. */
  public static final String VERSION = "0.1.0";

  private static final int CLOSING_SECONDS = 1; // for bots that still think at the end

  /** A reference, or its level would be lost. */
  private static final Logger GRPC = Logger.getLogger("io.grpc");

  private HappyCity() {}

  /** Is a bot's whole program, with all settings from the environment or by default. */
  public static void run(BotFactory factory) {
    run(factory, new Settings());
  }

  /**
   * Is a bot's whole program: plays until the server ends the session normally, or until SIGINT or
   * SIGTERM, and then returns. If a setting can't be used, if there is no server to play on, or if
   * it refuses the bot, one line says so and the program exits with status 2; with status 1 if the
   * server breaks the protocol.
   */
  public static void run(BotFactory factory, Settings settings) {
    System.getProperties() // one line: time, level, message
        .putIfAbsent(
            "java.util.logging.SimpleFormatter.format", "%1$tFT%1$tT%1$tz %4$s %5$s%6$s%n");
    GRPC.setLevel(Level.OFF); // the bot's one line says it
    interruptOnSignals(Thread.currentThread());
    try {
      play(factory, settings);
    } catch (InterruptedException e) {
      // stopped, and has said goodbye
    } catch (HappyCityException e) {
      System.err.println("error: " + e.getMessage());
      System.exit(e.exitStatus);
    }
  }

  /**
   * Interrupts a thread at the first SIGINT or SIGTERM; another one ends the program. A shutdown
   * hook would do without sun.misc, but the program could neither go on nor end with status 0.
   */
  private static void interruptOnSignals(Thread thread) {
    for (String name : List.of("INT", "TERM")) {
      Signal.handle(
          new Signal(name),
          signal -> {
            Signal.handle(signal, SignalHandler.SIG_DFL);
            thread.interrupt();
          });
    }
  }

  /**
   * Plays all games that the server offers, until it ends the session normally. A connection that
   * is lost is made again, and the games go on.
   *
   * @throws InterruptedException if the thread is interrupted; the bot has said goodbye then
   * @throws HappyCityException if a setting can't be used, if there is no server, if it refuses the
   *     bot, or if it didn't come back
   */
  public static void play(BotFactory factory, Settings settings) throws InterruptedException {
    ThreadPoolExecutor threads =
        (ThreadPoolExecutor) Executors.newFixedThreadPool(settings.threads, HappyCity::newThread);
    // After the shutdown, a bot's last calls are made in the thread of its earlier ones.
    threads.setRejectedExecutionHandler((call, pool) -> call.run());
    Player player = new Player(factory, threads);
    try {
      new Session(settings, player).run();
    } finally {
      player.close();
      threads.shutdown();
      threads.awaitTermination(CLOSING_SECONDS, TimeUnit.SECONDS);
    }
  }

  /** Returns a thread that doesn't keep the program alive. */
  private static Thread newThread(Runnable work) {
    Thread thread = new Thread(work, "happycity");
    thread.setDaemon(true);
    return thread;
  }
}
