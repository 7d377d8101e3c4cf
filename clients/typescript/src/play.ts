import { setTimeout } from "node:timers/promises";
import { type ChannelCredentials, status } from "@grpc/grpc-js";
import { Backoff } from "./backoff.js";
import type { BotFactory } from "./bot.js";
import { Connection, PROTOCOL_VERSION } from "./connection.js";
import { credentialsOf, isEncrypted } from "./credentials.js";
import { ConnectionFailedError, HappyCityError } from "./errors.js";
import { type Parting, pauseMs } from "./parting.js";
import { Player } from "./player.js";
import { gatherSettings, type Settings, type WholeSettings } from "./settings.js";
import type { Hello } from "./v1.js";
import { VERSION } from "./version.js";

/** Bots that still think when the process was told to stop have so long to end. */
const LAST_THOUGHTS_MS = 1_000;

/** What {@link playGames} may be given beside its settings. */
export interface PlayOptions {
  /** When it is aborted, the bot says goodbye to the server, and `playGames` returns. */
  readonly signal?: AbortSignal;
  /** The randomness of the pauses between attempts to connect; by default `Math.random`. */
  readonly random?: () => number;
}

/**
 * Be all of a bot's program: play until the server parts for good, or until SIGINT or SIGTERM, and return.
 *
 * If there is no server to play on, or it refuses the bot, one line says so and the exit status is 2.
 */
export async function run(factory: BotFactory, settings: Settings = {}): Promise<void> {
  const stop = new AbortController();
  const stopped = () => stop.abort();
  process.once("SIGINT", stopped).once("SIGTERM", stopped);
  try {
    await playGames(factory, settings, { signal: stop.signal });
  } catch (error) {
    if (!(error instanceof HappyCityError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 2;
    exitSoon();
  } finally {
    process.off("SIGINT", stopped).off("SIGTERM", stopped);
  }
  if (stop.signal.aborted) exitSoon();
}

/**
 * Play all games that the server offers, until it parts for good.
 *
 * A connection that is lost is made again, and the games go on.
 *
 * @throws {@link SettingError} if the settings make no sense.
 * @throws {@link ConnectionFailedError} if there is no server, it refuses the bot, or it didn't come back.
 */
export async function playGames(
  factory: BotFactory,
  settings: Settings = {},
  { signal = new AbortController().signal, random = Math.random }: PlayOptions = {},
): Promise<void> {
  const whole = gatherSettings(settings);
  const credentials = credentialsOf(whole);
  const player = new Player(factory, whole.name, whole.log);
  try {
    await new Session(whole, credentials, player, new Backoff(random)).run(signal);
  } finally {
    player.close();
  }
}

/** One connection after the other, until one of them ends for good. */
class Session {
  readonly #settings: WholeSettings;
  readonly #credentials: ChannelCredentials;
  readonly #player: Player;
  readonly #backoff: Backoff;
  /** To resume with. */
  #token = "";
  /** Whether the server that spoke last said that it shuts down. */
  #shutDown = false;
  /** When the search for a server ends. */
  #deadline: number;
  /** Whether it was logged that the server is gone. */
  #searching = false;

  constructor(settings: WholeSettings, credentials: ChannelCredentials, player: Player, backoff: Backoff) {
    this.#settings = settings;
    this.#credentials = credentials;
    this.#player = player;
    this.#backoff = backoff;
    this.#deadline = performance.now() + settings.waitMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const parting = await this.#connect(signal);
      if (signal.aborted || parting.code === status.OK) break;
      if (!parting.passing) throw this.#refused(parting);
      const pause = Math.max(this.#backoff.next(), pauseMs(parting));
      if (performance.now() + pause >= this.#deadline) {
        this.#giveUp(parting);
        break;
      }
      this.#tellSearch(parting);
      await setTimeout(pause, undefined, { signal }).catch(() => {}); // the loop looks at the signal too
    }
    if (signal.aborted) this.#settings.log.info(`${this.#settings.name}: stopped`);
  }

  /** Play on one connection; return how it ended. */
  async #connect(signal: AbortSignal): Promise<Parting> {
    const connection = new Connection(this.#settings, this.#credentials, this.#player);
    const parting = await connection.run(this.#hello(), signal);
    if (connection.welcome) {
      this.#token = connection.welcome.resumeToken;
      this.#deadline = performance.now() + this.#settings.reconnectMs;
      this.#searching = false;
    }
    if (connection.wasOfUse) this.#backoff.reset(); // who only welcomes and drops bots is not to be hammered
    if (connection.welcome || parting.reason) this.#shutDown = parting.reason === "SHUTTING_DOWN";
    return parting;
  }

  #hello(): Hello {
    return {
      name: this.#settings.name,
      protocolVersion: PROTOCOL_VERSION,
      maxGames: this.#settings.games,
      software: `happycity-typescript/${VERSION}`,
      resumeToken: this.#token,
      games: this.#token ? this.#player.games : [],
    };
  }

  #tellSearch(parting: Parting): void {
    if (this.#searching) return;
    this.#searching = true;
    this.#settings.log.warn(`${this.#settings.name}: ${parting.details}; trying again`);
  }

  #refused({ reason, details, metadata }: Parting): ConnectionFailedError {
    const { server, name } = this.#settings;
    if (reason !== "UNSUPPORTED_VERSION") {
      return new ConnectionFailedError(`${server} ended the session of ${name}: ${details}`, reason);
    }
    const { supported_min: oldest = "?", supported_max: newest = "?" } = metadata;
    return new ConnectionFailedError(
      `${server} speaks versions ${oldest} to ${newest} of the protocol, this bot version ` +
        `${PROTOCOL_VERSION}; update whichever is older`,
      reason,
    );
  }

  /** Return if the server parted in good order, else throw what a person should read. */
  #giveUp({ details, reason }: Parting): void {
    const { server, name, log } = this.#settings;
    if (this.#shutDown) {
      log.info(`${name}: the server has shut down`);
      return;
    }
    const advice = isEncrypted(this.#settings)
      ? "is the server running there, and does it use TLS with a certificate of that CA?"
      : "is the server running there? (start one with: happycity serve)";
    throw new ConnectionFailedError(`no connection to ${server}: ${details}; ${advice}`, reason);
  }
}

/** Let the process end by itself, but not wait for a bot's timers and sockets. */
function exitSoon(): void {
  globalThis.setTimeout(() => process.exit(), LAST_THOUGHTS_MS).unref();
}
