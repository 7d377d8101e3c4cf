import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { CATALOGUE_DIGEST } from "./catalogue.js";
import type { GameStarted } from "./decision.js";
import { HappyCityError, oneLine, probe, readDetails } from "./failure.js";
import { NoticeKind, PlayResponse, type Welcome } from "./gen/received/happycity/v1/play_service.js";
import { PlayRequest } from "./gen/sent/happycity/v1/play_service.js";
import { log, type Player, placeOf } from "./player.js";
import type { CompleteSettings } from "./settings.js";

const PATH = "/happycity.v1.PlayService/Play";
/** A bot that is busy with a batch lets the connection have its turn after this time. */
const TURN_MS = 5;
/** A server that has not welcomed the bot after this time is given up. */
const WELCOME_MS = 20_000;
/** How long the server may take to end the stream after a goodbye. */
const GOODBYE_MS = 1_000;

const OPTIONS = {
  // A new connection must not come back to an old one's dead socket.
  "grpc.use_local_subchannel_pool": 1,
  // The SDK alone decides what a lost connection means.
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  // The only sign of life. The server allows a ping every 10 s.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  // Any number of games can be in one batch.
  "grpc.max_receive_message_length": 64 * 1024 * 1024,
};

const packageJson = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
const { version } = JSON.parse(packageJson) as { version: string };

/** One stream to the server, from the hello to its end, on a connection of its own. */
export class Session {
  /** What the server said to the hello; undefined until then. */
  welcome: Welcome | undefined;
  /** Whether the server said that it shuts down. */
  isShuttingDown = false;
  /** The number of messages from the server. */
  messages = 0;
  readonly #client: Client;
  readonly #stream: ClientDuplexStream<PlayRequest, PlayResponse | Error>;
  /** Ends the stream if the server is silent. */
  #timer: NodeJS.Timeout | undefined;
  /** Whether the bot leaves. It is asked nothing more then. */
  #isLeaving = false;
  /** What is sent next. */
  #request: PlayRequest | undefined;

  constructor(
    private readonly settings: CompleteSettings,
    private readonly player: Player,
  ) {
    const { target, tls, token } = settings;
    const channel = tls ? credentials.createSsl(tls.ca, tls.key, tls.cert) : credentials.createInsecure();
    // The proxies of the environment are for encrypted connections.
    this.#client = new Client(target, channel, { ...OPTIONS, "grpc.enable_http_proxy": tls ? 1 : 0 });
    const metadata = new Metadata();
    if (token) metadata.set("authorization", `Bearer ${token}`);
    const encode = (request: PlayRequest) => Buffer.from(PlayRequest.encode(request).finish());
    this.#stream = this.#client.makeBidiStreamRequest(PATH, encode, (bytes) => this.#decode(bytes), metadata);
    this.#stream.on("error", () => {}); // who reads the messages gets it too
    this.#breakOffAfter(WELCOME_MS, "no welcome within 20 s");
  }

