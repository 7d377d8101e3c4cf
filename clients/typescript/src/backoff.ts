/** How long to wait between two attempts to connect. */

export const FIRST_MS = 100;
export const LONGEST_MS = 5_000;

/**
 * Exponential back-off with full jitter: a random share of a bound that doubles with every attempt.
 *
 * The randomness spreads the bots of a server that was restarted.
 */
export class Backoff {
  readonly #random: () => number;
  #bound = FIRST_MS;

  /** @param random - Returns numbers from 0 up to 1, as `Math.random` does. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Return the milliseconds to wait before the next attempt, 0 to `LONGEST_MS`. */
  next(): number {
    const pause = this.#random() * this.#bound;
    this.#bound = Math.min(2 * this.#bound, LONGEST_MS);
    return pause;
  }

  /** Return to the first bound, after a connection that made progress. */
  reset(): void {
    this.#bound = FIRST_MS;
  }
}
