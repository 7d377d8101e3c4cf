package dev.happycity;

/** A bot that answers with how often it was asked before, 0 to 2, and notes that but for the 1. */
final class Noter implements Bot {
  static final BotFactory FACTORY = started -> new Noter();

  private final Counter counter = new Counter();

  @Override
  public int choose(Decision decision) {
    int answer = counter.choose(decision);
    if (answer != 1) {
      decision.note("depth", 7);
      decision.note("nodes of " + decision.decisionId(), 0.5);
      decision.note("depth", answer);
    }
    return answer;
  }
}
