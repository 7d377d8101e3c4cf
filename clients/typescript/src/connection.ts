import { setImmediate } from "node:timers/promises";
import {
  type ChannelCredentials,
  type ClientDuplexStream,
  type ClientOptions,
  Metadata,
  type StatusObject,
} from "@grpc/grpc-js";
import { commonOptions } from "./dial.js";
import { Outbox } from "./outbox.js";
import { misfit, type Parting, partingOf, silence } from "./parting.js";
import type { Player } from "./player.js";
import type { WholeSettings } from "./settings.js";
import { type Hello, type PlayRequest, type PlayResponse, PlayServiceClient, type Welcome } from "./v1.js";

/** The version of the protocol that this package speaks. */
export const PROTOCOL_VERSION = 1;

/** A bot that is busy with a batch lets the connection have its turn after so long. */
const SEND_MS = 5;
/** A server that has not welcomed the bot by then is given up. */
const WELCOME_MS = 20_000;
/** A server that is silent for so many of its own heartbeats is taken for dead. */
const SILENT_HEARTBEATS = 3;
/** The server has so long to end the stream after a goodbye. */
const GOODBYE_MS = 1_000;

const OPTIONS: ClientOptions = {
  // A new connection must not come back to an old one's dead socket.
  "grpc.use_local_subchannel_pool": 1,
  // What a lost connection means is decided by the SDK alone.
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  // The server allows a ping every 10 s. These find a dead machine below our own heartbeats.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
};

/** One stream to the server, from the hello to its end, on a connection of its own. */
export class Connection {
  /** What the server said to the hello; undefined until then. */
  welcome: Welcome | undefined;
  readonly #settings: WholeSettings;
  readonly #player: Player;
  readonly #client: PlayServiceClient;
  readonly #call: ClientDuplexStream<PlayRequest, PlayResponse>;
  readonly #outbox: Outbox;
  readonly #parted: Promise<Parting>;
  /** Ends the connection; only the first time counts. */
  #part!: (parting: Parting) => void;
  /** The batches that came are dealt with one after the other. */
  #work: Promise<void> = Promise.resolve();
  /** Whether decisions are put to the bot. At the end they are not: the server will ask them again. */
  #asking = true;
  #heard = 0;
  #watch: NodeJS.Timeout;

  constructor(settings: WholeSettings, credentials: ChannelCredentials, player: Player) {
    this.#settings = settings;
    this.#player = player;
    this.#client = new PlayServiceClient(settings.server, credentials, {
      ...commonOptions(settings.server),
      ...OPTIONS,
    });
    this.#parted = new Promise((resolve) => {
      this.#part = resolve;
    });
    this.#call = this.#open();
    this.#outbox = new Outbox((request, written) => this.#write(request, written));
    this.#watch = setTimeout(() => this.#part(silence("no welcome from the server")), WELCOME_MS);
  }

  /** Whether the server said more than its welcome. */
  get wasOfUse(): boolean {
    return this.#heard > 1;
  }

  /** Play until the stream ends, and tell how it did. When `signal` is aborted, say goodbye first. */
  async run(hello: Hello, signal: AbortSignal): Promise<Parting> {
    const leave = () => this.#leave();
    signal.addEventListener("abort", leave, { once: true });
    try {
      this.#outbox.hello(hello);
      const parting = await this.#parted;
      this.#asking = false;
      await this.#work;
      return parting;
    } finally {
      signal.removeEventListener("abort", leave);
      clearTimeout(this.#watch);
      this.#outbox.close();
      this.#player.detach();
      this.#call.cancel();
      this.#client.close();
    }
  }

  #open(): ClientDuplexStream<PlayRequest, PlayResponse> {
    const metadata = new Metadata();
    if (this.#settings.token) metadata.set("authorization", `Bearer ${this.#settings.token}`);
    const call = this.#client.play(metadata);
    let ending: StatusObject | undefined;
    call.on("data", (response: PlayResponse) => this.#arrived(response));
    call.on("error", () => {}); // the status tells it too
    call.on("status", (status) => {
      ending = status;
    });
    const ended = () => this.#part(ending ? partingOf(ending) : silence("the stream broke off"));
    call.on("end", ended); // after the status, and after all that was sent before it
    call.on("close", ended); // without an end, if the stream itself failed
    return call;
  }

  #write(request: PlayRequest, written: () => void): void {
    this.#call.write(request, (error: Error | null | undefined) => {
      if (!error) written(); // else whoever reads hears of it
    });
    if (request.goodbye) this.#call.end();
  }

  #arrived(response: PlayResponse): void {
    this.#heard++;
    if (response.ping) this.#outbox.pong(response.ping.nonce); // not behind decisions that wait for the bot
    this.#work = this.#work.then(() => this.#take(response));
  }

  /** Deal with a batch, in the order that the contract demands. */
  async #take(response: PlayResponse): Promise<void> {
    if (!this.welcome && !this.#greet(response.welcome)) return;
    for (const started of response.gamesStarted) this.#player.start(started);
    await this.#decide(response);
    for (const over of response.gamesOver) this.#player.end(over);
    for (const { gameId, text } of response.notices) {
      this.#settings.log.warn(`${this.#settings.name}: ${gameId ? `game ${gameId}: ` : ""}${text}`);
    }
  }

  async #decide({ decisions }: PlayResponse): Promise<void> {
    let turn = performance.now();
    for (const decision of decisions) {
      if (!this.#asking) return;
      this.#player.decide(decision);
      if (performance.now() - turn > SEND_MS) {
        await setImmediate(); // answers go out, and there may be a ping
        turn = performance.now();
      }
    }
  }

  /** Take the server's first words; tell whether they are what they should be. */
  #greet(welcome: Welcome | undefined): boolean {
    if (welcome?.protocolVersion !== PROTOCOL_VERSION) {
      this.#part(misfit(welcome ? otherVersion(welcome) : "it began without a welcome"));
      return false;
    }
    const { name, server, log } = this.#settings;
    log.info(`${name}: connected to ${server}${welcome.resumed ? ", and the games go on" : ""}`);
    this.welcome = welcome;
    this.#player.attach(this.#outbox, welcome.resumed);
    this.#watchHeartbeats(welcome.heartbeatMs);
    return true;
  }

  /**
   * End the connection when the server gives no sign of life.
   *
   * Messages are counted rather than timed: after a bot that blocked the loop, one late check is one check,
   * and what arrived meanwhile is read before the next.
   */
  #watchHeartbeats(heartbeatMs: number): void {
    clearTimeout(this.#watch);
    if (heartbeatMs === 0) return; // a server that doesn't ping
    let heard = this.#heard;
    let silent = 0;
    this.#watch = setInterval(() => {
      silent = this.#heard === heard ? silent + 1 : 0;
      heard = this.#heard;
      if (silent === SILENT_HEARTBEATS) this.#part(silence("no sign of life from the server"));
    }, heartbeatMs);
  }

  #leave(): void {
    this.#asking = false;
    clearTimeout(this.#watch);
    const stopped = silence("the bot was stopped");
    if (!this.welcome) {
      this.#part(stopped);
      return;
    }
    this.#outbox.goodbye();
    this.#watch = setTimeout(() => this.#part(stopped), GOODBYE_MS);
  }
}

function otherVersion({ protocolVersion }: Welcome): string {
  return `it wants to speak version ${protocolVersion} of the protocol, this bot speaks ${PROTOCOL_VERSION}`;
}
