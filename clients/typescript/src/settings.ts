/** Where and as whom a bot plays. The environment is read here and nowhere else. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { parse } from "node:path";
import { HappyCityError, systemText } from "./failure.js";
import type { BotInfo } from "./gen/sent/happycity/v1/bot.js";

/** As many games at once as the server likes. */
export const UNLIMITED = 0;

/** Where and as whom a bot plays. What is left out comes from the environment, or has a default. */
export interface Settings {
  /** `grpcs://host:port`, which is encrypted, or `grpc://host:port`; HAPPYCITY_SERVER, or `grpc://127.0.0.1:50051`. */
  readonly server?: string;
  /** The bot's name; HAPPYCITY_NAME, or the one that the token is for, or without a token the program's. */
  readonly name?: string;
  /** The bot's token, for a server that needs one; HAPPYCITY_TOKEN. */
  readonly token?: string;
  /** Maximum number of games at once, or `UNLIMITED`; HAPPYCITY_GAMES, or 8. */
  readonly games?: number;
  /** Milliseconds to wait for a server that isn't there yet; 0, the default, fails at once. */
  readonly waitMs?: number;
  /** Milliseconds to look for a server that was lost; 60,000. */
  readonly reconnectMs?: number;
  /** What the bot says of itself, each in a line of 80 characters, the description of 200; the language is filled in. */
  readonly info?: BotInfo;
  /** When it is aborted, the bot says goodbye to the server, and `play` returns; `run` has its own. */
  readonly signal?: AbortSignal;
}

/** Settings with all their values. */
export type CompleteSettings = ReturnType<typeof completeSettings>;

/**
 * Fill in what is left out: from the environment, else by default.
 *
 * @throws {@link HappyCityError} if a value can't be used.
 */
export function completeSettings(settings: Settings, environment = process.env) {
  const token = settings.token || environment.HAPPYCITY_TOKEN || undefined;
  const server = settings.server || environment.HAPPYCITY_SERVER || "grpc://127.0.0.1:50051";
  return {
    ...addressOf(server, environment),
    name: settings.name || environment.HAPPYCITY_NAME || (token ? undefined : parse(process.argv[1] ?? "bot").name),
    token,
    games: gamesOf(String(settings.games ?? (environment.HAPPYCITY_GAMES || 8))),
    waitMs: settings.waitMs ?? 0,
    reconnectMs: settings.reconnectMs ?? 60_000,
    info: { language: `JavaScript (Node.js ${process.versions.node.split(".")[0]})`, ...settings.info },
    signal: settings.signal ?? (new AbortController().signal as AbortSignal),
  };
}

function gamesOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new HappyCityError(`HAPPYCITY_GAMES: '${text}' is not a number of games; 0 is any number`);
}

/** Read an address: what gRPC and messages call it, the path of a socket of this machine, and the files of TLS. */
function addressOf(server: string, environment: NodeJS.ProcessEnv) {
  const path = /^unix:(\/.+)$/.exec(server)?.[1];
  if (path) return { target: server, path, tls: undefined };
  const [, scheme, host, port] = /^(?:(grpcs?):\/\/)?(\[[\da-fA-F:.]+\]|[\w.-]+):(\d{1,5})$/.exec(server) ?? [];
  const target = `${host}:${port}`;
  if (!host || !URL.canParse(`http://${target}`)) {
    const examples = "grpc://127.0.0.1:50051 or grpcs://arena.example:443";
    throw new HappyCityError(`HAPPYCITY_SERVER: '${server}' is not an address such as ${examples}`);
  }
  return { target, path, tls: scheme === "grpcs" ? readTls(environment) : undefined };
}

function readTls(environment: NodeJS.ProcessEnv) {
  const ca = readPem(environment, "HAPPYCITY_CA");
  const cert = readPem(environment, "HAPPYCITY_CERT");
  const key = readPem(environment, "HAPPYCITY_KEY");
  if (cert && !key) throw new HappyCityError("HAPPYCITY_CERT: HAPPYCITY_KEY is needed too");
  if (key && !cert) throw new HappyCityError("HAPPYCITY_KEY: HAPPYCITY_CERT is needed too");
  return { ca, cert, key };
}

/** Read the file that a variable names, if it does. */
function readPem(environment: NodeJS.ProcessEnv, variable: string): Buffer | undefined {
  const path = environment[variable];
  if (!path) return undefined;
  const isKey = variable === "HAPPYCITY_KEY";
  try {
    const pem = readFileSync(path);
    if (isKey) createPrivateKey(pem);
    else new X509Certificate(pem); // TLS alone would only answer with a failed handshake
    return pem;
  } catch (error) {
    const isRead = !(error instanceof Error && "syscall" in error);
    const problem = isRead
      ? `holds no ${isKey ? "key" : "certificates"} in PEM`
      : `can't be read: ${systemText(error)}`;
    throw new HappyCityError(`${variable}: ${path} ${problem}`);
  }
}
