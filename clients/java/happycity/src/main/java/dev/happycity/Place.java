package dev.happycity;

import java.util.StringJoiner;

/** Where in a game something happened. */
final class Place {
  private Place() {}

  /** Returns such as "match 7, round 1, decision 3", without what is 0. */
  static String of(long match, int round, int decision) {
    StringJoiner parts = new StringJoiner(", ");
    if (match != 0) {
      parts.add("match " + match);
    }
    if (round != 0) {
      parts.add("round " + round);
    }
    if (decision != 0) {
      parts.add("decision " + Integer.toUnsignedString(decision));
    }
    return parts.toString();
  }
}
