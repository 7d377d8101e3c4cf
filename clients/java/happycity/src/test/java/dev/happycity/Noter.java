package dev.happycity;

import dev.happycity.v1.Decision;

/** A bot that answers with how often it was asked before, 0 to 2, and notes that but for the 1. */
final class Noter implements TellingBot {
  static final BotFactory FACTORY = start -> new Noter();

  private final Counter counter = new Counter();

  @Override
  public int choose(Decision decision, Thought thought) {
    int answer = counter.choose(decision);
    if (answer != 1) {
      thought.note("depth", 7);
      thought.note("nodes of " + decision.getDecisionId(), 0.5);
      thought.note("depth", answer);
    }
    return answer;
  }
}
