/** The server's messages as what a bot gets to see. */

import type { Bot, BotFactory, Choice, Decision, GameOver, GameStart } from "./bot.js";
import type * as wire from "./v1.js";

/** Have the bot of a game made. */
export function makeBot(factory: BotFactory, message: wire.GameStarted): Bot {
  const made: unknown = factory(wholeStart(message));
  if (typeof made === "function") {
    return { choose: made as Bot["choose"] };
  }
  if (typeof made === "object" && made !== null && "choose" in made) {
    return made as Bot;
  }
  throw new TypeError(`the factory returned ${String(made)}: neither a function nor an object with choose`);
}

/** Hold a decision to what the contract promises. */
export function wholeDecision(message: wire.Decision): Decision {
  const { view, clock } = message;
  if (view?.config === undefined || clock === undefined || message.moves.length === 0) {
    throw new TypeError("the server's decision is not whole");
  }
  return message as Decision;
}

/** Return the position of a choice among the moves. */
export function positionOf(choice: Choice, moves: readonly wire.Move[]): number {
  const position = typeof choice === "number" ? choice : moves.indexOf(choice);
  if (!Number.isInteger(position) || position < 0 || position >= moves.length) {
    const chosen = typeof choice === "object" ? "a move that is not one of decision.moves" : String(choice);
    throw new RangeError(`the bot chose ${chosen}; the moves are 0 to ${moves.length - 1}`);
  }
  return position;
}

/** Read how a game ended that was not voided. */
export function gameOverOf(gameId: bigint, result: wire.Result): GameOver {
  const { outcome, places, endings } = result;
  if (outcome === undefined) {
    throw new TypeError("the server's result has no outcome");
  }
  return { gameId, outcome, places, endings };
}

function wholeStart(message: wire.GameStarted): GameStart {
  if (message.config === undefined) {
    throw new TypeError("the server's game has no config");
  }
  return message as GameStart;
}
