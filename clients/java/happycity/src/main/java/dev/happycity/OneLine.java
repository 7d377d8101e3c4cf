package dev.happycity;

/** Texts that are fit for a terminal, wherever they came from. */
final class OneLine {
  /** As many characters of a reason as a server keeps. */
  private static final int LONGEST = 200;

  private OneLine() {}

  /** Returns a text in one line of at most 200 characters, without control characters. */
  static String of(String text) {
    String head = text.substring(0, Math.min(text.length(), 4 * LONGEST));
    String line = head.replaceAll("[\\p{C}\\p{Z}]+", " ").strip();
    int length = Math.min(line.codePointCount(0, line.length()), LONGEST);
    return line.substring(0, line.offsetByCodePoints(0, length));
  }
}
