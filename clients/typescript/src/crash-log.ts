import { crashKind, crashReason } from "./crash.js";
import type { Log } from "./log.js";

/** Kinds of crashes that are counted separately; all further ones count as one kind. */
const MOST_KINDS = 100;

interface Kind {
  readonly firstMatch: bigint;
  readonly reason: string;
  count: number;
  /** The count that the last line gives. */
  logged: number;
}

/** Logs each kind of crash once with its stack, then only how often it came again. */
export class CrashLog {
  readonly #name: string;
  readonly #log: Log;
  readonly #kinds = new Map<string, Kind>();

  constructor(name: string, log: Log) {
    this.#name = name;
    this.#log = log;
  }

  /**
   * Log a crash.
   *
   * @param what - What became of it.
   * @param place - Where in a game it was.
   */
  add(what: string, match: bigint, place: string, error: unknown): void {
    let key = `${what} ${crashKind(error)}`;
    let reason = crashReason(error);
    if (!this.#kinds.has(key) && this.#kinds.size >= MOST_KINDS) [key, reason] = ["", "various"];
    const kind = this.#kinds.get(key);
    if (!kind) {
      this.#kinds.set(key, { firstMatch: match, reason, count: 1, logged: 1 });
      this.#log.error(`${this.#name}: ${place}: ${what}`, error);
      return;
    }
    kind.count++;
    if (/^10*$/.test(String(kind.count))) {
      kind.logged = kind.count;
      const same = `the same crash as in match ${kind.firstMatch} (${kind.count} so far)`;
      this.#log.error(`${this.#name}: ${place}: ${same}: ${kind.reason}`);
    }
  }

  /** Log how often each kind came in all, where the last line doesn't say it. */
  close(): void {
    for (const { firstMatch, reason, count, logged } of this.#kinds.values()) {
      if (count === logged) continue;
      const same = `the same crash in ${count} games, first in match ${firstMatch}`;
      this.#log.error(`${this.#name}: ${same}: ${reason}`);
    }
    this.#kinds.clear();
  }
}
