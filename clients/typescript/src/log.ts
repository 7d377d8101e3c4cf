/** Gets what a bot's author should know. `console` is one. */
export interface Log {
  info(text: string): void;
  warn(text: string): void;
  /** @param cause - What was thrown, if anything was. */
  error(text: string, cause?: unknown): void;
}

/** Writes to the standard error, and leaves the standard output to the bot. */
export const stderrLog: Log = {
  info: (text) => write("INFO", text),
  warn: (text) => write("WARNING", text),
  error: (text, cause) => write("ERROR", cause === undefined ? text : `${text}\n${stackOf(cause)}`),
};

function write(level: string, text: string): void {
  process.stderr.write(`${level} ${text}\n`);
}

function stackOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? String(cause)) : String(cause);
}
