/** Why a bot can't play: errors of the SDK, statuses of the server, and what is wrong with a connection. */

import { connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { TLSSocket } from "node:tls";
import { getSystemErrorMap } from "node:util";
import type { Metadata } from "@grpc/grpc-js";
import { ErrorInfo, RetryInfo, Status } from "./gen/received/status.js";
import type { CompleteSettings } from "./settings.js";

/** How long a server that is probed may take to answer. */
const PROBE_MS = 2_000;

/** What the SDK throws: a setting can't be used, or the server can't be reached, refused the bot or went away. */
export class HappyCityError extends Error {
  override name = "HappyCityError";
  /** The server's reason, such as "REPLACED"; "" if it gave none. */
  readonly reason: string = "";
  /** Milliseconds after which another attempt may succeed; undefined: none will. */
  readonly retryMs: number | undefined;
  /** With which status `run` ends: 1 if the server broke the protocol, else 2. */
  readonly exitStatus: number = 2;

  constructor(text: string, more: Partial<Pick<HappyCityError, "reason" | "retryMs" | "exitStatus">> = {}) {
    super(text);
    Object.assign(this, more);
  }
}

/** Return the server's reason and delay in the details of a status. What is malformed is left out. */
export function readDetails(metadata: Metadata): Pick<HappyCityError, "reason" | "retryMs"> {
  let reason = "";
  let retryMs: number | undefined;
  try {
    const encoded = Buffer.concat(metadata.get("grpc-status-details-bin").map((value) => Buffer.from(value)));
    for (const { typeUrl, value } of Status.decode(encoded).details) {
      if (typeUrl.endsWith("/google.rpc.ErrorInfo")) reason = ErrorInfo.decode(value).reason;
      if (typeUrl.endsWith("/google.rpc.RetryInfo")) {
        const { seconds = 0n, nanos = 0 } = RetryInfo.decode(value).retryDelay ?? {};
        retryMs = Math.max(0, Number(seconds) * 1000 + nanos / 1e6);
      }
    }
  } catch {
    // The code and the text say enough.
  }
  return { reason, retryMs };
}

/**
 * Find out, by a connection of its own, why a bot has none to a server.
 *
 * @param failure - What gRPC says, for the case that all seems well.
 * @param isFirst - Whether it never had one: then it is not tried again if only one side uses TLS.
 */
export function probe({ target, path, tls }: CompleteSettings, failure: string, isFirst: boolean) {
  const options = path ? { createConnection: () => connectSocket(path) } : { ...tls, rejectUnauthorized: false };
  const session = connect(`${tls ? "https" : "http"}://${path ? "localhost" : target}`, options);
  return new Promise<HappyCityError>((resolve) => {
    const found = (text: string, isFinal = false) => resolve(new HappyCityError(text, isFinal ? {} : { retryMs: 0 }));
    const unreachable = (why: string) => found(`${target} can't be reached: ${why}`);
    const advice = tls
      ? `does not use TLS; write HAPPYCITY_SERVER=grpc://${target}`
      : `does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://${target}`;
    let isEncrypted = false;
    const noHttp2 = () => (isEncrypted ? unreachable(failure) : found(`${target} ${advice}`, isFirst));
    session.setTimeout(PROBE_MS, () => (session.connecting ? unreachable("it does not answer") : noHttp2()));
    session.on("remoteSettings", () => unreachable(failure));
    session.on("close", noHttp2);
    session.on("error", (error) => {
      const { code, syscall } = (error instanceof AggregateError ? error.errors[0] : error) as NodeJS.ErrnoException;
      if (syscall === "getaddrinfo") found(`the host name of ${target} can't be resolved`);
      else if (syscall !== "connect") noHttp2();
      else if (code !== "ECONNREFUSED" && code !== "ENOENT") unreachable(systemText(error));
      else found(`nothing listens on ${target}; start a server there with: happycity serve`);
    });
    session.on("connect", (_, socket) => {
      if (!(socket instanceof TLSSocket)) return;
      isEncrypted = true;
      if (socket.authorized) return;
      const isName = String(socket.authorizationError) === "ERR_TLS_CERT_ALTNAME_INVALID";
      const problem = isName ? "for another name" : "not trusted; set HAPPYCITY_CA to the file of its CA";
      found(`the certificate of ${target} is ${problem}`, true);
    });
  }).finally(() => session.destroy());
}

/** Return the text of a system error, such as "connection timed out". */
export function systemText(error: unknown): string {
  const { errno, message } = (error instanceof AggregateError ? error.errors[0] : error) as NodeJS.ErrnoException;
  return getSystemErrorMap().get(errno ?? 0)?.[1] ?? oneLine(message);
}

/** Return a text in one line of at most 200 characters, without control characters. */
export function oneLine(text: string): string {
  const words = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return [...words].slice(0, 200).join("");
}
