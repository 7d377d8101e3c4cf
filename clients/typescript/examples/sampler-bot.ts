import { setTimeout as pause } from "node:timers/promises";
import { type Bot, type Decision, retryAfterMs, type Thought } from "happycity";
import { type RollOut, RollOutRequest, type SimulationServiceClient } from "happycity/v1";

/**
 * Of each move. A standard error of a mean of 40 is some 5 points, but all moves are tried in the same worlds, so
 * their differences are known better than that.
 */
const PLAYOUTS = 40;
/** Plays the seats in the playouts. */
const POLICY = "quick";

/** The server's simulations, as far as they are asked for. */
export type Simulations = Pick<SimulationServiceClient, "rollOut">;

/** Plays the move that ends best on average; any number of games at once. */
export class Sampler implements Bot {
  readonly #simulations: Simulations;
  /** Settled when all who came before have had their turn. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(simulations: Simulations) {
    this.#simulations = simulations;
  }

  /** Choose by simulations; if the server doesn't simulate in time, play the neutral move. */
  async choose(decision: Decision, { signal, note }: Thought): Promise<number> {
    const late = new AbortController();
    const stop = () => late.abort(new Error("there is no time left"));
    signal.addEventListener("abort", stop);
    const { timeLeftMs } = decision.clock; // the answer needs some of it too
    const timer = timeLeftMs > 0 ? setTimeout(stop, 0.75 * timeLeftMs) : undefined;
    try {
      const rollOuts = await this.#inTurn(late.signal, () => this.#rollOut(decision, late.signal));
      const leads = rollOuts.map(({ pointsMean }) => leadOf(pointsMean, decision.seat));
      const lead = Math.max(...leads);
      note({ playouts: PLAYOUTS, lead });
      return leads.indexOf(lead);
    } catch (error) {
      if (!signal.aborted) console.error(`no simulations: ${error}`);
      return 0;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /**
   * Call when all who came before have had their turn: if the games asked for playouts all at once when there
   * were too many of late, each might be refused again and again.
   */
  #inTurn<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(() => {
      signal.throwIfAborted();
      return call();
    });
    this.#turn = mine.catch(() => {});
    return Promise.race([mine, aborted(signal)]);
  }

  /** Ask for playouts of all moves, again and again while too many were asked for of late. */
  async #rollOut({ decisionId, view }: Decision, signal: AbortSignal): Promise<RollOut[]> {
    const request = RollOutRequest.fromPartial({
      lines: [{ view, seed: BigInt(decisionId) }],
      playouts: PLAYOUTS,
      policy: POLICY,
      eachMove: true,
    });
    for (;;) {
      try {
        return await this.#call(request, signal);
      } catch (error) {
        const afterMs = retryAfterMs(error);
        if (afterMs === undefined) throw error;
        await pause(afterMs, undefined, { signal });
      }
    }
  }

  #call(request: RollOutRequest, signal: AbortSignal): Promise<RollOut[]> {
    return new Promise((resolve, reject) => {
      const call = this.#simulations.rollOut(request, (error, response) => {
        signal.removeEventListener("abort", cancel);
        if (error) reject(error);
        else resolve(response.rollOuts);
      });
      const cancel = () => call.cancel();
      signal.addEventListener("abort", cancel);
    });
  }
}

/** Return by how much a seat's points exceed those of the best other one. */
function leadOf(points: readonly number[], seat: number): number {
  const others = points.filter((_, other) => other !== seat);
  return (points[seat] ?? 0) - Math.max(...others);
}

/** Fail when a signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
