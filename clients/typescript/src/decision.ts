import type { Choice, Decision, Notes, View } from "./bot.js";
import type * as wire from "./v1.js";

/** A decision that a bot was asked. */
export class PendingDecision implements Decision {
  readonly matchId: bigint;
  readonly decisionId: number;
  readonly seat: number;
  readonly view: View;
  readonly moves: readonly wire.Move[];
  readonly events: readonly wire.Event[];
  readonly timeLeftMs: number | undefined;
  readonly bankLeftMs: number | undefined;
  readonly lastThinkMs: number | undefined;
  readonly roundTripMs: number | undefined;
  /** What the bot has noted. Replaced rather than changed: what is sent stays as it was. */
  notes: Notes = {};
  /** Made when the bot first reads the signal: few bots do. */
  #controller: AbortController | undefined;
  #dropped = false;

  constructor({ matchId, decisionId, view, moves, events, clock }: wire.Decision) {
    if (view?.config === undefined || moves.length === 0) {
      throw new TypeError("the server's decision is incomplete");
    }
    this.matchId = matchId;
    this.decisionId = decisionId;
    this.seat = view.seat;
    this.view = view as View;
    this.moves = moves;
    this.events = events;
    this.timeLeftMs = milliseconds(clock?.timeLeftUs);
    this.bankLeftMs = milliseconds(clock?.bankLeftUs);
    this.lastThinkMs = milliseconds(clock?.lastThinkUs);
    this.roundTripMs = milliseconds(clock?.roundTripUs);
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#dropped) this.#controller.abort();
    return this.#controller.signal;
  }

  /** A function rather than a method, so that a bot may take the decision apart. */
  readonly note = (numbers: Notes): void => {
    const notes: Record<string, number> = { ...this.notes };
    // JavaScript may pass anything, and only numbers can be encoded.
    for (const [name, number] of Object.entries(numbers)) notes[name] = Number(number);
    this.notes = notes;
  };

  /** Abort the signal: an answer no longer counts. */
  drop(): void {
    this.#dropped = true;
    this.#controller?.abort();
  }

  /**
   * Return the position of a choice among the moves.
   *
   * @throws RangeError if it is not legal.
   */
  positionOf(choice: Choice): number {
    const position = typeof choice === "number" ? choice : this.moves.indexOf(choice);
    if (!Number.isInteger(position) || position < 0 || position >= this.moves.length) {
      const chosen = typeof choice === "object" ? "a move that is not one of decision.moves" : String(choice);
      throw new RangeError(`the bot chose ${chosen}; the moves are 0 to ${this.moves.length - 1}`);
    }
    return position;
  }
}

function milliseconds(microseconds: bigint | undefined): number | undefined {
  return microseconds === undefined ? undefined : Number(microseconds) / 1000;
}
