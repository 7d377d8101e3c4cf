package dev.happycity;

/** Why a bot can't play, or plays no more. The message is one line for a person. */
public final class HappyCityException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private static final int LONGEST = 500; // characters of a text that are shown

  private final String reason;
  final int exitStatus; // of a program that ends with it
  final Long retryMillis; // before another attempt, at least; null if another one is pointless

  HappyCityException(String message, String reason, int exitStatus, Long retryMillis) {
    super(oneLine(message));
    this.reason = reason;
    this.exitStatus = exitStatus;
    this.retryMillis = retryMillis;
  }

  HappyCityException(String message) {
    this(message, "", 2, null);
  }

  /** The server's reason, as in the contract, such as "REPLACED"; "" if it gave none. */
  public String reason() {
    return reason;
  }

  /** Returns a text, from wherever it came, in one line without control characters. */
  static String oneLine(String text) {
    String head = text.substring(0, Math.min(text.length(), LONGEST));
    return head.replaceAll("[\\p{C}\\p{Z}]+", " ").strip();
  }
}
