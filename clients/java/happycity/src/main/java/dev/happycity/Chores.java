package dev.happycity;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;

/**
 * What one bot is to do, one thing after the other. After each, the next one queues up behind those
 * of other bots.
 */
final class Chores {
  private final Executor thinkers;
  private final Queue<Runnable> queue = new ArrayDeque<>(); // the first one is being done

  Chores(Executor thinkers) {
    this.thinkers = thinkers;
  }

  synchronized void add(Runnable chore) {
    queue.add(chore);
    if (queue.size() == 1) {
      thinkers.execute(() -> run(chore));
    }
  }

  private void run(Runnable chore) {
    chore.run();
    Runnable next = next();
    if (next != null) {
      thinkers.execute(() -> run(next));
    }
  }

  private synchronized Runnable next() {
    queue.remove();
    return queue.peek();
  }
}
