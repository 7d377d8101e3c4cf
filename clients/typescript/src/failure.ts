/** Why a bot can't play: errors of the SDK, and statuses of the server. */

import type { Metadata } from "@grpc/grpc-js";
import { ErrorInfo, RetryInfo, Status } from "./gen/received/status.js";

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

/** Return a text in one line of at most 200 characters, without control characters. */
export function oneLine(text: string): string {
  const words = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return [...words].slice(0, 200).join("");
}
