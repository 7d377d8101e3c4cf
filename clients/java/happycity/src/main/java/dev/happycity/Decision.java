package dev.happycity;

import dev.happycity.v1.Clock;
import dev.happycity.v1.Event;
import dev.happycity.v1.Move;
import dev.happycity.v1.View;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** A choice that waits for a bot. It carries everything, so a bot need not remember anything. */
public final class Decision {
  private final dev.happycity.v1.Decision message;
  private final long received = System.nanoTime();
  private final Map<String, Double> notes = new ConcurrentHashMap<>();

  private Decision(dev.happycity.v1.Decision message) {
    this.message = message;
  }

  /** Returns a decision that has just arrived. Bots get theirs from the SDK; this is for tests. */
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
   * Returns how much time is left from now until the decision is late, including the time that the
   * answer takes to arrive; empty if there is no limit. {@link #message} has the rest of the clock.
   */
  public Optional<Duration> timeLeft() {
    Clock clock = message.getClock();
    Duration elapsed = Duration.ofNanos(System.nanoTime() - received);
    Duration left = Duration.of(clock.getTimeLeftUs(), ChronoUnit.MICROS).minus(elapsed);
    return clock.hasTimeLeftUs()
        ? Optional.of(left.isNegative() ? Duration.ZERO : left)
        : Optional.empty();
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
    notes.put(name, number);
  }

  /** Returns what has been noted so far, for the tests of a bot. */
  public Map<String, Double> notes() {
    return Map.copyOf(notes);
  }
}
