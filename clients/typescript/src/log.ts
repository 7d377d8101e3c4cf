/** Gets what a bot's author should know. `console` is one. */
export interface Log {
  info(text: string): void;
  warn(text: string): void;
  /** @param cause - What was thrown, if anything was. */
  error(text: string, cause?: unknown): void;
}

/** Writes lines with the time in UTC to the standard error, and leaves the standard output to the bot. */
export const stderrLog: Log = {
  info: (text) => write("INFO", text),
  warn: (text) => write("WARNING", text),
  error: (text, cause) => write("ERROR", cause === undefined ? text : `${text}\n${stackOf(cause)}`),
};

function write(level: string, text: string): void {
  const time = new Date().toISOString().replace(/\.\d+/, "");
  process.stderr.write(`${time} ${level} ${text}\n`);
}

function stackOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? String(cause)) : String(cause);
}

/** Name a place in a game, such as `match 7, round 1, decision 3`, without what is 0. */
export function placeOf(match: bigint, round = 0, decision = 0): string {
  return Object.entries({ match, round, decision })
    .filter(([, number]) => number)
    .map(([name, number]) => `${name} ${number}`)
    .join(", ");
}
