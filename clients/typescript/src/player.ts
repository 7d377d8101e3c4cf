import type { Bot, BotFactory, Choice, Decision, Notes, Thought } from "./bot.js";
import { gameOverOf, makeBot, positionOf, wholeDecision } from "./inbound.js";
import type { Log } from "./log.js";
import type { Outbox } from "./outbox.js";
import type * as wire from "./v1.js";
import { VoidReason } from "./v1.js";

/** How many characters of a resignation's reason the server keeps. */
const REASON_LENGTH = 200;

/** A bot in one game, and what is known of the decision that it was asked last. */
interface Seat {
  readonly gameId: bigint;
  readonly bot: Bot;
  /** The decision that the bot was asked last, or 0. */
  asked: number;
  /** The position that it answered with; undefined while it thinks. */
  answer: number | undefined;
  /** What it noted about that answer, if anything. */
  notes: Notes | undefined;
  /** Whether this connection's server still waits for that answer. */
  wanted: boolean;
  /** What the bot is busy with. */
  thought: Thinking | undefined;
}

/** A thought whose signal and notes are made when somebody asks for them: few bots do. */
class Thinking implements Thought {
  /** What was noted so far. It is replaced rather than changed: what is sent stays as it was. */
  notes: Notes | undefined;
  #controller: AbortController | undefined;
  #dropped = false;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#dropped) this.#controller.abort();
    return this.#controller.signal;
  }

  /** A function of its own rather than a method, so that a bot may take the thought apart. */
  get note(): (numbers: Notes) => void {
    return (numbers) => {
      const notes: Record<string, number> = { ...this.notes };
      // In JavaScript anything may be noted, and what is no number could not be encoded.
      for (const [name, number] of Object.entries(numbers)) notes[name] = Number(number);
      this.notes = notes;
    };
  }

  drop(): void {
    this.#dropped = true;
    this.#controller?.abort();
  }
}

/**
 * Plays all games of one bot: takes the server's messages, and fills the outbox. The games outlive the
 * connection: it may be lost and taken up again.
 *
 * Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer
 * comes from memory: asking twice would advance the bot's randomness.
 */
export class Player {
  readonly #factory: BotFactory;
  readonly #name: string;
  readonly #log: Log;
  readonly #seats = new Map<bigint, Seat>();
  /** Games by id, and why they were given up; until their end is heard. */
  readonly #givenUp = new Map<bigint, string>();
  /** Of the present connection; undefined while there is none. */
  #outbox: Outbox | undefined;

  constructor(factory: BotFactory, name: string, log: Log) {
    this.#factory = factory;
    this.#name = name;
    this.#log = log;
  }

