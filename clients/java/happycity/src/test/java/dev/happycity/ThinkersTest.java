package dev.happycity;

import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;

class ThinkersTest {
  private static final Duration PATIENCE = Duration.ofSeconds(Within.PATIENCE_SECONDS);

  private final Thinkers thinkers = new Thinkers(2);
  private final BlockingQueue<Integer> begun = new LinkedBlockingQueue<>();

  /** Tasks beyond the limit wait, and are begun in their order. */
  @Test
  void limit() throws InterruptedException {
    Semaphore released = new Semaphore(0);
    for (int i = 0; i < 5; i++) {
      int number = i;
      thinkers.execute(
          () -> {
            begun.add(number);
            released.acquireUninterruptibly();
          });
    }
    assertEquals(1, within(begun, "task") + within(begun, "task"));
    for (int i = 2; i < 5; i++) {
      assertTrue(begun.isEmpty());
      released.release();
      assertEquals(i, within(begun, "task"));
    }
    released.release(2);
    thinkers.end(PATIENCE);
  }

  /** The tasks of one bot are done one after the other, also those that come at the end. */
  @Test
  void tasks() throws InterruptedException {
    TaskQueue tasks = new TaskQueue(thinkers);
    CountDownLatch ended = new CountDownLatch(1);
    for (int i = 0; i < 3; i++) {
      int number = i;
      tasks.add(
          () -> {
            awaitUninterruptibly(ended);
            begun.add(number);
          });
    }
    thinkers.end(Duration.ofMillis(1)); // it doesn't wait for tasks that don't end
    ended.countDown();
    for (int i = 0; i < 3; i++) {
      assertEquals(i, within(begun, "task"));
    }
    assertEquals(List.of(), List.copyOf(begun));
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    while (true) {
      try {
        latch.await();
        return;
      } catch (InterruptedException e) {
        // not now
      }
    }
  }
}
