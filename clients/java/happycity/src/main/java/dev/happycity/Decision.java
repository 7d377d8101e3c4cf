package dev.happycity;

import dev.happycity.v1.Clock;
import dev.happycity.v1.Event;
import dev.happycity.v1.Move;
import dev.happycity.v1.View;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A choice that waits for a bot. It carries everything, so a bot need not remember anything. */
public final class Decision {
  /** As good as for ever, and it can be added to a time. */
  private static final long LONGEST_US = TimeUnit.DAYS.toMicros(3650);

  private final dev.happycity.v1.Decision message;
  private final boolean limited;
  private final long deadline; // in System.nanoTime, if the time is limited
  private final Map<String, Double> notes = new HashMap<>();
  private Thread thinker; // while it thinks; guarded by the Player

  private Decision(dev.happycity.v1.Decision message) {
    this.message = message;
    Clock clock = message.getClock();
    limited = clock.hasTimeLeftUs();
    deadline = System.nanoTime() + 1000 * bounded(clock.getTimeLeftUs());
  }

  /** Returns a decision that has just come. Bots get theirs from the SDK; this is for tests. */
  public static Decision of(dev.happycity.v1.Decision message) {
    return new Decision(message);
  }

  /** The match. */
  public long matchId() {
    return message.getMatchId();
  }

  /** Counts the decisions of the match, all seats together, from 1. */
  public int decisionId() {
    return message.getDecisionId();
  }

  /** The bot's own seat. */
  public int seat() {
    return message.getView().getSeat();
  }

  /** The legal moves, two or more. The first is the neutral one. */
  public List<Move> moves() {
    return message.getMovesList();
  }

  /** The whole public state. */
  public View view() {
    return message.getView();
  }

  /** What happened since this seat's last decision. */
  public List<Event> events() {
    return message.getEventsList();
  }

  /** The message of the server. */
  public dev.happycity.v1.Decision message() {
    return message;
  }

  /**
   * Returns how long it takes from now until the decision is late, the way of the answer included;
   * empty if there is no limit.
   */
  public Optional<Duration> timeLeft() {
    long left = Math.max(0, deadline - System.nanoTime());
    return limited ? Optional.of(Duration.ofNanos(left)) : Optional.empty();
  }

  /** What is left in the seat's bank for this game; empty if there is no bank. */
  public Optional<Duration> bankLeft() {
    Clock clock = message.getClock();
    return time(clock.hasBankLeftUs(), clock.getBankLeftUs());
  }

  /** How long the seat's last decision took on the server's clock; empty before the first one. */
  public Optional<Duration> lastThink() {
    Clock clock = message.getClock();
    return time(clock.hasLastThinkUs(), clock.getLastThinkUs());
  }

  /** The last measured round trip, a part of the think time; empty before the first one. */
  public Optional<Duration> roundTrip() {
    Clock clock = message.getClock();
    return time(clock.hasRoundTripUs(), clock.getRoundTripUs());
  }

  private static Optional<Duration> time(boolean has, long microseconds) {
    return has
        ? Optional.of(Duration.of(bounded(microseconds), ChronoUnit.MICROS))
        : Optional.empty();
  }

  private static long bounded(long microseconds) { // negative if they are 2^63 or more
    return microseconds < 0 ? LONGEST_US : Math.min(microseconds, LONGEST_US);
  }

  /**
   * Sends a number about the choice with it, such as depth or nodes, for records and reports. Any
   * thread may do that.
   *
   * <p>It doesn't affect the game. A later number replaces an earlier one of the same name. The
   * server keeps at most 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits
   * or any of "._-+".
   */
  public void note(String name, double number) {
    synchronized (notes) {
      notes.put(String.valueOf(name), number);
    }
  }

  /** Returns what has been noted so far, for the tests of a bot. */
  public Map<String, Double> notes() {
    synchronized (notes) {
      return Map.copyOf(notes);
    }
  }

  boolean isLimited() {
    return limited;
  }

  long deadline() {
    return deadline;
  }

  boolean isLate() {
    return limited && System.nanoTime() - deadline >= 0;
  }

  boolean isThoughtAbout() {
    return thinker != null;
  }

  /** Begins the thinking, in its thread. */
  void begin() {
    thinker = Thread.currentThread();
  }

  /** Ends the thinking in its thread, and clears an interruption that came for it. */
  void end() {
    thinker = null;
    Thread.interrupted();
  }

  /** Lets the bot know that its answer is of no use any more. */
  void interrupt() {
    if (thinker != null) {
      thinker.interrupt();
    }
  }
}
