/** Plays what the conformance suite demands: the other bots' names say what this one does. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Bot, type Decision, type GameOver, type GameStarted, run } from "happycity";

class Scenario implements Bot {
  readonly #names: ReadonlySet<string>;

  constructor({ bots }: GameStarted) {
    this.#names = new Set(bots);
    if (this.#names.has("crash-start")) throw new Error("scenario");
  }

  async choose({ moves, note }: Decision): Promise<number> {
    if (this.#names.has("crash-choose")) throw new Error("scenario");
    if (this.#names.has("illegal")) return 99;
    if (this.#names.has("slow")) await sleep(2000);
    if (this.#names.has("note")) note({ depth: 3, nodes: 1200.5 });
    return this.#names.has("first") ? 0 : moves.length - 1;
  }

  gameOver({ matchId }: GameOver): void {
    console.log(`over ${matchId}`);
    if (this.#names.has("crash-over")) throw new Error("scenario");
  }

  gameVoided(matchId: bigint): void {
    console.log(`void ${matchId}`);
  }
}

const seconds = process.env.HAPPYCITY_RECONNECT;
await run((start) => new Scenario(start), seconds ? { reconnectMs: 1000 * Number(seconds) } : {});
