package dev.happycity;

/** A setting that can't be used. */
public final class SettingException extends HappyCityException {
  private static final long serialVersionUID = 1;

  private final String setting;

  SettingException(String setting, String text) {
    this(setting, text, null);
  }

  SettingException(String setting, String text, Throwable cause) {
    super(setting + ": " + text, cause);
    this.setting = setting;
  }

  /** The method of {@link Settings.Builder}, or the variable of the environment. */
  public String setting() {
    return setting;
  }
}
