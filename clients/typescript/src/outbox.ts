import type { Answer, Hello, PlayRequest, Resign } from "./v1.js";

/** Writes one message, and calls back when the connection has taken it. */
export type Write = (request: PlayRequest, written: () => void) => void;

/**
 * What waits to be sent on one connection.
 *
 * A batch gathers while the last one is being written, so that a server that reads slowly gets few large messages; and
 * at least until the end of the event loop's turn, so that answers of one turn travel together.
 */
export class Outbox {
  readonly #write: Write;
  #request = emptyRequest();
  #writing = false;
  #closed = false;
  #flushing: NodeJS.Immediate | undefined;

  constructor(write: Write) {
    this.#write = write;
  }

  /** Send the hello. */
  hello(hello: Hello): void {
    this.#request.hello = hello;
    this.#flush();
  }

  /** Add an answer. */
  answer(answer: Answer): void {
    this.#request.answers.push(answer);
    this.#flushSoon();
  }

  /** Add that the bot gives up a game. */
  resign(resign: Resign): void {
    this.#request.resigns.push(resign);
    this.#flushSoon();
  }

  /** Answer a ping at once. A batch holds one pong: the newest says all that an older one would. */
  pong(nonce: bigint): void {
    this.#request.pong = { nonce };
    this.#flush();
  }

  /** Send that the bot leaves for good, and nothing after it. */
  goodbye(): void {
    this.#request.goodbye = {};
    this.#flush();
  }

  /** Remove what is still to be sent about a match. */
  forget(matchId: bigint): void {
    const request = this.#request;
    request.answers = request.answers.filter((answer) => answer.matchId !== matchId);
    request.resigns = request.resigns.filter((resign) => resign.matchId !== matchId);
  }

  /** Send nothing more. */
  close(): void {
    this.#closed = true;
    clearImmediate(this.#flushing);
  }

  #flushSoon(): void {
    this.#flushing ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    if (this.#writing || this.#closed || isEmpty(this.#request)) return;
    const request = this.#request;
    this.#request = emptyRequest();
    this.#writing = true;
    if (request.goodbye) this.#closed = true;
    this.#write(request, () => {
      this.#writing = false;
      if (!this.#closed && !isEmpty(this.#request)) this.#flushSoon();
    });
  }
}

function emptyRequest(): PlayRequest {
  return { hello: undefined, answers: [], resigns: [], pong: undefined, goodbye: undefined };
}

function isEmpty({ hello, answers, resigns, pong, goodbye }: PlayRequest): boolean {
  return !(hello || answers.length || resigns.length || pong || goodbye);
}
