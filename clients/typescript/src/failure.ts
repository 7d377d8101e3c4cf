/** Why a bot can't play: errors of the SDK, statuses of the server, and what is wrong with a connection. */

import type { Metadata } from "@grpc/grpc-js";
import { ErrorInfo, RetryInfo, Status } from "./gen/received/status.js";
import type { CompleteSettings } from "./settings.js";

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

/** Return why a server can't be reached, from the text of gRPC's status and whether it has spoken HTTP/2. */
export function unreachable({ target, tls }: CompleteSettings, details: string, speaksHttp2: boolean): string {
  const text = /Last error: (?:Error: )?(.*)\. Resolution note/s.exec(details)?.[1] ?? details;
  if (text.startsWith("Name resolution failed")) return `the host name of ${target} can't be resolved`;
  if (/ECONNREFUSED|ENOENT/.test(text))
    return `nothing listens on ${target}; start a server there with: happycity serve`;
  if (!tls && !speaksHttp2 && !text.startsWith("connect ")) {
    return `${target} does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://${target}`;
  }
  if (text.includes("wrong version number"))
    return `${target} does not use TLS; write HAPPYCITY_SERVER=grpc://${target}`;
  if (text.includes("ERR_TLS_CERT_ALTNAME_INVALID")) return `the certificate of ${target} is for another name`;
  if (/unable to (verify|get)|self.signed|certificate (has|is)/.test(text)) {
    return `the certificate of ${target} is not trusted; set HAPPYCITY_CA to the file of its CA`;
  }
  return `${target} can't be reached: ${oneLine(text)}`;
}

/** Return a text in one line of at most 200 characters, without control characters. */
export function oneLine(text: string): string {
  const words = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return [...words].slice(0, 200).join("");
}
