/** What a bot is, and what it gets to see: the messages of the contract, where they are whole. */

import type * as wire from "./v1.js";

/** What a bot is told before its first decision. */
export interface GameStart extends Readonly<wire.GameStarted> {
  readonly config: wire.GameConfig;
}

/** The whole public state of a game. */
export interface View extends Readonly<wire.View> {
  readonly config: wire.GameConfig;
}

/** A choice that waits for a bot. It tells everything, so a bot need not remember anything. */
export interface Decision extends Readonly<wire.Decision> {
  readonly view: View;
  readonly clock: wire.Clock;
}

/** How a game ended. */
export interface GameOver {
  readonly gameId: bigint;
  /** By the rules alone. */
  readonly outcome: wire.Outcome;
  /** The places that count, by seat: as the outcome's ranks, but forfeited seats come last. */
  readonly places: readonly number[];
  /** How each seat ended. */
  readonly endings: readonly wire.Ending[];
}

/** Numbers about a choice, by their names. */
export type Notes = Readonly<Record<string, number>>;

/** What goes with one call of `choose`. */
export interface Thought {
  /** Aborted when the answer is of no use any more: the clock settled the decision, or the game is over. */
  readonly signal: AbortSignal;
  /**
   * Send numbers about the choice with it, such as `{ depth: 3, nodes: 1200 }`, for records and reports. They don't
   * affect the game.
   *
   * A later number replaces an earlier one of the same name; what is noted after the choice is not sent. The server
   * keeps at most 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of `. _ + -`, and
   * drops others with a notice; the choice counts all the same.
   */
  readonly note: (numbers: Notes) => void;
}

/** A position in `Decision.moves`, counted from 0, or one of these moves itself. */
export type Choice = number | wire.Move;

/**
 * Chooses a move. While it returns no promise, nothing else happens: the bot's other games wait.
 *
 * What it throws, and a choice that is not legal, resigns this game; the bot's other games go on.
 */
export type Choose = (decision: Decision, thought: Thought) => Choice | PromiseLike<Choice>;

/** Plays one game; its fields are the memory of that game. */
export interface Bot {
  /** Choose one of the decision's moves, two or more; the first is the neutral one. See {@link Choose}. */
  choose(decision: Decision, thought: Thought): Choice | PromiseLike<Choice>;
  /** Hear how the game ended. */
  gameOver?(over: GameOver): void | PromiseLike<void>;
  /** Hear that the game was broken off, which is no bot's fault, and counts for nobody. */
  gameVoided?(reason: wire.VoidReason): void | PromiseLike<void>;
}

/** Makes the bot of one game, when that starts. A function is enough of a bot. */
export type BotFactory = (start: GameStart) => Bot | Choose;
