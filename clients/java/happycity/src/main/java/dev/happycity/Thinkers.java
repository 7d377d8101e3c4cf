package dev.happycity;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The threads on which bots think, as many as may think at once. */
final class Thinkers implements Executor {
  private final AtomicInteger started = new AtomicInteger();
  private final ThreadPoolExecutor pool;

  Thinkers(int count) {
    pool =
        new ThreadPoolExecutor(
            count,
            count,
            0,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            this::newThread,
            // After the end only thinkers add tasks: further ones of the bots that they had.
            (task, ended) -> task.run());
  }

  /** Has a task done, after those that came before. */
  @Override
  public void execute(Runnable task) {
    pool.execute(task);
  }

  /** Takes no more tasks, and returns when all are done, or after that time. */
  void end(Duration atMost) throws InterruptedException {
    pool.shutdown();
    pool.awaitTermination(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** A bot that doesn't return must not keep the program alive. */
  private Thread newThread(Runnable work) {
    Thread thread = new Thread(work, "happycity-thinker-" + started.incrementAndGet());
    thread.setDaemon(true);
    return thread;
  }
}
