const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** How long a bot waits before it connects again: the pauses double until its server plays again. */
export class Pauses {
  /** When the last stream ended that the server had welcomed. */
  lostAt = 0;
  #bound = FIRST_PAUSE_MS;

  constructor(private readonly reconnectMs: number) {}

  /**
   * Return the pause after a stream that brought some messages; undefined gives the server up. All times are
   * milliseconds, `delayMs` is what the server asks for at least. Chance takes a share of the pause, from 0 to 1: it
   * spreads the bots of a server that was restarted.
   */
  next(now: number, messages: number, delayMs: number, share: number): number | undefined {
    if (messages > 0) this.lostAt = now;
    if (messages > 1) this.#bound = FIRST_PAUSE_MS; // a server that only welcomes and drops bots is not hammered
    const left = this.reconnectMs - (now - this.lostAt);
    if (left <= delayMs) return undefined;
    const pause = Math.max(delayMs, Math.min(share * this.#bound, left));
    this.#bound = Math.min(2 * this.#bound, LONGEST_PAUSE_MS);
    return pause;
  }
}
