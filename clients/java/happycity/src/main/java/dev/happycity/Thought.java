package dev.happycity;

import dev.happycity.v1.Decision;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What a bot thinks about a decision, and notes of it. Any thread may do that. */
public final class Thought {
  final Decision decision;

  /** Whether the answer can be late, and when, in System.nanoTime. */
  final boolean hasLimit;

  final long limit;

  private Thread thinker; // while it thinks; guarded by the Games
  private Map<String, Double> notes = Map.of();

  /** Begins a thought as the SDK does, for the tests of a bot. */
  public Thought(Decision decision) {
    this.decision = decision;
    int timeLeft = decision.getClock().getTimeLeftMs();
    hasLimit = timeLeft != 0;
    limit = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Integer.toUnsignedLong(timeLeft));
  }

  /**
   * Sends a number about the choice with it, such as depth or nodes, for records and reports. Of
   * the numbers of one name the last one is sent.
   *
   * <p>They don't affect the game. The server keeps at most 16 of an answer, finite ones, with
   * names of at most 32 characters.
   */
  public synchronized void note(String name, double number) {
    if (notes.isEmpty()) {
      notes = new HashMap<>();
    }
    notes.put(String.valueOf(name), number);
  }

  /** Returns what has been noted so far, which a bot's tests may want to see. */
  public synchronized Map<String, Double> notes() {
    return Map.copyOf(notes);
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
