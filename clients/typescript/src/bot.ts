/** What a bot is, and what it gets to see: the messages of the contract, where they are complete. */

import type * as wire from "./v1.js";

/** What a bot gets before its first decision. */
export interface GameStarted extends Readonly<wire.GameStarted> {
  readonly config: wire.GameConfig;
}

/** The whole public state of a game. */
export interface View extends Readonly<wire.View> {
  readonly config: wire.GameConfig;
}

/** A choice that waits for a bot. It carries everything, so a bot need not remember anything. */
export interface Decision {
  readonly matchId: bigint;
  /** Counts the decisions of the match, all seats together, from 1. */
  readonly decisionId: number;
  /** The bot's own seat. */
  readonly seat: number;
  readonly view: View;
  /**
   * The legal moves, two or more. The first is the neutral one. The `coins` of a move are by how much it changes the
   * own coins: negative for a purchase.
   */
  readonly moves: readonly wire.Move[];
  /** What happened since this seat's last decision. */
  readonly events: readonly wire.Event[];
  /** Milliseconds left to decide when the decision was sent; undefined: no limit. */
  readonly timeLeftMs: number | undefined;
  /** Milliseconds left in the seat's bank for this game; undefined: no bank. */
  readonly bankLeftMs: number | undefined;
  /** Milliseconds that the seat's last decision took on the server's clock; undefined before the first one. */
  readonly lastThinkMs: number | undefined;
  /** Milliseconds of the last measured round trip, a part of the think time; undefined before the first one. */
  readonly roundTripMs: number | undefined;
  /** Aborted when an answer no longer counts: the clock settled the decision, or the game is over. */
  readonly signal: AbortSignal;
  /**
   * Send numbers about the choice with it, such as `{ depth: 3, nodes: 1200 }`, for records and reports. They don't
   * affect the game.
   *
   * A later number replaces an earlier one of the same name; notes after the choice are not sent. The server keeps at
   * most 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of `. _ + -`, and drops
   * others with a notice; the choice counts all the same.
   */
  readonly note: (numbers: Notes) => void;
}

/** How a game ended. */
export interface GameOver {
  readonly matchId: bigint;
  /** By seat: points, place, how the seat ended, and more. */
  readonly seats: readonly wire.SeatResult[];
}

/** Numbers about a choice, by their names. */
export type Notes = Readonly<Record<string, number>>;

/** A position in `Decision.moves`, from 0, or one of these moves itself. */
export type Choice = number | wire.Move;

/**
 * Chooses a move. While it returns no promise, nothing else happens: the bot's other games wait.
 *
 * An exception and a choice that is not legal are crashes: the SDK gives up this game, and the bot's other games go on.
 */
export type Choose = (decision: Decision) => Choice | PromiseLike<Choice>;

/** Plays one seat of one match; its fields are the memory of that game. */
export interface Bot {
  /** Choose one of the decision's moves. See {@link Choose}. */
  choose(decision: Decision): Choice | PromiseLike<Choice>;
  /** Called when the game is over. It is the last call. */
  gameOver?(over: GameOver): void | PromiseLike<void>;
  /** Called when the match was voided, which is no bot's fault, and counts for nobody. It is the last call. */
  gameVoided?(matchId: bigint, reason: wire.VoidReason): void | PromiseLike<void>;
}

/** Makes the bot of one seat, when the game starts. A function is enough of a bot. */
export type BotFactory = (start: GameStarted) => Bot | Choose;
