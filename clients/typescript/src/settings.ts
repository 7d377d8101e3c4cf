/** Where and as whom a bot plays. The environment is read here and nowhere else. */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join, parse } from "node:path";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import { HappyCityError } from "./failure.js";
import type { BotInfo } from "./gen/sent/happycity/v1/bot.js";

/** A socket, or a scheme, a host with its port, and the port. */
const ADDRESS = /^(?:(unix:.+)|(?:(grpcs?):\/\/)?((?:[\w.-]+|\[[\da-fA-F:.]+(?:%\w+)?\]):(\d{1,5})))$/;
/** Addresses of this machine. */
const HERE = /^(localhost|127[.0-9]+|\[::1\]|\[::ffff:127[.0-9]+\]):\d+$/i;

/**
 * Where and as whom a bot plays. What is left out comes from the environment, or has a default. The file
 * `happycity.env`, or that of HAPPYCITY_ENV, has what the environment lacks.
 */
export interface Settings {
  /** `grpcs://host:port`, which is encrypted, or `grpc://host:port`; HAPPYCITY_SERVER, or `grpc://127.0.0.1:50051`. */
  readonly server?: string;
  /** The bot's name; HAPPYCITY_NAME, or the one that the token is for, or without a token the program's. */
  readonly name?: string;
  /** The bot's token, for a server that needs one; HAPPYCITY_TOKEN, or that of the name in HAPPYCITY_TOKENS. */
  readonly token?: string;
  /** Maximum number of games at once; 0 leaves it to the server; HAPPYCITY_GAMES, or 8. */
  readonly games?: number;
  /** Milliseconds to look for a server that was lost; 60,000. */
  readonly reconnectMs?: number;
  /**
   * What the bot says of itself, each in a line of 80 characters, the description of 200; the language is filled in, and
   * by default the version of HAPPYCITY_VERSION.
   */
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
export function completeSettings(settings: Settings, given = process.env) {
  const environment = withSettingsFile(given);
  const name = settings.name || environment.HAPPYCITY_NAME || undefined;
  const token =
    settings.token || tokenOf(name, environment.HAPPYCITY_TOKENS) || environment.HAPPYCITY_TOKEN || undefined;
  if (token && !/^[!-~]+$/.test(token))
    throw new HappyCityError("HAPPYCITY_TOKEN: it has a character that no token has");
  const games = String(settings.games ?? (environment.HAPPYCITY_GAMES || 8));
  if (!/^\d{1,9}$/.test(games)) {
    throw new HappyCityError(`HAPPYCITY_GAMES: '${games}' is not a number of games; 0 is any number`);
  }
  const server = settings.server || environment.HAPPYCITY_SERVER || "grpc://127.0.0.1:50051";
  const { target, tls } = addressOf(server);
  return {
    server,
    target,
    tls,
    /** None is for this machine, or where it could read tokens. */
    usesProxy: tls && !HERE.test(target),
    credentials: tls ? readTls(environment) : credentials.createInsecure(),
    name: name || (token ? undefined : parse(process.argv[1] ?? "bot").name),
    token,
    games: Number(games),
    reconnectMs: settings.reconnectMs ?? 60_000,
    info: {
      language: `JavaScript (Node.js ${process.versions.node.split(".")[0]})`,
      ...(environment.HAPPYCITY_VERSION && { version: environment.HAPPYCITY_VERSION }),
      ...settings.info,
    },
    signal: settings.signal ?? (new AbortController().signal as AbortSignal),
  };
}

/**
 * Add to an environment what it lacks, from the file of `happycity join`. The file's tokens are for one server: where
 * the environment has an address, also an empty one, the file's CA alone counts, and that only where the environment has
 * no access of its own. Paths in the file are relative to it.
 */
function withSettingsFile(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isOtherServer = environment.HAPPYCITY_SERVER !== undefined;
  const { HAPPYCITY_CA, HAPPYCITY_TOKEN, HAPPYCITY_TOKENS, HAPPYCITY_ENV } = environment;
  if (isOtherServer && (HAPPYCITY_CA || HAPPYCITY_TOKEN || HAPPYCITY_TOKENS)) return environment;
  const path = HAPPYCITY_ENV || "happycity.env";
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (!isAbsent) throw new HappyCityError(`${path} can't be read as text in UTF-8`);
    if (HAPPYCITY_ENV && !isOtherServer) throw new HappyCityError(`HAPPYCITY_ENV: there is no file ${path}`);
    return environment;
  }
  const found: NodeJS.ProcessEnv = {};
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trim() || line.startsWith("#")) continue;
    const [, name, value = ""] = /^(HAPPYCITY_[A-Z_]+)=(.*)$/.exec(line.trim()) ?? [];
    if (name === undefined) throw new HappyCityError(`${path}:${index + 1}: it is not HAPPYCITY_NAME=VALUE`);
    if (isOtherServer && name !== "HAPPYCITY_CA") continue;
    const isRelative = /^HAPPYCITY_(CA|CERT|KEY)$/.test(name) && value && !isAbsolute(value);
    found[name] ??= isRelative ? join(dirname(path), value) : value;
  }
  return { ...found, ...environment };
}

