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
import { type BotFactory, play as playGames, type Settings } from "happycity";
import {
  Decision,
  type GameOver,
  type GameStarted,
  type Hello,
  Mode,
  MoveKind,
  type PlayRequest,
  PlayResponse,
  PlayServiceService,
  Scoring,
  SeatResult,
  SeatState,
  View,
  type VoidReason,
} from "happycity/v1";
import { ErrorInfo, RetryInfo, Status } from "../src/gen/google/rpc/status.js";

const DEADLINE_MS = 60_000;

/** Wait for an event, but not for ever. */
export async function soon<T>(event: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen`)), DEADLINE_MS);
  });
  return Promise.race([event, late]).finally(() => clearTimeout(timer));
}

/** Items that arrive one after the other, for a test that awaits them. */
export class Queue<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];

  push(item: T): void {
    const first = this.#waiting.shift();
    if (first) first(item);
    else this.#items.push(item);
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
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
  domain?: string;
  retryMs?: number;
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

  /** Return the next answers, in one message or several, until there are so many. */
  async answers(count: number): Promise<[match: bigint, decision: number, move: number][]> {
    const answers: [bigint, number, number][] = [];
    while (answers.length < count) {
      for (const { matchId, decisionId, move } of (await this.receive()).answers) {
        answers.push([matchId, decisionId, move]);
      }
    }
    return answers;
  }

  /** Send a ping, and await the pong, which is the bot's next message. */
  async pause(): Promise<void> {
    const nonce = 2n ** 60n + 1n;
    this.send({ ping: { nonce } });
    assert.deepEqual((await this.receive()).pong, { nonce });
  }

  /** Await that the bot ends its side. */
  async left(): Promise<void> {
    assert.equal(await this.#received.next("the end of the stream"), "end");
  }

  send(part: Partial<PlayResponse>): void {
    this.#call.write({ ...empty(PlayResponse), ...part });
  }

  /** End the stream, by default with OK. */
  end(refusal?: Refusal): void {
    if (refusal) this.#call.emit("error", errorOf(refusal));
    else this.#call.end();
  }
}

/** Return an error as a service of grpc-js refuses a call with it. */
export function errorOf(refusal: Refusal): Partial<ServiceError> {
  const { code, reason, domain = "happycity.dev", retryMs } = refusal;
  const details = [];
  if (reason !== undefined) {
    details.push(detailOf("google.rpc.ErrorInfo", ErrorInfo.encode({ reason, domain }).finish()));
  }
  if (retryMs !== undefined) {
    const retryDelay = { seconds: BigInt(Math.floor(retryMs / 1000)), nanos: (retryMs % 1000) * 1_000_000 };
    details.push(detailOf("google.rpc.RetryInfo", RetryInfo.encode({ retryDelay }).finish()));
  }
  const trailer = new Metadata();
  if (details.length > 0) {
    trailer.set(
      "grpc-status-details-bin",
      Buffer.from(Status.encode({ code, message: "no", details }).finish()),
    );
  }
  return { code, details: "in the test\n the \u001b[2Jserver says no", metadata: trailer };
}

function detailOf(name: string, value: Uint8Array) {
  return { typeUrl: `type.googleapis.com/${name}`, value: Buffer.from(value) };
}

/** A network between bots and a server. It can break connections while both keep their ports. */
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

  /** Whether the test has accepted all streams. */
  get isQuiet(): boolean {
    return this.#streams.isEmpty;
  }

  /** Await the next stream. */
  accept(): Promise<BotStream> {
    return this.#streams.next("a connection of the bot");
  }

  /** Await the next stream and its hello, and welcome the bot. */
  async welcome({
    token = "resume-1",
    resumed = false,
    pingMs = 0,
    workerAddresses = [] as string[],
  } = {}): Promise<[BotStream, Hello]> {
    const stream = await this.accept();
    const { hello } = await stream.receive();
    assert(hello, "the first message has a hello");
    const pingInterval = { seconds: 0n, nanos: pingMs * 1_000_000 };
    stream.send({ welcome: { server: "test", resumeToken: token, resumed, pingInterval, workerAddresses } });
    return [stream, hello];
  }

  /** Break all connections, as a network failure does. */
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
    this.done.catch(() => {}); // the test awaits it later
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Await the end, which must be in good order. */
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

/** Return a message of which all fields are absent. */
export function empty<T>(type: { decode(bytes: Uint8Array): T }): T {
  return type.decode(new Uint8Array());
}

const config = { players: 2, mode: Mode.FAMILY, scoring: Scoring.PRODUCT };

/** Return that a game begins. */
export function start(matchId: bigint, seat = 0): GameStarted {
  return { matchId, config, seat, bots: ["tester", "other"], seed: BigInt.asUintN(64, matchId) };
}

/** Return a decision between three decks. */
export function decision(matchId: bigint, decisionId = 1, seat = 0): Decision {
  const seats = [empty(SeatState), empty(SeatState)];
  const moves = [1, 2, 3].map((deck) => ({ kind: MoveKind.DRAW, card: 0, deck, coins: 0 }));
  const clock = { timeLeftUs: 10_000_000n, bankLeftUs: 0n, lastThinkUs: 1500n };
  return {
    ...empty(Decision),
    matchId,
    decisionId,
    view: { ...empty(View), config, seats, seat },
    moves,
    clock,
  };
}

/** Return that a game was played to its end. */
export function over(matchId: bigint): GameOver {
  const seats = [
    { ...empty(SeatResult), points: 9, place: 1 },
    { ...empty(SeatResult), points: 4, place: 2 },
  ];
  return { matchId, end: { $case: "result", value: { seats } } };
}

/** Return that a match was voided. */
export function voided(matchId: bigint, reason: VoidReason): GameOver {
  return { matchId, end: { $case: "voidReason", value: reason } };
}
