/** What a bot is, and what it gets to see. */

import { type Position, Worlds } from "./engine.js";
import type { Event, GameConfig, Move, View as WireView } from "./gen/received/happycity/v1/game.js";
import type { MatchResult, VoidReason } from "./gen/received/happycity/v1/match.js";
import type * as wire from "./gen/received/happycity/v1/play_service.js";
import { View as SentView } from "./gen/sent/happycity/v1/game.js";

/** What a bot gets before its first decision. */
export type GameStarted = Readonly<wire.GameStarted> & { readonly config: GameConfig };

/** The whole public state of a game. */
export type View = Readonly<WireView> & { readonly config: GameConfig };

/** How a game ended: by seat points, place, how the seat ended, and more. */
export type GameOver = Readonly<MatchResult> & { readonly matchId: bigint };

/** Plays one seat of one match; its fields are the memory of that game. */
export interface Bot {
  /**
   * Choose a move: return its position in `Decision.moves`, from 0. Until this returns a number or a promise, nothing
   * else happens: the bot's other games wait.
   *
   * An exception and a choice that is not legal are crashes: the SDK gives up this game, and the bot's other games go
   * on.
   */
  choose(decision: Decision): number | PromiseLike<number>;
  /** Called when the game is over, unless the bot has crashed. It is the last call. */
  gameOver?(over: GameOver): void | PromiseLike<void>;
  /** Called instead when the match was voided, which is not a bot's fault and doesn't count. It is the last call. */
  gameVoided?(matchId: bigint, reason: VoidReason): void | PromiseLike<void>;
}

/** Makes the bot of one seat when the game starts. A function that chooses is enough of a bot. */
export type BotFactory = (start: GameStarted) => Bot | Bot["choose"];

/** A choice that waits for a bot. It carries everything, so a bot need not remember anything. */
export class Decision {
  readonly matchId: bigint;
  /** Counts the decisions of the match, all seats together, from 1. */
  readonly decisionId: number;
  /** The bot's own seat. */
  readonly seat: number;
  readonly view: View;
  /** The legal moves, two or more. The first is the neutral one. The `coins` of a purchase are negative. */
  readonly moves: readonly Move[];
  /** What happened since this seat's last decision. */
  readonly events: readonly Event[];
  /** Milliseconds left to decide when the decision was sent; undefined: no limit. */
  readonly timeLeftMs: number | undefined;
  /** All times that the server measures for this seat, in microseconds. */
  readonly clock: wire.Clock | undefined;
  /** What was noted. */
  readonly notes: Record<string, number> = {};
  readonly #controller = new AbortController();
  #worlds: Worlds | undefined;

  /** @param message - A decision of the server with a view that has a config. */
  constructor({ matchId, decisionId, view, moves, events, clock }: wire.Decision) {
    this.matchId = matchId;
    this.decisionId = decisionId;
    this.view = view as View;
    this.seat = this.view.seat;
    this.moves = moves;
    this.events = events;
    this.timeLeftMs = clock?.timeLeftUs === undefined ? undefined : Number(clock.timeLeftUs) / 1000;
    this.clock = clock;
  }

  /** Aborted when an answer no longer counts: the clock settled the decision, or the game is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Sample a world for a search: a position that looks like the view, whose hidden cards are drawn from the seed.
   *
   * Its legal moves have the order of `moves`.
   */
  position(seed: bigint): Position {
    return this.worlds.sample(seed);
  }

  /** What samples the worlds of `position`. */
  get worlds(): Worlds {
    this.#worlds ??= new Worlds(SentView.encode(this.view as unknown as SentView).finish());
    return this.#worlds;
  }

  /**
   * Send numbers about the choice with it, such as `{ depth: 3, nodes: 1200 }`, for records and reports. They don't
   * affect the game.
   *
   * A later number replaces an earlier one of the same name; notes after the choice are not sent. The server keeps at
   * most 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of `. _ + -`, and drops
   * others with a notice; the choice counts all the same.
   */
  readonly note = (numbers: Readonly<Record<string, number>>): void => {
    // JavaScript may pass anything, and only numbers can be encoded.
    for (const [name, number] of Object.entries(numbers)) this.notes[name] = Number(number);
  };

  /** Abort the signal. */
  cancel(): void {
    this.#controller.abort();
  }
}
