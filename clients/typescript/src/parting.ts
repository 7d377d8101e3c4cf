/** How a stream ended, and what that means for the bot. */

import { type Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { ErrorInfo, Status } from "./gen/google/rpc/error_info.js";

/** How a stream ended. */
export interface Parting {
  readonly code: status;
  /** The server's reason, as in the contract; "" if it gave none. */
  readonly reason: string;
  /** One line for a person. */
  readonly details: string;
  /** What the server tells with its reason. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether another attempt may go well. */
  readonly passing: boolean;
}

/** Reasons after which another attempt may go well. */
const PASSING: ReadonlySet<string> = new Set([
  "SHUTTING_DOWN",
  "NO_HEARTBEAT",
  "STALLED",
  "RATE_LIMITED",
  "TOO_MANY_STREAMS",
]);

/** Status codes that mean no even without a reason of this server's. */
const REFUSALS: ReadonlySet<status> = new Set([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.UNIMPLEMENTED,
  status.INVALID_ARGUMENT,
  status.FAILED_PRECONDITION,
  status.NOT_FOUND,
]);

/** Read the status with which the server, or what is between, ended a stream. */
export function partingOf({ code, details, metadata }: StatusObject): Parting {
  const info = errorInfoOf(metadata);
  return {
    code,
    reason: info.reason,
    details: details.split(/\s+/).filter(Boolean).join(" ") || status[code] || `status ${code}`,
    metadata: info.metadata,
    passing: info.reason ? PASSING.has(info.reason) || code === status.UNAVAILABLE : !REFUSALS.has(code),
  };
}

/** Tell of a server that is gone without having said so. */
export function silence(details: string): Parting {
  return { code: status.UNAVAILABLE, reason: "", details, metadata: {}, passing: true };
}

/** Tell of a server that doesn't keep to the contract. */
export function misfit(details: string): Parting {
  return { code: status.FAILED_PRECONDITION, reason: "", details, metadata: {}, passing: false };
}

/** Return the milliseconds that the server wants to be left alone. */
export function pauseMs({ metadata: { retry_after_ms: text = "" } }: Parting): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/** Return the typed reason in a status, or an empty one. */
function errorInfoOf(metadata: Metadata): ErrorInfo {
  for (const value of metadata.get("grpc-status-details-bin")) {
    for (const detail of Status.decode(Buffer.from(value)).details) {
      if (detail.typeUrl.endsWith("/google.rpc.ErrorInfo")) return ErrorInfo.decode(detail.value);
    }
  }
  return ErrorInfo.create();
}
