import { setTimeout as sleep } from "node:timers/promises";
import { logVerbosity, setLogVerbosity } from "@grpc/grpc-js";
import type { BotFactory } from "./decision.js";
import { HappyCityError } from "./failure.js";
import { Pauses } from "./pauses.js";
import { log, Player } from "./player.js";
import { Session } from "./session.js";
import { completeSettings, type Settings } from "./settings.js";

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
  const { target, reconnectMs, signal } = complete;
  const player = new Player(factory);
  const pauses = new Pauses(reconnectMs);
  let resumeToken: string | undefined; // undefined before the first welcome
  let isShuttingDown = false;
  try {
    while (!signal.aborted) {
      const session = new Session(complete, player);
      const failure = await session.run(resumeToken);
      if (!failure || signal.aborted) return;
      const { message, reason, retryMs } = failure;
      if (session.welcome) resumeToken = session.welcome.resumeToken;
      if (session.welcome || reason) isShuttingDown = session.isShuttingDown || reason === "SHUTTING_DOWN";
      if (resumeToken === undefined || retryMs === undefined) throw failure;

      const now = performance.now();
      const pause = pauses.next(now, session.messages, retryMs, Math.random());
      if (pause === undefined) {
        if (isShuttingDown) return log.info("the server has shut down");
        const lostMs = now - pauses.lostAt;
        if (lostMs < 1000) throw failure;
        throw new HappyCityError(`no connection to ${target} for ${Math.round(lostMs / 1000)} s: ${message}`, {
          reason,
        });
      }
      if (session.welcome) log.warn(`${message}; trying again`);
      await sleep(pause, undefined, { signal }).catch(() => {}); // the loop looks at the signal too
    }
  } finally {
    player.close();
  }
}
