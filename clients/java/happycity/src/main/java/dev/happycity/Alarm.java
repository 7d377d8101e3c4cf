package dev.happycity;

import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Calls an action once when its time has come. Putting that off starts no timer: the one that runs
 * already compares the times when it ends. So an alarm may be put off with every message.
 */
final class Alarm {
  private final ScheduledExecutorService clock;
  private final Runnable ring;
  private boolean set;
  private long time; // in System.nanoTime, as is the next
  private long timerTime;
  private ScheduledFuture<?> timer; // null if none runs

  Alarm(ScheduledExecutorService clock, Runnable ring) {
    this.clock = clock;
    this.ring = ring;
  }

  /** Sets the alarm again. */
  void setIn(Duration delay) {
    setAt(System.nanoTime() + delay.toNanos());
  }

  /** Sets the alarm to an earlier time, if it is not set to such a one already. */
  synchronized void setNoLaterThan(long nanoTime) {
    if (!set || nanoTime - time < 0) {
      setAt(nanoTime);
    }
  }

  synchronized void clear() {
    set = false;
  }

  private synchronized void setAt(long nanoTime) {
    set = true;
    time = nanoTime;
    if (timer != null && time - timerTime < 0) {
      timer.cancel(false);
      timer = null;
    }
    if (timer == null) {
      startTimer();
    }
  }

  private void startTimer() {
    timerTime = time;
    timer = clock.schedule(this::check, time - System.nanoTime(), TimeUnit.NANOSECONDS);
  }

  private void check() {
    if (isDue()) {
      ring.run();
    }
  }

  private synchronized boolean isDue() {
    timer = null;
    if (!set) {
      return false;
    }
    if (System.nanoTime() - time < 0) {
      startTimer();
      return false;
    }
    set = false;
    return true;
  }
}
