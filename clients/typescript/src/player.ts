import { Console } from "node:console";
import { type Bot, type BotFactory, Decision, type GameStarted } from "./decision.js";
import { oneLine } from "./failure.js";
import { Ending, type MatchOutcome, VoidReason } from "./gen/received/happycity/v1/match.js";
import type * as wire from "./gen/received/happycity/v1/play_service.js";
import type { PlayRequest } from "./gen/sent/happycity/v1/play_service.js";

/** Marks of stack frames that are not in the author's code: in the SDK, in packages, in Node.js. */
const FOREIGN = [new URL(".", import.meta.url).href, "/node_modules/", "node:"];

/** Tells the bot's author what happens, and leaves the standard output to the bot. */
export const log = new Console(process.stderr);

/** A session, as far as a player needs it. */
export interface Outbox {
  /** Return the request that is sent next, to be filled. */
  gathered(): PlayRequest;
}

/** A bot in one seat of a match, and its reply to the last decision that it was asked. */
interface Game {
  readonly matchId: bigint;
  readonly seat: number;
  /** Undefined if it could not be made, or has crashed. Its reply is a resignation then. */
  bot?: Bot | undefined;
  /** The last decision that the bot was asked; 0 before it. */
  decisionId: number;
  round: number;
  /** The same, while the bot thinks. */
  pending?: Decision | undefined;
  /** Adds the reply to a request; undefined while there is none. */
  reply?: ((request: PlayRequest) => void) | undefined;
  /** Which session waits for the reply, or has it. */
  session?: Outbox | undefined;
}

/**
 * Plays all games of one bot: handles the server's messages, and replies. The games outlive the session: it may be lost
 * and resumed.
 *
 * Each decision is put to the bot once. If the server sends it again, after a lost connection, the reply comes from
 * memory: asking twice would advance the bot's randomness.
 */
export class Player {
  /** The present one; undefined while there is none: nothing waits for the next one. */
  session: Outbox | undefined;
  /** By match and seat: a bot may fill several seats of a match. */
  readonly #games = new Map<string, Game>();

  constructor(private readonly factory: BotFactory) {}

  /** End all thinking. */
  close(): void {
    for (const game of this.#games.values()) stopThinking(game);
  }

  /** Go on in a session that the server has welcomed, with the games of these matches. */
  resume(session: Outbox, matchIds: readonly bigint[]): void {
    this.session = session;
    for (const { matchId } of this.#games.values()) {
      if (!matchIds.includes(matchId)) this.end(matchId, { $case: "voidReason", value: VoidReason.UNKNOWN });
    }
  }

  /** Begin a game in one seat, unless it is being played. */
  start(message: GameStarted): void {
    const { matchId, seat } = message;
    const key = `${matchId}/${seat}`;
    if (this.#games.has(key)) return;
    const game: Game = { matchId, seat, decisionId: 0, round: 0 };
    this.#games.set(key, game);
    try {
      const made = this.factory(message);
      game.bot = typeof made === "function" ? { choose: made } : made;
    } catch (error) {
      this.#crash(game, error);
    }
  }

  /** Reply to a decision: from the bot, or from memory if the server sends it again. */
  decide(message: wire.Decision): void {
    const { matchId, decisionId, view } = message;
    const game = this.#games.get(`${matchId}/${view?.seat}`);
    if (game === undefined) {
      log.warn(`${placeOf({ matchId })}: a decision of an unknown game`);
    } else if (game.bot && decisionId > game.decisionId) {
      this.#ask(game, game.bot, new Decision(message));
    } else if (decisionId === game.decisionId || (!game.bot && game.session !== this.session)) {
      this.#reply(game); // a resignation is the reply to later decisions too, once in each session
    }
  }

  /** End a match: in every seat that the bot has there, the game is over or voided. */
  end(matchId: bigint, end: MatchOutcome["end"]): void {
    for (const game of this.#games.values()) {
      if (game.matchId === matchId) this.#end(game, end);
    }
  }

  async #end(game: Game, end: MatchOutcome["end"]): Promise<void> {
    const { matchId, seat, bot } = game;
    stopThinking(game);
    this.#games.delete(`${matchId}/${seat}`);
    if (!bot) return;
    try {
      if (end?.$case === "result") {
        const { ending = Ending.UNSPECIFIED, reason = "" } = end.value.seats[seat] ?? {};
        const text = [Ending[ending]?.toLowerCase() ?? ending, oneLine(reason)].filter(Boolean).join(": ");
        if (ending > Ending.FINISHED) log.warn(`${placeOf(game)}: the seat was forfeited: ${text}`);
        await bot.gameOver?.({ matchId, ...end.value });
      } else {
        await bot.gameVoided?.(matchId, end?.value ?? VoidReason.UNSPECIFIED);
      }
    } catch (error) {
      log.error(`${placeOf(game)}: the bot crashed at the end of the game:`, error);
    }
  }

  /** Ask the bot. Its other games go on while a promise is awaited; what comes too late is ignored. */
  async #ask(game: Game, bot: Bot, decision: Decision): Promise<void> {
    const { matchId, decisionId, view, moves } = decision;
    stopThinking(game); // about a decision that the clock has settled
    game.decisionId = decisionId;
    game.round = view.round;
    game.pending = decision;
    game.reply = undefined;
    game.session = this.session;
    try {
      const move = await bot.choose(decision);
      if (game.pending !== decision) return;
      if (typeof move !== "number" || !moves[move])
        throw new RangeError(`the bot chose ${move}; the moves are 0 to ${moves.length - 1}`);
      const answer = { matchId, decisionId, move, metrics: { ...decision.notes } };
      game.pending = undefined;
      game.reply = ({ answers }) => answers.push(answer);
      if (game.session === this.session) this.#reply(game);
    } catch (error) {
      if (game.pending === decision) this.#crash(game, error);
    }
  }

  /** Give up a game in which the bot failed; its other games go on. */
  #crash(game: Game, error: unknown): void {
    const { matchId, seat } = game;
    log.error(`${placeOf(game)}: the bot crashed, the game is given up:`, error);
    stopThinking(game);
    const resign = { matchId, seat, crashed: true, reason: crashReason(error) };
    game.reply = ({ resigns }) => resigns.push(resign);
    game.bot = undefined;
    this.#reply(game);
  }

  /** Send the reply in the present session, or when the bot is done. */
  #reply(game: Game): void {
    game.session = this.session;
    if (this.session) game.reply?.(this.session.gathered());
  }
}

function stopThinking(game: Game): void {
  game.pending?.cancel();
  game.pending = undefined;
}

/** Return a crash in one line: the error's type and message, and the innermost place in the author's code. */
function crashReason(error: unknown): string {
  const frames = error instanceof Error ? String(error.stack).match(/^\s+at .*$/gm) : undefined;
  const own = frames?.find((frame) => !FOREIGN.some((mark) => frame.includes(mark)));
  const place = own?.match(/([^/\\]+:\d+):\d+\)?$/)?.[1];
  return oneLine(place ? `${error} (${place})` : String(error));
}

/** Name a place in a game, such as `match 7, round 1, decision 3`, without what is absent or 0. */
export function placeOf({ matchId, round, decisionId }: Partial<wire.Notice>): string {
  const present = Object.entries({ match: matchId, round, decision: decisionId }).filter(([, number]) => number);
  return present.map(([name, number]) => `${name} ${number}`).join(", ");
}
