/** A scripted server: every stream that a bot opens is handed to the test. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceError,
  type status,
} from "@grpc/grpc-js";
import { type BotFactory, playGames, type Settings } from "happycity";
import {
  Decision,
  GameStarted,
  type Hello,
  type PlayRequest,
  PlayResponse,
  PlayServiceService,
  Result,
  VoidReason,
} from "happycity/v1";
import { ErrorInfo, Status } from "../src/gen/google/rpc/error_info.js";

const DEADLINE_MS = 60_000;

/** Wait for what is due to happen. */
export async function soon<T>(event: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen`)), DEADLINE_MS);
  });
  return Promise.race([event, late]).finally(() => clearTimeout(timer));
}

/** What comes one after the other, and is awaited. */
export class Queue<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];

  push(item: T): void {
    const first = this.#waiting.shift();
    if (first) first(item);
    else this.#items.push(item);
  }

  next(what: string): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return soon(new Promise<T>((resolve) => this.#waiting.push(resolve)), what);
  }
}

/** How a test ends a stream that is not to end with OK. */
export interface Refusal {
  code: status;
  reason?: string;
  metadata?: Record<string, string>;
}

/** The server's end of a stream. */
export class BotStream {
  readonly metadata: Metadata;
  readonly #call: ServerDuplexStream<PlayRequest, PlayResponse>;
  readonly #received = new Queue<PlayRequest | "end">();

  constructor(call: ServerDuplexStream<PlayRequest, PlayResponse>) {
    this.#call = call;
    this.metadata = call.metadata;
    call.on("data", (request: PlayRequest) => this.#received.push(request));
    call.on("end", () => this.#received.push("end"));
    call.on("error", () => {});
  }

  async receive(): Promise<PlayRequest> {
    const request = await this.#received.next("a message from the bot");
    assert(request !== "end", "the bot ended its side of the stream");
    return request;
  }

  /** Return answers as they come, in whatever messages, until there are so many. */
  async answers(count: number): Promise<[game: bigint, decision: number, move: number][]> {
    const answers: [bigint, number, number][] = [];
    while (answers.length < count) {
      for (const { gameId, decisionId, move } of (await this.receive()).answers) {
        answers.push([gameId, decisionId, move]);
      }
    }
    return answers;
  }

  /** Await that the bot ends its side. */
  async left(): Promise<void> {
    assert.equal(await this.#received.next("the end of the stream"), "end");
  }

  send(part: Partial<PlayResponse>): void {
    this.#call.write(PlayResponse.create(part));
  }

  /** End the stream, with OK if nothing else is said. */
  end(refusal?: Refusal): void {
    if (refusal) this.#call.emit("error", errorOf(refusal));
    else this.#call.end();
  }
}

/** Return an error as a service of grpc-js refuses a call with it. */
export function errorOf({ code, reason, metadata = {} }: Refusal): Partial<ServiceError> {
  const trailer = new Metadata();
  if (reason !== undefined) {
    const value = Buffer.from(ErrorInfo.encode({ reason, domain: "happycity", metadata }).finish());
    const detail = { typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value };
    const details = Status.encode({ code, message: "no", details: [detail] }).finish();
    trailer.set("grpc-status-details-bin", Buffer.from(details));
  }
  return { code, details: "in the test\n the server says no", metadata: trailer };
}

/** A network between bots and a server. It breaks connections off without anybody letting go of a port. */
class Network {
  readonly #sockets = new Set<Socket>();
  readonly #listener;

  constructor(port: number) {
    this.#listener = createServer((bot) => {
      const server = connect(port, "127.0.0.1");
      this.#pass(bot, server);
      this.#pass(server, bot);
    });
  }

  async listen(): Promise<string> {
    this.#listener.listen(0, "127.0.0.1");
    await once(this.#listener, "listening");
    return `127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#listener.close();
    this.cut();
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on("error", () => {}); // it is closed then
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }
}