/** Return the token for a name in a text such as `ann=hc_1_x,bob=hc_2_y`. */
function tokenOf(name: string | undefined, tokens = ""): string | undefined {
  const entries = tokens.split(",").filter(Boolean);
  const pairs = entries.map((entry, index): [string | undefined, string] => {
    const [, bot, token] = /^([^=]+)=(.+)$/.exec(entry.trim()) ?? [];
    if (!token) throw new HappyCityError(`HAPPYCITY_TOKENS: entry ${index + 1} is not NAME=TOKEN`);
    return [bot, token];
  });
  return name && new Map(pairs).get(name);
}

/** Read an address: what gRPC and messages call it, and whether it uses TLS. */
function addressOf(server: string): { target: string; tls: boolean } {
  const [, socket, scheme, target, port] = ADDRESS.exec(server) ?? [];
  if (socket) return { target: socket, tls: false };
  if (target && Number(port) < 65_536) return { target, tls: scheme === "grpcs" };
  const examples = "grpc://127.0.0.1:50051 or grpcs://arena.example:443";
  throw new HappyCityError(`HAPPYCITY_SERVER: '${server}' is not an address such as ${examples}`);
}

/** Make the credentials of a channel with TLS, from the files that the environment names. */
function readTls(environment: NodeJS.ProcessEnv): ChannelCredentials {
  const [ca, cert, key] = ["CA", "CERT", "KEY"].map((name) => readPem(environment, `HAPPYCITY_${name}`));
  if (cert && !key) throw new HappyCityError("HAPPYCITY_CERT: HAPPYCITY_KEY is needed too");
  if (key && !cert) throw new HappyCityError("HAPPYCITY_KEY: HAPPYCITY_CERT is needed too");
  try {
    if (ca) new X509Certificate(ca); // TLS would only answer with a failed handshake
  } catch {
    throw new HappyCityError(`HAPPYCITY_CA: ${environment.HAPPYCITY_CA} holds no certificates in PEM`);
  }
  try {
    return credentials.createSsl(ca, key, cert);
  } catch (error) {
    const files = `${environment.HAPPYCITY_CERT} and ${environment.HAPPYCITY_KEY}`;
    const problem = `are not a certificate and its key in PEM: ${(error as Error).message}`;
    throw new HappyCityError(`HAPPYCITY_CERT, HAPPYCITY_KEY: ${files} ${problem}`);
  }
}

/** Read the file that a variable names, if it does. */
function readPem(environment: NodeJS.ProcessEnv, variable: string): Buffer | null {
  const path = environment[variable];
  try {
    return path ? readFileSync(path) : null;
  } catch (error) {
    throw new HappyCityError(`${variable}: ${path} can't be read: ${(error as Error).message}`);
  }
}