  /**
   * Play until the stream ends, and return what ended it unless all is well.
   *
   * @param resumeToken - From the last welcome; undefined if this is the first session.
   */
  async run(resumeToken: string | undefined): Promise<HappyCityError | undefined> {
    const { signal, name, games, info } = this.settings;
    const leave = () => this.#leave();
    signal.addEventListener("abort", leave, { once: true });
    const software = `happycity-typescript/${version}`;
    this.gathered().hello = { name, maxGames: games || undefined, software, resumeToken, info };
    try {
      for await (const response of this.#stream) await this.#handle(response);
      return undefined;
    } catch (error) {
      return await this.#failure(error, resumeToken === undefined);
    } finally {
      signal.removeEventListener("abort", leave);
      clearTimeout(this.#timer);
      this.player.session = undefined;
      this.#stream.cancel();
      this.#client.close();
    }
  }

  /** Return the request that is sent next, to be filled: when the last one is written and the loop has had a turn. */
  gathered(): PlayRequest {
    if (!this.#request) setImmediate(() => this.#flush());
    this.#request ??= { hello: undefined, answers: [], resigns: [], pong: undefined, goodbye: undefined };
    return this.#request;
  }

  #flush(): void {
    const request = this.#request;
    if (!request || this.#stream.writableLength > 0) return;
    this.#request = undefined;
    this.#stream.write(request, () => this.#flush());
    if (request.goodbye) this.#stream.end();
  }

  /** Read a message when it arrives, and answer a ping then: not behind decisions that wait for the bot. */
  #decode(bytes: Buffer): PlayResponse | Error {
    try {
      const response = PlayResponse.decode(bytes);
      this.messages++;
      if (response.ping && !this.#isLeaving) {
        this.gathered().pong = { nonce: response.ping.nonce };
        this.#flush();
      }
      return response;
    } catch (error) {
      return error as Error;
    }
  }

  /** Handle a batch, in the order that the contract demands. */
  async #handle(response: PlayResponse | Error): Promise<void> {
    if (response instanceof Error) throw this.#protocolError("a message can't be decoded");
    if (!this.welcome) this.#greet(response.welcome);
    for (const notice of response.notices) {
      if (notice.kind === NoticeKind.SHUTDOWN) this.isShuttingDown = true;
      if (notice.kind === NoticeKind.FORFEIT) continue; // the end of the game says it, with the reason
      const place = placeOf(notice);
      log.warn(`${place ? `${place}: ` : ""}${oneLine(notice.text)}`);
    }
    for (const started of response.gamesStarted) this.player.start(started as GameStarted);
    await this.#decide(response);
    for (const { matchId, end } of response.gamesOver) this.player.end(matchId, end);
  }

  #greet(welcome: Welcome | undefined): void {
    if (!welcome) throw this.#protocolError("its first message is not a welcome");
    this.welcome = welcome;
    clearTimeout(this.#timer);
    const { protocolVersion, catalogueDigest, matchIds } = welcome;
    log.info(`connected to ${this.settings.target}${matchIds.length > 0 ? ", and the games go on" : ""}`);
    if (protocolVersion > 1) {
      log.warn(`the server speaks protocol version ${protocolVersion}, this SDK version 1: what is new is left out`);
    }
    if (catalogueDigest !== CATALOGUE_DIGEST) {
      log.warn("the server's cards are not those of this SDK: some are new or changed");
    }
    this.player.resume(this, matchIds);
  }

  async #decide({ decisions }: PlayResponse): Promise<void> {
    let turn = performance.now();
    for (const decision of decisions) {
      if (this.#isLeaving) return;
      if (!decision.view?.config || decision.moves.length === 0) {
        throw this.#protocolError("a decision without view or moves");
      }
      this.player.decide(decision);
      if (performance.now() - turn < TURN_MS) continue;
      await nextTurn(); // answers go out, and there may be a ping
      turn = performance.now();
    }
  }

  #leave(): void {
    this.#isLeaving = true;
    this.player.session = undefined;
    if (this.welcome) this.gathered().goodbye = {};
    this.#breakOffAfter(this.welcome ? GOODBYE_MS : 0, "the bot was stopped");
  }

  /** End the stream as a lost connection, unless something happens before. */
  #breakOffAfter(milliseconds: number, details: string): void {
    clearTimeout(this.#timer);
    const error = Object.assign(new Error(details), { code: status.UNAVAILABLE, details, metadata: new Metadata() });
    this.#timer = setTimeout(() => this.#stream.destroy(error), milliseconds);
  }

  /** Return what ended the stream: an error of this SDK, of the server or of gRPC. */
  async #failure(error: unknown, isFirst: boolean): Promise<HappyCityError> {
    if (error instanceof HappyCityError) return error;
    if (!(error instanceof Error && "metadata" in error)) throw error;
    const { code, details, metadata } = error as ServiceError;
    const { reason, retryMs } = readDetails(metadata);
    const text = oneLine(details) || status[code] || `status ${code}`;
    // INTERNAL and CANCELLED are what grpc-js says of a stream that was reset. The server's own statuses have a reason.
    const isLost = [status.UNAVAILABLE, status.INTERNAL, status.CANCELLED].includes(code) && !reason;
    if (isLost && !this.welcome && !this.#isLeaving) return probe(this.settings, text, isFirst);
    const what = isLost ? "can't be reached" : this.welcome ? "ended the session" : "refused the bot";
    const delay = isLost || code === status.UNAVAILABLE ? 0 : undefined;
    return new HappyCityError(`${this.settings.target} ${what}: ${text}`, { reason, retryMs: retryMs ?? delay });
  }

  #protocolError(what: string): HappyCityError {
    return new HappyCityError(`${this.settings.target} broke the protocol: ${what}`, { exitStatus: 1 });
  }
}
