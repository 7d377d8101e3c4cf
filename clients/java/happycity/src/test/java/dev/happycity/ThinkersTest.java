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

  /** Chores beyond the limit wait, and are begun in their order. */
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
    assertEquals(1, within(begun, "chore") + within(begun, "chore"));
    for (int i = 2; i < 5; i++) {
      assertTrue(begun.isEmpty());
      released.release();
      assertEquals(i, within(begun, "chore"));
    }
    released.release(2);
    thinkers.end(PATIENCE);
  }

  /** The chores of one game are done one after the other, also those that come at the end. */
  @Test
  void chores() throws InterruptedException {
    Chores chores = new Chores(thinkers);
    CountDownLatch ended = new CountDownLatch(1);
    for (int i = 0; i < 3; i++) {
      int number = i;
      chores.add(
          () -> {
            awaitUninterruptibly(ended);
            begun.add(number);
          });
    }
    thinkers.end(Duration.ofMillis(1)); // whoever waits for chores that don't end goes on
    ended.countDown();
    for (int i = 0; i < 3; i++) {
      assertEquals(i, within(begun, "chore"));
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
