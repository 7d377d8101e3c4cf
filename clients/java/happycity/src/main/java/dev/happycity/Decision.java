package dev.happycity;

import dev.happycity.v1.Clock;
import dev.happycity.v1.Move;
import dev.happycity.v1.View;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A choice that waits for a bot. It carries everything, so a bot need not remember anything. */
public final class Decision {
  private final dev.happycity.v1.Decision message;
  private final long received = System.nanoTime();
  private final Map<String, Double> notes = new ConcurrentHashMap<>();

  /** Makes a decision that has just arrived. Bots get theirs from the SDK; this is for tests. */
  public Decision(dev.happycity.v1.Decision message) {
    this.message = message;
  }

  /** The legal moves, two or more. The first is the neutral one. */
  public List<Move> moves() {
    return message.getMovesList();
  }

  /** The whole public state; its seat is the bot's own. */
  public View view() {
    return message.getView();
  }

  /** The message of the server, with the events since this seat's last decision, and the clock. */
  public dev.happycity.v1.Decision message() {
    return message;
  }

  /**
   * Returns the native engine's position here, with what is hidden drawn from a seed: for searches.
   */
  public Position position(long seed) {
    return Position.sample(view(), seed);
  }

  /**
   * Returns how much time is left from now until the decision is late, including the time that the
   * answer takes to arrive; empty if there is no limit.
   */
  public Optional<Duration> timeLeft() {
    Clock clock = message.getClock();
    long elapsed = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - received);
    Duration left = Duration.of(Math.max(0, clock.getTimeLeftUs() - elapsed), ChronoUnit.MICROS);
    return clock.hasTimeLeftUs() ? Optional.of(left) : Optional.empty();
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
