package dev.happycity;

import static dev.happycity.Within.within;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class AlarmTest {
  private static final Duration LONG = Duration.ofHours(1);
  private static final Duration SHORT = Duration.ofMillis(20);

  private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1);
  private final BlockingQueue<Long> rung = new LinkedBlockingQueue<>();
  private final Alarm alarm = new Alarm(clock, () -> rung.add(System.nanoTime()));

  AlarmTest() {
    clock.setRemoveOnCancelPolicy(true);
  }

  @AfterEach
  void stop() {
    clock.shutdownNow();
  }

  /** An alarm that is put off rings at the later time, and runs one timer only. */
  @Test
  void putOff() throws InterruptedException {
    CountDownLatch clockGoesOn = stopClock();
    alarm.setIn(SHORT);
    long notBefore = 0;
    for (int i = 0; i < 100; i++) {
      notBefore = System.nanoTime() + SHORT.multipliedBy(3).toNanos();
      alarm.setIn(SHORT.multipliedBy(3));
    }
    assertEquals(1, clock.getQueue().size());
    clockGoesOn.countDown();
    assertTrue(within(rung, "ring") - notBefore >= 0, "it rang too early");
    assertTrue(rung.isEmpty());
  }

  /** An alarm that is set to an earlier time rings then. */
  @Test
  void earlier() throws InterruptedException {
    alarm.setIn(LONG);
    alarm.setIn(SHORT);
    within(rung, "ring");
    assertEquals(0, clock.getQueue().size());
    alarm.setIn(LONG);
    alarm.setNoLaterThan(System.nanoTime());
    within(rung, "ring");
  }

  /** An earlier time stays when a later one is no longer than what may be. */
  @Test
  void noLaterThan() throws InterruptedException {
    alarm.setIn(SHORT);
    alarm.setNoLaterThan(System.nanoTime() + LONG.toNanos());
    within(rung, "ring");
  }

  /** An alarm that was cleared is silent: another one that was set later rings first. */
  @Test
  void cleared() throws InterruptedException {
    CountDownLatch clockGoesOn = stopClock();
    Alarm silent = new Alarm(clock, () -> rung.add(0L));
    silent.setIn(SHORT);
    silent.clear();
    alarm.setIn(SHORT);
    clockGoesOn.countDown();
    assertTrue(within(rung, "ring") != 0);
    assertTrue(rung.isEmpty());
  }

  /** Keeps the clock busy until the latch is counted down: nothing rings while alarms are set. */
  private CountDownLatch stopClock() throws InterruptedException {
    CountDownLatch stopped = new CountDownLatch(1);
    CountDownLatch goesOn = new CountDownLatch(1);
    clock.execute(
        () -> {
          stopped.countDown();
          try {
            goesOn.await();
          } catch (InterruptedException e) {
            // the end of a test that failed
          }
        });
    stopped.await();
    return goesOn;
  }
}