/** A server that does what the test says. */
export class Arena {
  readonly address: string;
  readonly #streams: Queue<BotStream>;
  readonly #network: Network;

  private constructor(address: string, streams: Queue<BotStream>, network: Network) {
    this.address = address;
    this.#streams = streams;
    this.#network = network;
  }

  static async listen(t: TestContext, credentials = ServerCredentials.createInsecure()): Promise<Arena> {
    const streams = new Queue<BotStream>();
    const server = new Server();
    server.addService(PlayServiceService, {
      play: (call: ServerDuplexStream<PlayRequest, PlayResponse>) => streams.push(new BotStream(call)),
    });
    const network = new Network(await promisify(server.bindAsync.bind(server))("127.0.0.1:0", credentials));
    t.after(() => {
      network.close();
      server.forceShutdown();
    });
    return new Arena(await network.listen(), streams, network);
  }

  /** Await the next stream. */
  accept(): Promise<BotStream> {
    return this.#streams.next("a connection of the bot");
  }

  /** Await the next stream and its hello, and welcome the bot. */
  async welcome({ token = "resume-1", resumed = false, heartbeatMs = 0 } = {}): Promise<[BotStream, Hello]> {
    const stream = await this.accept();
    const { hello } = await stream.receive();
    assert(hello, "the first message has a hello");
    stream.send({
      welcome: { protocolVersion: 1, server: "test", resumeToken: token, resumed, heartbeatMs },
    });
    return [stream, hello];
  }

  /** Break all connections off, as a network failure does. */
  cut(): void {
    this.#network.cut();
  }
}

/** A bot that plays, and what it logs. */
export class Playing {
  readonly log: string[] = [];
  readonly done: Promise<void>;
  readonly #stop = new AbortController();

  constructor(factory: BotFactory, settings: Settings) {
    const note = (text: string) => this.log.push(text);
    this.done = playGames(
      factory,
      { name: "tester", log: { info: note, warn: note, error: note }, ...settings },
      { signal: this.#stop.signal, random: () => 0 },
    );
    this.done.catch(() => {}); // the test looks at it when its time has come
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Await the end, which is to be in good order. */
  end(): Promise<void> {
    return soon(this.done, "the end of the bot");
  }

  /** Await the end, and return the error that it ends with. */
  async failure(): Promise<Error> {
    const failed = this.done.then(
      () => assert.fail("the bot ended in good order"),
      (error: Error) => error,
    );
    return soon(failed, "the end of the bot");
  }
}

/** Let a bot play until the test is over. */
export function play(t: TestContext, arena: Arena, factory: BotFactory, settings: Settings = {}): Playing {
  const playing = new Playing(factory, { server: arena.address, ...settings });
  t.after(() => playing.stop());
  return playing;
}

/** Return that a game begins. */
export function start(gameId: bigint): GameStarted {
  return GameStarted.fromPartial({ gameId, config: { players: 2 }, bots: ["tester", "other"], seed: gameId });
}

/** Return a decision between three decks. */
export function decision(gameId: bigint, decisionId = 1): Decision {
  return Decision.fromPartial({
    gameId,
    decisionId,
    view: { config: { players: 2 }, seats: [{ coins: 3 }, { coins: 3 }] },
    moves: [1, 2, 3].map((deck) => ({ kind: { $case: "draw", value: { deck } } })),
    clock: { timeLeftMs: 10_000, lastThinkUs: 2n ** 40n },
  });
}

/** Return that a game was played to its end. */
export function over(gameId: bigint): { gameId: bigint; result: Result; voidReason: VoidReason } {
  const result = Result.fromPartial({ outcome: { points: [9, 4] }, places: [1, 2], endings: [1, 1] });
  return { gameId, result, voidReason: VoidReason.UNSPECIFIED };
}

/** Return that a game was broken off. */
export function voided(gameId: bigint, voidReason: VoidReason) {
  return { gameId, result: undefined, voidReason };
}
