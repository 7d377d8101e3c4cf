package author;

import dev.happycity.Bot;
import dev.happycity.Decision;

/** A bot that crashes, in a package of its author's. */
public final class Forgetful implements Bot {
  private final int[] notes = {};

  @Override
  public int choose(Decision decision) {
    return notes[decision.seat()];
  }
}
