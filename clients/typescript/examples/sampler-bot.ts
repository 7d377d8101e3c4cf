import { setTimeout as pause } from "node:timers/promises";
import { type Bot, type Decision, retryAfterMs } from "happycity";
import {
  PlayoutPolicy,
  type RolloutRequest,
  type RolloutResult,
  type SeatEstimate,
  type SimulationServiceClient,
} from "happycity/v1";

/**
 * Of each move. The standard error of a mean of 40 is some 5 points, but all moves are tried in the same worlds, so
 * their differences are known better than that.
 */
const PLAYOUTS = 40;

/** The server's simulations, as far as this bot calls them. */
export type Simulations = Pick<SimulationServiceClient, "rollout">;

/** Plays the move that ends best on average; any number of games at once. */
export class Sampler implements Bot {
  readonly #simulations: Simulations;
  /** Settled when all earlier calls have had their turn. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(simulations: Simulations) {
    this.#simulations = simulations;
  }

  /** Choose by simulations; if the server doesn't simulate in time, play the neutral move. */
  async choose(decision: Decision): Promise<number> {
    const { signal, note, seat, timeLeftMs } = decision;
    const late = new AbortController();
    const stop = () => late.abort(new Error("there is no time left"));
    signal.addEventListener("abort", stop);
    // The answer needs some of the time too.
    const timer = timeLeftMs === undefined ? undefined : setTimeout(stop, 0.75 * timeLeftMs);
    try {
      const results = await this.#inTurn(late.signal, () => this.#rollout(decision, late.signal));
      const leads = results.map(({ seats }) => leadOf(seats, seat));
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
   * Call when all earlier calls have had their turn: if the games called all at once when there were too many calls of
   * late, each might be refused again and again.
   */
  #inTurn<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(() => {
      signal.throwIfAborted();
      return call();
    });
    this.#turn = mine.catch(() => {});
    return Promise.race([mine, aborted(signal)]);
  }

  /** Ask for playouts of all moves, again and again while there were too many calls of late. */
  async #rollout({ decisionId, view }: Decision, signal: AbortSignal): Promise<RolloutResult[]> {
    const request = {
      lines: [{ view, moves: [], seed: BigInt(decisionId) }],
      playouts: PLAYOUTS,
      policy: PlayoutPolicy.QUICK,
      eachMove: true,
    };
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

  #call(request: RolloutRequest, signal: AbortSignal): Promise<RolloutResult[]> {
    return new Promise((resolve, reject) => {
      const call = this.#simulations.rollout(request, (error, response) => {
        signal.removeEventListener("abort", cancel);
        if (error) reject(error);
        else resolve(response.results);
      });
      const cancel = () => call.cancel();
      signal.addEventListener("abort", cancel);
    });
  }
}

/** Return by how much a seat's mean points exceed those of the best other seat. */
function leadOf(seats: readonly SeatEstimate[], seat: number): number {
  const points = seats.map(({ pointsMean }) => pointsMean);
  const others = points.filter((_, other) => other !== seat);
  return (points[seat] ?? 0) - Math.max(...others);
}

/** Fail when a signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
