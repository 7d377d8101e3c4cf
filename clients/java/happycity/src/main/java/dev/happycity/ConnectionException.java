package dev.happycity;

import io.grpc.Status;

/** There is no server, or it refused the bot, or went away for too long. */
public final class ConnectionException extends HappyCityException {
  private static final long serialVersionUID = 1;

  private final String server;
  private final String name;
  private final Status.Code code;
  private final String reason;

  ConnectionException(Settings settings, Status.Code code, String reason, String text) {
    super(text, null);
    this.server = settings.server();
    this.name = settings.name();
    this.code = code;
    this.reason = reason;
  }

  /** The server's address. */
  public String server() {
    return server;
  }

  /** The bot's name. */
  public String name() {
    return name;
  }

  /** The status with which the server, or gRPC, ended the stream. */
  public Status.Code code() {
    return code;
  }

  /** The server's reason, as in the protocol, such as "REPLACED"; "" if it gave none. */
  public String reason() {
    return reason;
  }
}
