package dev.happycity;

/** Why a bot doesn't play, or not any more. The message is one line for a person. */
public abstract sealed class HappyCityException extends RuntimeException
    permits SettingException, ConnectionException {
  private static final long serialVersionUID = 1;

  HappyCityException(String message, Throwable cause) {
    super(message, cause);
  }
}
