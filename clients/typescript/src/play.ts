import { setTimeout } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { Backoff } from "./backoff.js";
import type { BotFactory } from "./bot.js";
import { Connection } from "./connection.js";
import { isEncrypted } from "./credentials.js";
import { ConnectionFailedError, HappyCityError } from "./errors.js";
import { Player } from "./player.js";
import { type CompleteSettings, completeSettings, type Settings, UNLIMITED } from "./settings.js";
import { isRetryable, type StreamStatus } from "./stream-status.js";
import type { Hello, Welcome } from "./v1.js";
import { VERSION } from "./version.js";
import { WorkerStreams } from "./worker-streams.js";

/** Bots that still think when the process is to stop have so long to end. */
const LAST_CALLS_MS = 1_000;

/** Options of {@link play} beside its settings. */
export interface PlayOptions {
  /** When it is aborted, the bot says goodbye to the server, and `play` returns. */
  readonly signal?: AbortSignal;
  /** The randomness of the pauses between attempts to connect; by default `Math.random`. */
  readonly random?: () => number;
}

/**
 * Be the whole program of a bot: play until the server ends the session for good, or until SIGINT or SIGTERM.
 *
 * If there is no server to play on, or it refuses the bot, one line says so and the exit status is 2.
 */
export async function run(factory: BotFactory, settings: Settings = {}): Promise<void> {
  const stop = new AbortController();
  const stopped = () => stop.abort();
  process.once("SIGINT", stopped).once("SIGTERM", stopped);
  try {
    await play(factory, settings, { signal: stop.signal });
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
 * Play all games that the server offers, until it ends the session for good.
 *
 * A connection that is lost is made again, and the games go on. A bot that plays any number of games at once also plays
 * at the workers of the server.
 *
 * @throws {@link SettingError} if a setting can't be used.
 * @throws {@link ConnectionFailedError} if there is no server, it refuses the bot, or it didn't come back.
 */
export async function play(
  factory: BotFactory,
  settings: Settings = {},
  { signal = new AbortController().signal, random = Math.random }: PlayOptions = {},
): Promise<void> {
  const complete = completeSettings(settings);
  const workers = new WorkerStreams(complete, (settings, signal) =>
    playSession(factory, settings, { signal, random }, () => {}),
  );
  try {
    await playSession(factory, complete, { signal, random }, ({ workerAddresses }) =>
      workers.follow(workerAddresses),
    );
  } finally {
    await workers.close();
  }
  if (signal.aborted) complete.log.info(`${complete.name}: stopped`);
}

/** Play on one server, with games of its own. */
async function playSession(
  factory: BotFactory,
  settings: CompleteSettings,
  { signal, random }: Required<PlayOptions>,
  onWelcome: (welcome: Welcome) => void,
): Promise<void> {
  const player = new Player(factory, settings.name, settings.log);
  try {
    await new Session(settings, player, new Backoff(random), onWelcome).run(signal);
  } finally {
    player.close();
  }
}

/** One connection after the other, until one of them ends for good. */
class Session {
  readonly #settings: CompleteSettings;
  readonly #player: Player;
  readonly #backoff: Backoff;
  readonly #onWelcome: (welcome: Welcome) => void;
  /** To resume with. */
  #token = "";
  /** Whether the server that spoke last said that it shuts down. */
  #shutDown = false;
  /** When the search for a server ends. */
  #deadline: number;
  /** Whether it was logged that the server is gone. */
  #searching = false;

  constructor(
    settings: CompleteSettings,
    player: Player,
    backoff: Backoff,
    onWelcome: (welcome: Welcome) => void,
  ) {
    this.#settings = settings;
    this.#player = player;
    this.#backoff = backoff;
    this.#onWelcome = onWelcome;
    this.#deadline = performance.now() + settings.waitMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ended = await this.#connect(signal);
      if (signal.aborted || ended.code === status.OK) break;
      if (!isRetryable(ended)) throw this.#refused(ended);
      const pause = Math.max(this.#backoff.next(), ended.retryMs);
      if (performance.now() + pause >= this.#deadline) {
        this.#giveUp(ended);
        break;
      }
      this.#logSearch(ended);
      await setTimeout(pause, undefined, { signal }).catch(() => {}); // the loop looks at the signal too
    }
  }

  /** Play on one connection; return how it ended. */
  async #connect(signal: AbortSignal): Promise<StreamStatus> {
    const connection = new Connection(this.#settings, this.#player, this.#onWelcome);
    const ended = await connection.run(this.#hello(), signal);
    if (connection.welcome) {
      this.#token = connection.welcome.resumeToken;
      this.#deadline = performance.now() + this.#settings.reconnectMs;
      this.#searching = false;
    }
    if (connection.madeProgress) this.#backoff.reset(); // one that only welcomes and drops bots is not to be hammered
    if (connection.welcome || ended.reason) this.#shutDown = ended.reason === "SHUTTING_DOWN";
    return ended;
  }

  #hello(): Hello {
    const { name, games } = this.#settings;
    return {
      name,
      maxGames: games === UNLIMITED ? undefined : games,
      software: `happycity-typescript/${VERSION}`,
      resumeToken: this.#token,
      matchIds: this.#token ? this.#player.matchIds : [],
      info: this.#settings.info,
    };
  }

  #logSearch({ text }: StreamStatus): void {
    if (this.#searching) return;
    this.#searching = true;
    this.#settings.log.warn(`${this.#settings.name}: ${text}; trying again`);
  }

  #refused({ text, reason }: StreamStatus): ConnectionFailedError {
    const { server, name } = this.#settings;
    return new ConnectionFailedError(`${server} ended the session of ${name}: ${text}`, reason);
  }

  /** Return if the server said that it shuts down, else throw what a person should read. */
  #giveUp({ text, reason }: StreamStatus): void {
    const { server, name, log } = this.#settings;
    if (this.#shutDown) {
      log.info(`${name}: the server has shut down`);
      return;
    }
    const advice = isEncrypted(this.#settings)
      ? "is the server running there, and does it use TLS with a certificate of that CA?"
      : "is the server running there? (start one with: happycity serve)";
    throw new ConnectionFailedError(`no connection to ${server}: ${text}; ${advice}`, reason);
  }
}

/** Let the process end by itself, but don't wait for a bot's timers and sockets. */
function exitSoon(): void {
  globalThis.setTimeout(() => process.exit(), LAST_CALLS_MS).unref();
}
