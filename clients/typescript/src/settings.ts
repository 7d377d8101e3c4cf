/** Where and as whom a bot plays. The environment is read here and nowhere else. */

import { basename, extname } from "node:path";
import { SettingError } from "./errors.js";
import { type Log, stderrLog } from "./log.js";
import type * as wire from "./v1.js";

export const DEFAULT_SERVER = "127.0.0.1:50051";
/** As many games at once as the server likes. */
export const UNLIMITED = 0;
/** Few, so that a bot that takes a second for a move answers all of them in time. */
export const DEFAULT_GAMES = 8;
/** A bot that lost its server tries for so long to find it again. */
export const DEFAULT_RECONNECT_MS = 60_000;

/** What a bot says of itself. Texts are one line of at most 80 characters, the description of 200. */
export type BotInfo = Readonly<Partial<wire.BotInfo>>;

/** Where and as whom a bot plays. What is left out comes from the environment, or has a default. */
export interface Settings {
  /** The bot's name, 1 to 64 letters, digits or any of "._-+"; HAPPYCITY_NAME, or the program's. */
  readonly name?: string;
  /** What the bot says of itself, for lists, standings and reports; the language is filled in. */
  readonly info?: BotInfo;
  /** Address, host:port; HAPPYCITY_SERVER, or `DEFAULT_SERVER`. */
  readonly server?: string;
  /** The bot's token, for a server that needs one; HAPPYCITY_TOKEN. */
  readonly token?: string;
  /** Maximum number of games at once, or `UNLIMITED`; HAPPYCITY_GAMES (0: unlimited), or `DEFAULT_GAMES`. */
  readonly games?: number;
  /** Whether to encrypt; a CA or a certificate implies it; HAPPYCITY_TLS (0 or 1). */
  readonly tls?: boolean;
  /** File of the certificates to trust, in PEM; HAPPYCITY_CA, or those that Node.js brings with it. */
  readonly ca?: string;
  /** File of the bot's own certificate, in PEM, for servers that demand one; HAPPYCITY_CERT. */
  readonly cert?: string;
  /** File of the certificate's key, in PEM; HAPPYCITY_KEY. */
  readonly key?: string;
  /** Whether a token may travel unencrypted to another machine; HAPPYCITY_INSECURE (0 or 1). */
  readonly insecure?: boolean;
  /** Milliseconds to wait for a server that isn't there yet; 0, the default, fails at once. */
  readonly waitMs?: number;
  /** Milliseconds to try after a connection was lost; 0 never tries again; or `DEFAULT_RECONNECT_MS`. */
  readonly reconnectMs?: number;
  /** Gets what a bot's author should know; by default it writes to the standard error. */
  readonly log?: Log;
}

/** Complete settings; "" where there is no token or file. */
export type CompleteSettings = Required<Omit<Settings, "info">> & { readonly info: wire.BotInfo };

/**
 * Fill in what is left out: from the environment, else by default.
 *
 * @throws {@link SettingError} if a value can't be used.
 */
export function completeSettings(
  settings: Settings,
  environment: Readonly<NodeJS.ProcessEnv> = process.env,
): CompleteSettings {
  const text = (variable: string) => environment[variable] ?? "";
  return {
    name: settings.name || text("HAPPYCITY_NAME") || programName(),
    info: completeInfo(settings.info),
    server: settings.server || text("HAPPYCITY_SERVER") || DEFAULT_SERVER,
    token: settings.token || text("HAPPYCITY_TOKEN"),
    games:
      settings.games === undefined
        ? gamesIn("HAPPYCITY_GAMES", text("HAPPYCITY_GAMES") || String(DEFAULT_GAMES))
        : gamesIn("games", String(settings.games)),
    tls: settings.tls ?? switchIn("HAPPYCITY_TLS", text("HAPPYCITY_TLS")),
    ca: settings.ca || text("HAPPYCITY_CA"),
    cert: settings.cert || text("HAPPYCITY_CERT"),
    key: settings.key || text("HAPPYCITY_KEY"),
    insecure: settings.insecure ?? switchIn("HAPPYCITY_INSECURE", text("HAPPYCITY_INSECURE")),
    waitMs: settings.waitMs ?? 0,
    reconnectMs: settings.reconnectMs ?? DEFAULT_RECONNECT_MS,
    log: settings.log ?? stderrLog,
  };
}

function completeInfo({ author, version, language, description }: BotInfo = {}): wire.BotInfo {
  return {
    author: author ?? "",
    version: version ?? "",
    language: language ?? `JavaScript (Node.js ${process.versions.node.split(".")[0]})`,
    description: description ?? "",
  };
}

function programName(): string {
  const path = process.argv[1] ?? "";
  return basename(path, extname(path)) || "bot";
}

function gamesIn(setting: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) {
    throw new SettingError(setting, `${JSON.stringify(text)} is not a number of games`);
  }
  return Number(text);
}

function switchIn(variable: string, text: string): boolean {
  if (!["", "0", "1"].includes(text)) {
    throw new SettingError(variable, `${JSON.stringify(text)} is neither 0 nor 1`);
  }
  return text === "1";
}
