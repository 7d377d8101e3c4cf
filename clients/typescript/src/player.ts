import type { Bot, BotFactory, Choice, GameStarted } from "./bot.js";
import { crashReason } from "./crash.js";
import { CrashLog } from "./crash-log.js";
import { PendingDecision } from "./decision.js";
import { type Log, placeOf } from "./log.js";
import { oneLine } from "./one-line.js";
import type { Outbox } from "./outbox.js";
import type * as wire from "./v1.js";
import { Ending, VoidReason } from "./v1.js";

/** A bot in one seat of a match, and the state of the last decision that it was asked. */
interface Seat {
  readonly matchId: bigint;
  readonly seat: number;
  readonly bot: Bot;
  /** The last decision that the bot was asked, or 0. */
  asked: number;
  /** The round of the game at that decision. */
  round: number;
  /** The answer to that decision; undefined while there is none. */
  answer: wire.Answer | undefined;
  /** Whether this connection's server still waits for that answer. */
  answerDue: boolean;
  /** What the bot thinks about. */
  pending: PendingDecision | undefined;
}

/**
 * Plays all games of one bot: takes the server's messages, and fills the outbox. The games outlive the connection: it
 * may be lost and resumed.
 *
 * Each decision is put to the bot once. If the server sends it again, after a lost connection, the answer comes from
 * memory: asking twice would advance the bot's randomness.
 */
export class Player {
  readonly #factory: BotFactory;
  readonly #name: string;
  readonly #log: Log;
  readonly #crashes: CrashLog;
  /** By match and seat: a bot may fill several seats of a match. */
  readonly #seats = new Map<string, Seat>();
  /** Games that the bot gave up, until the match's end arrives. */
  readonly #resigned = new Map<string, wire.Resign>();
  /** Of the present connection; undefined while there is none. */
  #outbox: Outbox | undefined;

  constructor(factory: BotFactory, name: string, log: Log) {
    this.#factory = factory;
    this.#name = name;
    this.#log = log;
    this.#crashes = new CrashLog(name, log);
  }

