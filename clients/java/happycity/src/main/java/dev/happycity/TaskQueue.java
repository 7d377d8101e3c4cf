package dev.happycity;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;

/** The tasks of one bot, done one after the other. After each, those of other bots come first. */
final class TaskQueue {
  private final Executor thinkers;
  private final Queue<Runnable> queue = new ArrayDeque<>(); // the first one is being done

  TaskQueue(Executor thinkers) {
    this.thinkers = thinkers;
  }

  synchronized void add(Runnable task) {
    queue.add(task);
    if (queue.size() == 1) {
      thinkers.execute(() -> run(task));
    }
  }

  private void run(Runnable task) {
    task.run();
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
