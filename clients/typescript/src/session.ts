import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as grpc from "@grpc/grpc-js";
import { CATALOGUE_DIGEST } from "./catalogue.js";
import type { GameStarted } from "./decision.js";
import { HappyCityError, oneLine, readDetails } from "./failure.js";
import { NoticeKind, PlayResponse, type Welcome } from "./gen/received/happycity/v1/play_service.js";
import { PlayRequest } from "./gen/sent/happycity/v1/play_service.js";
import { log, type Outbox, type Player, placeOf } from "./player.js";
import type { CompleteSettings } from "./settings.js";

const PATH = "/happycity.v1.PlayService/Play";
/** The version of the contract from which the stubs are generated. */
const PROTOCOL_VERSION = 1;
/** A bot that is busy with a batch lets the connection have its turn after this time. */
const TURN_MS = 5;
/** A server that has not welcomed the bot after this time is given up. */
const WELCOME_MS = 20_000;
/** How long the server may take to end the stream after a goodbye. */
const GOODBYE_MS = 5_000;

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
export class Session implements Outbox {
  /** What the server said to the hello; undefined until then. */
  welcome: Welcome | undefined;
  /** Whether the server said that it shuts down. */
  isShuttingDown = false;
  /** The number of messages from the server. */
  messages = 0;
  readonly #client: grpc.Client;
  readonly #stream: grpc.ClientDuplexStream<PlayRequest, PlayResponse>;
  /** Ends the stream if the server is silent. */
  #timer: NodeJS.Timeout | undefined;
  /** What is sent next. */
  #request: PlayRequest | undefined;

  constructor(
    private readonly settings: CompleteSettings,
    private readonly player: Player,
  ) {
    const { target, usesProxy, credentials, token } = settings;
    this.#client = new grpc.Client(target, credentials, { ...OPTIONS, "grpc.enable_http_proxy": usesProxy ? 1 : 0 });
    const metadata = new grpc.Metadata();
    if (token) metadata.set("authorization", `Bearer ${token}`);
    const encode = (request: PlayRequest) => Buffer.from(PlayRequest.encode(request).finish());
    this.#stream = this.#client.makeBidiStreamRequest(PATH, encode, (bytes) => this.#decode(bytes), metadata);
    this.#stream.on("error", () => {}); // who reads the messages gets it too
    this.#cancelAfter(WELCOME_MS);
  }

  /** Play until the stream ends, and return what ended it unless all is well. The token is from the last welcome. */
  async run(resumeToken: string | undefined): Promise<HappyCityError | undefined> {
    const { signal, name, games, info } = this.settings;
    const leave = () => {
      this.player.session = undefined;
      if (this.welcome) this.gathered().goodbye = {};
      this.#cancelAfter(this.welcome ? GOODBYE_MS : 0);
    };
    signal.addEventListener("abort", leave, { once: true });
    const software = `happycity-typescript/${version}`;
    const maxGames = games || undefined;
    this.gathered().hello = { protocolVersion: PROTOCOL_VERSION, name, maxGames, software, resumeToken, info };
    try {
      for await (const response of this.#stream) await this.#handle(response);
      return undefined;
    } catch (error) {
      return this.#failure(error);
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
  #decode(bytes: Buffer): PlayResponse {
    const response = PlayResponse.decode(bytes);
    this.messages++;
    if (response.ping && !this.settings.signal.aborted) {
      this.gathered().pong = { nonce: response.ping.nonce };
      this.#flush();
    }
    return response;
  }

  /** Handle a batch, in the order that the contract demands. */
  async #handle(response: PlayResponse): Promise<void> {
    if (!this.welcome) this.#greet(response.welcome);
    for (const notice of response.notices) {
      if (notice.kind === NoticeKind.SHUTDOWN) this.isShuttingDown = true;
      if (notice.kind === NoticeKind.FORFEIT) continue; // the end of the game says it, with the reason
      const place = placeOf(notice);
      log.warn(`${place ? `${place}: ` : ""}${oneLine(notice.text)}`);
    }
    for (const started of response.gamesStarted) this.player.start(started as GameStarted);
    let turn = performance.now();
    for (const decision of response.decisions) {
      if (this.settings.signal.aborted) break; // the bot is asked nothing more
      if (!decision.view?.config || !decision.moves[0]) throw this.#protocolError("a decision without view or moves");
      this.player.decide(decision);
      if (performance.now() - turn < TURN_MS) continue;
      await nextTurn(); // answers go out, and there may be a ping
      turn = performance.now();
    }
    for (const { matchId, outcome } of response.gamesOver) this.player.end(matchId, outcome?.end);
  }

  #greet(welcome: Welcome | undefined): void {
    if (!welcome) throw this.#protocolError("its first message is not a welcome");
    this.welcome = welcome;
    clearTimeout(this.#timer);
    const { catalogueDigest, matchIds } = welcome;
    log.info(`connected to ${this.settings.target}${matchIds.length > 0 ? ", and the games go on" : ""}`);
    if (catalogueDigest !== CATALOGUE_DIGEST) {
      log.warn("the server's cards are not those of this SDK: some are new or changed");
    }
    this.player.resume(this, matchIds);
  }

  /** End the stream, unless something happens before. */
  #cancelAfter(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stream.cancel(), milliseconds);
  }

  /** Return what ended the stream: an error of this SDK, of the server or of gRPC. */
  #failure(error: unknown): HappyCityError {
    if (error instanceof HappyCityError) return error;
    if (!(error instanceof Error && "metadata" in error)) throw error;
    const { code, details, metadata } = error as grpc.ServiceError;
    if (details.startsWith("Response message parsing error")) return this.#protocolError("a message can't be decoded");
    const { reason, retryMs } = readDetails(metadata);
    // INTERNAL and CANCELLED are what grpc-js says of a stream that was reset. The server's own statuses have a reason.
    const { UNAVAILABLE, INTERNAL, CANCELLED } = grpc.status;
    const isLost = [UNAVAILABLE, INTERNAL, CANCELLED].includes(code) && !reason;
    const text = details === "Cancelled on client" ? "no welcome within 20 s" : details || `status ${code}`;
    const { server, target } = this.settings;
    const message =
      isLost && !this.welcome
        ? `${target} can't be reached: ${oneLine(text)}; \`happycity status ${server}\` says why`
        : `${target} ${this.welcome ? "ended the session" : "refused the bot"}: ${oneLine(text)}`;
    return new HappyCityError(message, {
      reason,
      retryMs: retryMs ?? (isLost || code === UNAVAILABLE ? 0 : undefined),
    });
  }

  #protocolError(what: string): HappyCityError {
    return new HappyCityError(`${this.settings.target} broke the protocol: ${what}`, { exitStatus: 1 });
  }
}
