/** Decisions of recorded games, for the tests of a bot: `happycity ask GAME@DECISION --out FILE` writes them. */

import { readFileSync } from "node:fs";
import { type BotFactory, Decision, type GameStarted } from "./decision.js";
import { HappyCityError } from "./failure.js";
import type { Move } from "./gen/received/happycity/v1/game.js";
import { PlayResponse } from "./gen/received/happycity/v1/play_service.js";

/**
 * Return the start of a game and a decision of it, with all that happened before. The file is the message with which a
 * server would send this decision to a bot that begins there.
 *
 * @throws {@link HappyCityError} if the file has something else.
 */
export function readDecision(path: string | URL): { start: GameStarted; decision: Decision } {
  const content = readFileSync(path);
  try {
    const { gamesStarted, decisions } = PlayResponse.decode(content);
    const [start, decision] = [gamesStarted[0], decisions[0]];
    if (start && decision && gamesStarted.length + decisions.length === 2) {
      return { start: start as GameStarted, decision: new Decision(decision) };
    }
  } catch {
    // It is no message at all.
  }
  throw new HappyCityError(`${path} is not a decision as this writes it: happycity ask GAME@DECISION --out FILE`);
}

/**
 * Make a bot for the game of such a file, and return the move that it chooses there.
 *
 * @throws RangeError if the choice is not a move; otherwise as {@link readDecision} and the bot do.
 */
export async function ask(factory: BotFactory, path: string | URL): Promise<Move> {
  const { start, decision } = readDecision(path);
  const bot = factory(start);
  const position = await (typeof bot === "function" ? bot(decision) : bot.choose(decision));
  const move = decision.moves[position];
  if (move === undefined) throw new RangeError(`the bot chose move ${position} of ${decision.moves.length}`);
  return move;
}
