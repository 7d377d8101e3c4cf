import { setTimeout as sleep } from "node:timers/promises";
import { logVerbosity, setLogVerbosity } from "@grpc/grpc-js";
import type { BotFactory } from "./decision.js";
import { HappyCityError } from "./failure.js";
import { log, Player } from "./player.js";
import { Session } from "./session.js";
import { type CompleteSettings, completeSettings, type Settings } from "./settings.js";

/** The first bound of the random pauses between attempts to connect; it doubles with each attempt. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** How long bots that still think may go on when the program is to end. */
const LAST_CALLS_MS = 1_000;

/**
 * Be the whole program of a bot: play until the server ends the session for good, or until SIGINT or SIGTERM.
 *
 * If it can't play, one line says why, and the exit status is 2, or 1 if the server breaks the protocol.
 */
export async function run(factory: BotFactory, settings: Settings = {}): Promise<void> {
  Object.assign(process, { noDeprecation: true }); // grpc-js names IP addresses in TLS handshakes, of which Node.js warns
  if (!process.env.GRPC_VERBOSITY) setLogVerbosity(logVerbosity.NONE);
  const stop = new AbortController();
  const stopped = () => stop.abort();
  process.once("SIGINT", stopped).once("SIGTERM", stopped);
  try {
    await play(factory, { ...settings, signal: stop.signal });
  } catch (error) {
    if (!(error instanceof HappyCityError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = error.exitStatus;
    stop.abort();
  } finally {
    process.off("SIGINT", stopped).off("SIGTERM", stopped);
  }
  // The process ends by itself, unless a bot still thinks, or holds timers and sockets.
  if (stop.signal.aborted) setTimeout(() => process.exit(), LAST_CALLS_MS).unref();
}

/**
 * Play all games that the server offers, until it ends the session for good.
 *
 * A connection that is lost is made again, and the games go on.
 *
 * @throws {@link HappyCityError} if a setting can't be used, or if there is no server, it refuses the bot, or it didn't
 * come back.
 */
export async function play(factory: BotFactory, settings: Settings = {}): Promise<void> {
  const complete = completeSettings(settings);
  const player = new Player(factory);
  try {
    await playSessions(complete, player);
  } finally {
    player.close();
  }
}

/** Play one session after the other, until one of them ends for good. */
async function playSessions(settings: CompleteSettings, player: Player): Promise<void> {
  const { target, reconnectMs, signal } = settings;
  const seconds = Math.round(reconnectMs / 1000);
  let resumeToken: string | undefined; // undefined before the first welcome
  let isShuttingDown = false;
  let deadline = performance.now() + settings.waitMs;
  let bound = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    const session = new Session(settings, player);
    const failure = await session.run(resumeToken);
    if (!failure || signal.aborted) return;
    const { message, reason, retryMs } = failure;
    if (session.welcome) {
      resumeToken = session.welcome.resumeToken;
      deadline = performance.now() + reconnectMs;
    }
    if (session.welcome || reason) isShuttingDown = session.isShuttingDown || reason === "SHUTTING_DOWN";
    if (session.messages > 1) bound = FIRST_PAUSE_MS; // a server that only welcomes and drops bots is not hammered

    const left = deadline - performance.now();
    const isLate = left <= 0 || (retryMs ?? 0) > left;
    if (retryMs === undefined || (isLate && resumeToken === undefined)) throw failure;
    if (isLate && isShuttingDown) return log.info("the server has shut down");
    if (isLate) throw new HappyCityError(`no connection to ${target} for ${seconds} s: ${message}`, { reason });

    if (session.welcome) log.warn(`${message}; trying again`);
    const pause = Math.max(retryMs, Math.min(Math.random() * bound, left));
    bound = Math.min(2 * bound, LONGEST_PAUSE_MS);
    await sleep(pause, undefined, { signal }).catch(() => {}); // the loop looks at the signal too
  }
}