  /** The games that run as far as the bot knows. */
  get games(): bigint[] {
    return [...this.#seats.keys(), ...this.#givenUp.keys()];
  }

  /** End all thinking. */
  close(): void {
    for (const seat of this.#seats.values()) dropThought(seat);
  }

  /** Note that a server took the bot in; the games go on only if it says so. */
  attach(outbox: Outbox, resumed: boolean): void {
    this.#outbox = outbox;
    if (resumed) {
      for (const [gameId, reason] of this.#givenUp) outbox.resign(gameId, reason);
      return;
    }
    this.#givenUp.clear();
    for (const seat of [...this.#seats.values()]) this.#void(seat, VoidReason.UNKNOWN);
  }

  /** Note that the connection is lost: what was not sent is sent only if it is asked for again. */
  detach(): void {
    this.#outbox = undefined;
    for (const seat of this.#seats.values()) seat.wanted = false;
  }

  /** Begin a game, anew if it runs already. */
  start(message: wire.GameStarted): void {
    const { gameId } = message;
    const older = this.#seats.get(gameId);
    if (older !== undefined) this.#void(older, VoidReason.UNKNOWN);
    this.#givenUp.delete(gameId);
    try {
      const bot = makeBot(this.#factory, message);
      this.#seats.set(gameId, {
        gameId,
        bot,
        asked: 0,
        answer: undefined,
        notes: undefined,
        wanted: false,
        thought: undefined,
      });
    } catch (error) {
      this.#giveUp(gameId, error);
    }
  }

  /** Answer a decision: from the bot, or from memory if the server sends it again. */
  decide(message: wire.Decision): void {
    const { gameId, decisionId } = message;
    const seat = this.#seats.get(gameId);
    if (seat === undefined) {
      if (!this.#givenUp.has(gameId)) this.#log.warn(`${this.#game(gameId)}: a decision, but no such game`);
      return;
    }
    if (decisionId > seat.asked) {
      this.#ask(seat, message);
    } else if (decisionId === seat.asked) {
      seat.wanted = true;
      this.#deliver(seat);
    }
  }

  /** Note that a game is over, and tell its bot. */
  end(message: wire.GameOver): void {
    const { gameId, result, voidReason } = message;
    this.#givenUp.delete(gameId);
    this.#outbox?.forget(gameId);
    const seat = this.#seats.get(gameId);
    if (seat === undefined) return;
    if (result === undefined) {
      this.#void(seat, voidReason);
      return;
    }
    this.#leave(seat);
    this.#tell(seat, "gameOver", () => seat.bot.gameOver?.(gameOverOf(gameId, result)));
  }

  #void(seat: Seat, reason: VoidReason): void {
    this.#leave(seat);
    this.#tell(seat, "gameVoided", () => seat.bot.gameVoided?.(reason));
  }

  #leave(seat: Seat): void {
    dropThought(seat);
    this.#seats.delete(seat.gameId);
  }

  #tell(seat: Seat, what: string, call: () => void | PromiseLike<void>): void {
    const failed = (error: unknown) => this.#log.error(`${this.#game(seat.gameId)}: ${what} failed`, error);
    try {
      call()?.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  #ask(seat: Seat, message: wire.Decision): void {
    dropThought(seat); // about a decision that the clock has settled
    const thought = new Thinking();
    seat.thought = thought;
    seat.asked = message.decisionId;
    seat.answer = undefined;
    seat.wanted = true;
    try {
      const decision = wholeDecision(message);
      const choice = seat.bot.choose(decision, thought);
      if (isPromise(choice)) {
        this.#await(seat, thought, decision, choice);
      } else {
        this.#settle(seat, thought, decision, choice);
      }
    } catch (error) {
      this.#fail(seat, error);
    }
  }

  /** Let an asynchronous bot think beside its other games; what it says too late is not heard. */
  #await(seat: Seat, thought: Thinking, decision: Decision, choice: PromiseLike<Choice>): void {
    const settle = (chosen: Choice) => {
      if (seat.thought === thought) this.#settle(seat, thought, decision, chosen);
    };
    const fail = (error: unknown) => {
      if (seat.thought === thought) this.#fail(seat, error);
    };
    Promise.resolve(choice).then(settle).catch(fail);
  }

  #settle(seat: Seat, thought: Thinking, decision: Decision, choice: Choice): void {
    seat.answer = positionOf(choice, decision.moves);
    seat.notes = thought.notes;
    seat.thought = undefined;
    this.#deliver(seat);
  }

  #deliver(seat: Seat): void {
    if (seat.wanted && seat.answer !== undefined) {
      this.#outbox?.answer(seat.gameId, seat.asked, seat.answer, seat.notes);
      seat.wanted = false;
    }
  }

  #fail(seat: Seat, error: unknown): void {
    this.#leave(seat);
    this.#giveUp(seat.gameId, error);
  }

  /** Resign a game in which the bot failed; its other games go on. */
  #giveUp(gameId: bigint, error: unknown): void {
    this.#log.error(`${this.#game(gameId)} is resigned: the bot failed`, error);
    const reason = [...String(error)].slice(0, REASON_LENGTH).join("");
    this.#givenUp.set(gameId, reason);
    this.#outbox?.resign(gameId, reason);
  }

  #game(gameId: bigint): string {
    return `${this.#name}: game ${gameId}`;
  }
}

function dropThought(seat: Seat): void {
  seat.thought?.drop();
  seat.thought = undefined;
}

function isPromise(choice: Choice | PromiseLike<Choice>): choice is PromiseLike<Choice> {
  return typeof choice === "object" && choice !== null && "then" in choice;
}
