package dev.happycity;

import io.grpc.Status;

/** There is no server, or it refused the bot, or went away for too long. */
public final class ConnectionException extends HappyCityException {
  private static final long serialVersionUID = 1;

  private final Status.Code code;
  private final String reason;

  ConnectionException(StreamStatus status, String text) {
    super(text, null);
    this.code = status.code();
    this.reason = status.reason();
  }

  /** The status code with which the server, or gRPC, ended the stream. */
  public Status.Code code() {
    return code;
  }

  /** The server's reason, as in the contract, such as "REPLACED"; "" if it gave none. */
  public String reason() {
    return reason;
  }
}
