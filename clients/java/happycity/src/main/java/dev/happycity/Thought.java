package dev.happycity;

import dev.happycity.v1.Decision;
import java.util.concurrent.TimeUnit;

/** A decision that a bot is to answer. The thread is guarded by the {@link Games}. */
final class Thought {
  final Decision decision;

  /** Whether the answer can be late, and when, in System.nanoTime. */
  final boolean hasLimit;

  final long limit;

  private Thread thinker; // while it thinks

  Thought(Decision decision) {
    this.decision = decision;
    int timeLeft = decision.getClock().getTimeLeftMs();
    hasLimit = timeLeft != 0;
    limit = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Integer.toUnsignedLong(timeLeft));
  }

  boolean isLate() {
    return hasLimit && System.nanoTime() - limit >= 0;
  }

  void begin() {
    thinker = Thread.currentThread();
  }

  /** Ends the thought in its own thread, and clears an interruption that came for it. */
  void end() {
    thinker = null;
    Thread.interrupted();
  }

  /** Tells the bot that nobody waits for it. */
  void interrupt() {
    if (thinker != null) {
      thinker.interrupt();
    }
  }

  boolean isRunning() {
    return thinker != null;
  }
}
