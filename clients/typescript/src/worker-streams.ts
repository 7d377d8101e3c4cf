import { HappyCityError } from "./errors.js";
import { type CompleteSettings, UNLIMITED } from "./settings.js";

/** Plays on one server until the session there ends for good, or until the signal is aborted. */
export type PlaySession = (settings: CompleteSettings, signal: AbortSignal) => Promise<void>;

/**
 * Keeps a stream to each worker that the server's last welcome named, with a session of its own.
 *
 * A stream that can't be opened is no reason to leave the server: the games are played there then.
 */
export class WorkerStreams {
  readonly #settings: CompleteSettings;
  readonly #play: PlaySession;
  /** What stops each stream, by address; those that have ended are not in it. */
  readonly #streams = new Map<string, AbortController>();
  readonly #ends: Promise<void>[] = [];

  /** @param settings - Those of the stream to the server. */
  constructor(settings: CompleteSettings, play: PlaySession) {
    this.#settings = settings;
    this.#play = play;
  }

  /**
   * Open streams to the workers at these addresses, and end those to others.
   *
   * A bot with a maximum number of games opens none, as it holds for all streams together.
   */
  follow(addresses: readonly string[]): void {
    const wanted = new Set(this.#settings.games === UNLIMITED ? addresses : []);
    for (const [address, stop] of this.#streams) {
      if (wanted.has(address)) continue;
      this.#streams.delete(address);
      stop.abort();
    }
    for (const address of wanted) {
      if (this.#streams.has(address)) continue;
      const stop = new AbortController();
      this.#streams.set(address, stop);
      this.#ends.push(this.#keep(address, stop));
    }
  }

  /** End all streams. */
  async close(): Promise<void> {
    for (const stop of this.#streams.values()) stop.abort();
    await Promise.all(this.#ends);
  }

  async #keep(address: string, stop: AbortController): Promise<void> {
    const { name, log } = this.#settings;
    // When the server is lost for good, its workers are given up too.
    const settings = { ...this.#settings, server: address, waitMs: Infinity, reconnectMs: Infinity };
    try {
      await this.#play(settings, stop.signal);
    } catch (error) {
      if (!(error instanceof HappyCityError)) throw error;
      log.warn(`${name}: no games at the worker ${address}: ${error.message}`);
    }
    if (this.#streams.get(address) === stop) this.#streams.delete(address);
  }
}
