import { setImmediate } from "node:timers/promises";
import {
  type ClientDuplexStream,
  type ClientOptions,
  Metadata,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import { credentialsOf } from "./credentials.js";
import { commonOptions } from "./dial.js";
import { durationMs } from "./duration.js";
import { placeOf } from "./log.js";
import { oneLine } from "./one-line.js";
import { Outbox } from "./outbox.js";
import type { Player } from "./player.js";
import type { CompleteSettings } from "./settings.js";
import { ownStatus, type StreamStatus, statusOf } from "./stream-status.js";
import {
  type Hello,
  NoticeKind,
  type PlayRequest,
  type PlayResponse,
  PlayServiceClient,
  type Welcome,
} from "./v1.js";

/** A bot that is busy with a batch lets the connection have its turn after so long. */
const SEND_MS = 5;
/** A server that has not welcomed the bot after this time is given up. */
const WELCOME_MS = 20_000;
/** A server that is silent for so many of its ping intervals is taken for dead. */
const SILENT_PINGS = 3;
/** The server has so long to end the stream after a goodbye. */
const GOODBYE_MS = 1_000;

const OPTIONS: ClientOptions = {
  // A new connection must not come back to an old one's dead socket.
  "grpc.use_local_subchannel_pool": 1,
  // The SDK alone decides what a lost connection means.
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  // The server allows a ping every 10 s. These find a dead machine before the protocol's pings do.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
};

/** One stream to the server, from the hello to its end, on a connection of its own. */
export class Connection {
  /** What the server said to the hello; undefined until then. */
  welcome: Welcome | undefined;
  readonly #settings: CompleteSettings;
  readonly #player: Player;
  readonly #onWelcome: (welcome: Welcome) => void;
  readonly #client: PlayServiceClient;
  readonly #call: ClientDuplexStream<PlayRequest, PlayResponse>;
  readonly #outbox: Outbox;
  readonly #ended: Promise<StreamStatus>;
  /** Ends the connection; only the first time counts. */
  #end!: (status: StreamStatus) => void;
  /** The batches are handled one after the other. */
  #work: Promise<void> = Promise.resolve();
  /** Whether decisions are put to the bot. At the end they are not: the server will send them again. */
  #asking = true;
  /** Messages from the server. */
  #messages = 0;
  #watch: NodeJS.Timeout;

  /** @throws {@link SettingError} if a setting can't be used. */
  constructor(settings: CompleteSettings, player: Player, onWelcome: (welcome: Welcome) => void) {
    this.#settings = settings;
    this.#player = player;
    this.#onWelcome = onWelcome;
    this.#client = new PlayServiceClient(settings.server, credentialsOf(settings), {
      ...commonOptions(settings.server),
      ...OPTIONS,
    });
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#call = this.#open();
    this.#outbox = new Outbox((request, written) => this.#write(request, written));
    this.#watch = setTimeout(() => this.#lose("no welcome from the server"), WELCOME_MS);
  }

  /** Whether the server said more than its welcome. */
  get madeProgress(): boolean {
    return this.#messages > 1;
  }

  /** Play until the stream ends, and return how it did. When `signal` is aborted, say goodbye first. */
  async run(hello: Hello, signal: AbortSignal): Promise<StreamStatus> {
    const leave = () => this.#leave();
    signal.addEventListener("abort", leave, { once: true });
    try {
      this.#outbox.hello(hello);
      const status = await this.#ended;
      this.#asking = false;
      await this.#work;
      return status;
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
    let last: StatusObject | undefined;
    call.on("data", (response: PlayResponse) => this.#arrived(response));
    call.on("error", () => {}); // the status says it too
    call.on("status", (status) => {
      last = status;
    });
    const ended = () => (last ? this.#end(statusOf(last)) : this.#lose("the stream broke off"));
    call.on("end", ended); // after the status, and after all that was sent before it
    call.on("close", ended); // without an end, if the stream itself failed
    return call;
  }

  #write(request: PlayRequest, written: () => void): void {
    this.#call.write(request, (error: Error | null | undefined) => {
      if (!error) written(); // else the status says it
    });
    if (request.goodbye) this.#call.end();
  }

  #arrived(response: PlayResponse): void {
    this.#messages++;
    if (response.ping) this.#outbox.pong(response.ping.nonce); // not behind decisions that wait for the bot
    this.#work = this.#work.then(() => this.#take(response));
  }

  /** Handle a batch, in the order that the contract demands. */
  async #take(response: PlayResponse): Promise<void> {
    if (!this.welcome && !this.#greet(response.welcome)) return;
    for (const { kind, matchId, round, decisionId, text } of response.notices) {
      // About what happened before the other parts.
      if (kind === NoticeKind.FORFEIT) continue; // the end of the game says it, with the reason
      const place = placeOf(matchId, round, decisionId);
      this.#settings.log.warn(`${this.#settings.name}: ${place ? `${place}: ` : ""}${oneLine(text)}`);
    }
    for (const started of response.gamesStarted) this.#player.start(started);
    await this.#decide(response);
    for (const over of response.gamesOver) this.#player.end(over);
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

  /** Handle the welcome; return whether there is one. */
  #greet(welcome: Welcome | undefined): boolean {
    if (!welcome) {
      const text = "the stream began without a welcome; is it a Happy City server?";
      this.#end(ownStatus(status.FAILED_PRECONDITION, text));
      return false;
    }
    const { name, server, log } = this.#settings;
    log.info(`${name}: connected to ${server}${welcome.resumed ? ", and the games go on" : ""}`);
    this.welcome = welcome;
    this.#player.attach(this.#outbox, welcome.resumed);
    this.#watchPings(durationMs(welcome.pingInterval));
    this.#onWelcome(welcome);
    return true;
  }

  /**
   * End the connection when the server gives no sign of life.
   *
   * Messages are counted rather than timed: after a bot that blocked the loop, one late check is one check, and what
   * arrived meanwhile is read before the next.
   */
  #watchPings(intervalMs: number): void {
    clearTimeout(this.#watch);
    if (intervalMs === 0) return; // a server that doesn't ping
    let messages = this.#messages;
    let silent = 0;
    this.#watch = setInterval(() => {
      silent = this.#messages === messages ? silent + 1 : 0;
      messages = this.#messages;
      if (silent === SILENT_PINGS) this.#lose("no sign of life from the server");
    }, intervalMs);
  }

  #leave(): void {
    this.#asking = false;
    clearTimeout(this.#watch);
    if (!this.welcome) {
      this.#lose("the bot was stopped");
      return;
    }
    this.#outbox.goodbye();
    this.#watch = setTimeout(() => this.#lose("the bot was stopped"), GOODBYE_MS);
  }

  #lose(text: string): void {
    this.#end(ownStatus(status.UNAVAILABLE, text));
  }
}
