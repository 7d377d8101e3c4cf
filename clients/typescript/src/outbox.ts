import type { Notes } from "./bot.js";
import type { Hello, PlayRequest } from "./v1.js";

/** What goes with an answer of which nothing was noted. */
const NOTHING: Notes = Object.freeze({});

/** Writes one message, and calls back when the connection has taken it. */
export type Write = (request: PlayRequest, written: () => void) => void;

/**
 * What waits to be sent on one connection.
 *
 * A batch gathers while the last one is being written, so that a server that reads slowly is sent few large
 * messages; and at least until the loop's turn is over, so that what is answered together travels together.
 */
export class Outbox {
  readonly #write: Write;
  #request = emptyRequest();
  #writing = false;
  #closed = false;
  #due: NodeJS.Immediate | undefined;

  constructor(write: Write) {
    this.#write = write;
  }

  /** Begin with the hello. */
  hello(hello: Hello): void {
    this.#request.hello = hello;
    this.#flush();
  }

  /** Add an answer; `move` is a position, and `metrics` what the bot tells of it. */
  answer(gameId: bigint, decisionId: number, move: number, metrics: Notes = NOTHING): void {
    this.#request.answers.push({ gameId, decisionId, move, metrics });
    this.#gather();
  }

  /** Add that a game is given up. */
  resign(gameId: bigint, reason: string): void {
    this.#request.resigns.push({ gameId, reason });
    this.#gather();
  }

  /** Answer a ping at once. A batch holds one: the newest says all that an older one would. */
  pong(nonce: bigint): void {
    this.#request.pong = { nonce };
    this.#flush();
  }

  /** Add the last words: nothing is sent after them. */
  goodbye(): void {
    this.#request.goodbye = {};
    this.#flush();
  }

  /** Take back what is still to be sent about a game. */
  forget(gameId: bigint): void {
    const request = this.#request;
    request.answers = request.answers.filter((answer) => answer.gameId !== gameId);
    request.resigns = request.resigns.filter((resign) => resign.gameId !== gameId);
  }

  /** Send nothing more. */
  close(): void {
    this.#closed = true;
    clearImmediate(this.#due);
  }

  #gather(): void {
    this.#due ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    clearImmediate(this.#due);
    this.#due = undefined;
    if (this.#writing || this.#closed || isEmpty(this.#request)) return;
    const request = this.#request;
    this.#request = emptyRequest();
    this.#writing = true;
    if (request.goodbye) this.#closed = true;
    this.#write(request, () => {
      this.#writing = false;
      if (!this.#closed && !isEmpty(this.#request)) this.#gather();
    });
  }
}

function emptyRequest(): PlayRequest {
  return {
    hello: undefined,
    answers: [],
    resigns: [],
    heartbeat: undefined,
    pong: undefined,
    goodbye: undefined,
  };
}

function isEmpty({ hello, answers, resigns, pong, goodbye }: PlayRequest): boolean {
  return !(hello || answers.length || resigns.length || pong || goodbye);
}
