package dev.happycity;

import dev.happycity.v1.Decision;

/** A {@link Bot} that tells of its choices, by numbers. */
@FunctionalInterface
public interface TellingBot extends Bot {
  /**
   * Chooses as {@link Bot#choose} does. What is noted in the thought goes with the choice.
   *
   * @throws Exception as {@link Bot#choose} does
   */
  int choose(Decision decision, Thought thought) throws Exception;

  /** Chooses without telling. */
  @Override
  default int choose(Decision decision) throws Exception {
    return choose(decision, new Thought(decision));
  }
}