  /** The matches that run as far as the bot knows. */
  get matchIds(): bigint[] {
    const all = [...this.#seats.values(), ...this.#resigned.values()];
    return [...new Set(all.map(({ matchId }) => matchId))];
  }

  /** End all thinking, and log how often the bot crashed. */
  close(): void {
    this.#crashes.close();
    for (const seat of this.#seats.values()) drop(seat);
  }

  /** Note that a server welcomed the bot; the games go on only if it says so. */
  attach(outbox: Outbox, resumed: boolean): void {
    this.#outbox = outbox;
    if (resumed) {
      for (const resign of this.#resigned.values()) outbox.resign(resign);
      return;
    }
    this.#resigned.clear();
    for (const seat of this.#seats.values()) this.#void(seat, VoidReason.UNKNOWN);
  }

  /** Note that the connection is lost: what was not sent is sent only if the server asks for it again. */
  detach(): void {
    this.#outbox = undefined;
    for (const seat of this.#seats.values()) seat.answerDue = false;
  }

  /** Begin a game in one seat, again if it runs already. */
  start(message: wire.GameStarted): void {
    const { matchId, seat } = message;
    const key = keyOf(matchId, seat);
    const older = this.#seats.get(key);
    if (older) this.#void(older, VoidReason.UNKNOWN);
    this.#resigned.delete(key);
    try {
      const bot = makeBot(this.#factory, message);
      const nothing = { asked: 0, round: 0, answer: undefined, answerDue: false, pending: undefined };
      this.#seats.set(key, { matchId, seat, bot, ...nothing });
    } catch (error) {
      this.#crash(matchId, seat, placeOf(matchId), error);
    }
  }

  /** Answer a decision: from the bot, or from memory if the server sends it again. */
  decide(message: wire.Decision): void {
    const { matchId, decisionId, view } = message;
    const key = keyOf(matchId, view?.seat ?? 0);
    const seat = this.#seats.get(key);
    if (seat === undefined) {
      if (!this.#resigned.has(key))
        this.#log.warn(`${this.#name}: ${placeOf(matchId)}: a decision of an unknown game`);
      return;
    }
    if (decisionId > seat.asked) {
      this.#ask(seat, message);
    } else if (decisionId === seat.asked) {
      seat.answerDue = true;
      this.#deliver(seat);
    }
  }

  /** End a match: in every seat that the bot has there, the game is over or voided. */
  end({ matchId, end }: wire.GameOver): void {
    this.#outbox?.forget(matchId);
    for (const [key, resign] of this.#resigned) {
      if (resign.matchId === matchId) this.#resigned.delete(key);
    }
    for (const seat of this.#seats.values()) {
      if (seat.matchId !== matchId) continue;
      if (end?.$case === "result") this.#finish(seat, end.value);
      else this.#void(seat, end?.value ?? VoidReason.UNSPECIFIED);
    }
  }

  #finish(seat: Seat, { seats }: wire.MatchResult): void {
    this.#leave(seat);
    const own = seats[seat.seat];
    if (own && own.ending > Ending.FINISHED) {
      const ending = Ending[own.ending]?.toLowerCase() ?? String(own.ending);
      const reason = own.reason ? `: ${oneLine(own.reason)}` : "";
      this.#log.warn(`${this.#name}: ${whereIs(seat)}: the seat was forfeited: ${ending}${reason}`);
    }
    this.#call(seat, "gameOver", () => seat.bot.gameOver?.({ matchId: seat.matchId, seats }));
  }

  #void(seat: Seat, reason: VoidReason): void {
    this.#leave(seat);
    this.#call(seat, "gameVoided", () => seat.bot.gameVoided?.(seat.matchId, reason));
  }

  #leave(seat: Seat): void {
    drop(seat);
    this.#seats.delete(keyOf(seat.matchId, seat.seat));
  }

  #call(seat: Seat, what: string, call: () => void | PromiseLike<void>): void {
    const failed = (error: unknown) =>
      this.#crashes.add(`${what} failed`, seat.matchId, whereIs(seat), error);
    try {
      call()?.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  #ask(seat: Seat, message: wire.Decision): void {
    drop(seat); // about a decision that the clock has settled
    seat.asked = message.decisionId;
    seat.round = message.view?.round ?? 0;
    seat.answer = undefined;
    seat.answerDue = true;
    try {
      const decision = new PendingDecision(message);
      seat.pending = decision;
      const choice = seat.bot.choose(decision);
      if (isPromise(choice)) {
        this.#await(seat, decision, choice);
      } else {
        this.#settle(seat, decision, choice);
      }
    } catch (error) {
      this.#fail(seat, error);
    }
  }

  /** Let an asynchronous bot think beside its other games; what comes too late is ignored. */
  #await(seat: Seat, decision: PendingDecision, choice: PromiseLike<Choice>): void {
    const settle = (chosen: Choice) => {
      if (seat.pending === decision) this.#settle(seat, decision, chosen);
    };
    const fail = (error: unknown) => {
      if (seat.pending === decision) this.#fail(seat, error);
    };
    Promise.resolve(choice).then(settle).catch(fail);
  }

  #settle(seat: Seat, decision: PendingDecision, choice: Choice): void {
    const { matchId, decisionId, notes } = decision;
    seat.answer = { matchId, decisionId, move: decision.positionOf(choice), metrics: notes };
    seat.pending = undefined;
    this.#deliver(seat);
  }

  #deliver(seat: Seat): void {
    if (seat.answerDue && seat.answer !== undefined) {
      this.#outbox?.answer(seat.answer);
      seat.answerDue = false;
    }
  }

  #fail(seat: Seat, error: unknown): void {
    this.#leave(seat);
    this.#crash(seat.matchId, seat.seat, whereIs(seat), error);
  }

  /** Give up a game in which the bot failed; its other games go on. */
  #crash(matchId: bigint, seat: number, place: string, error: unknown): void {
    this.#crashes.add("the bot crashed, the game is given up", matchId, place, error);
    const resign = { matchId, seat, crashed: true, reason: crashReason(error) };
    this.#resigned.set(keyOf(matchId, seat), resign);
    this.#outbox?.resign(resign);
  }
}

/** Return where a seat's game is, as far as the bot knows. */
function whereIs({ matchId, round, asked }: Seat): string {
  return placeOf(matchId, round, asked);
}

function keyOf(matchId: bigint, seat: number): string {
  return `${matchId}/${seat}`;
}

function makeBot(factory: BotFactory, message: wire.GameStarted): Bot {
  if (message.config === undefined) throw new TypeError("the server's game has no config");
  const made: unknown = factory(message as GameStarted);
  if (typeof made === "function") return { choose: made as Bot["choose"] };
  if (typeof made === "object" && made !== null && "choose" in made) return made as Bot;
  throw new TypeError(`the factory returned ${String(made)}: neither a function nor an object with choose`);
}

function drop(seat: Seat): void {
  seat.pending?.drop();
  seat.pending = undefined;
}

function isPromise(choice: Choice | PromiseLike<Choice>): choice is PromiseLike<Choice> {
  return typeof choice === "object" && choice !== null && "then" in choice;
}
