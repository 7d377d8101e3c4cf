package dev.happycity;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for what has to happen, but not for ever. */
final class Within {
  static final int PATIENCE_SECONDS = 60;

  private Within() {}

  static <T> T within(BlockingQueue<T> queue, String what) throws InterruptedException {
    T value = queue.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    return value != null ? value : fail("no %s within %d s".formatted(what, PATIENCE_SECONDS));
  }

  static <T> T within(CompletableFuture<T> future, String what) throws InterruptedException {
    try {
      return future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException | ExecutionException e) {
      return fail("no %s within %d s".formatted(what, PATIENCE_SECONDS), e);
    }
  }
}
