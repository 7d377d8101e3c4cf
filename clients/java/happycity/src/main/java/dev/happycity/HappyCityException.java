package dev.happycity;

/** Why a bot can't play, or plays no more. The message is one line for a person. */
public abstract sealed class HappyCityException extends RuntimeException
    permits SettingException, ConnectionException {
  private static final long serialVersionUID = 1;

  HappyCityException(String message, Throwable cause) {
    super(message, cause);
  }
}
