package dev.happycity;

/** Why a bot can't play, or plays no more. The message is one line for a person. */
public final class HappyCityException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** How much of a text is shown, in characters. */
  private static final int LONGEST = 500;

  private final String reason;
  private final int exitStatus;

  HappyCityException(String message, String reason, int exitStatus) {
    super(oneLine(message));
    this.reason = reason;
    this.exitStatus = exitStatus;
  }

  HappyCityException(String message) {
    this(message, "", 2);
  }

  /** Returns the error of a server that sent what the protocol doesn't allow. */
  static HappyCityException brokenProtocol(Server server, String what) {
    return new HappyCityException("%s broke the protocol: %s".formatted(server, what), "", 1);
  }

  /** The server's reason, as in the contract, such as "REPLACED"; "" if it gave none. */
  public String reason() {
    return reason;
  }

  /** The status with which {@link HappyCity#run} ends the program. */
  public int exitStatus() {
    return exitStatus;
  }

  /** Returns a text, from wherever it came, in one line without control characters. */
  static String oneLine(String text) {
    String head = text.substring(0, Math.min(text.length(), LONGEST));
    return head.replaceAll("[\\p{C}\\p{Z}]+", " ").strip();
  }
}
