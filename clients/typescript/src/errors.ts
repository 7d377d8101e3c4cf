/** What the SDK throws; the message is one line for a person. */
export class HappyCityError extends Error {
  override name = "HappyCityError";
}

/** A setting can't be used. */
export class SettingError extends HappyCityError {
  override name = "SettingError";
  /** Which one: a field of `Settings`, or a variable of the environment. */
  readonly setting: string;

  constructor(setting: string, text: string) {
    super(`${setting}: ${text}`);
    this.setting = setting;
  }
}

/** The server can't be reached, refused the bot, or went away for too long. */
export class ConnectionFailedError extends HappyCityError {
  override name = "ConnectionFailedError";
  /** The server's reason as in the contract, such as "REPLACED"; "" if it gave none. */
  readonly reason: string;

  constructor(text: string, reason = "") {
    super(text);
    this.reason = reason;
  }
}
