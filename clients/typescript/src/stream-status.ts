import { type Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { durationMs } from "./duration.js";
import { ErrorInfo, RetryInfo, Status } from "./gen/google/rpc/status.js";
import { oneLine } from "./one-line.js";
import { RETRYABLE_REASONS } from "./reasons.js";

/** The domain of the contract's reasons. */
const DOMAIN = "happycity.dev";

/** How a stream or a call ended. */
export interface StreamStatus extends StatusDetails {
  readonly code: status;
  /** One line for a person. */
  readonly text: string;
}

/** The typed part of an error status. */
interface StatusDetails {
  /** The name of an `ErrorReason` without its prefix; "" if the contract has no such reason. */
  readonly reason: string;
  /** Milliseconds to wait before another attempt; 0 if the server didn't say. */
  readonly retryMs: number;
}

/** Status codes that mean no even without a reason of the contract. */
const REFUSALS: ReadonlySet<status> = new Set([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.UNIMPLEMENTED,
  status.INVALID_ARGUMENT,
  status.FAILED_PRECONDITION,
  status.NOT_FOUND,
]);

/** Read the status with which the server, or what is between, ended a stream or a call. */
export function statusOf({ code, details, metadata }: StatusObject): StreamStatus {
  return { code, text: oneLine(details) || status[code] || `status ${code}`, ...detailsOf(metadata) };
}

/** Return the status of a stream that this side ended. */
export function ownStatus(code: status, text: string): StreamStatus {
  return { code, text, reason: "", retryMs: 0 };
}

/** Return whether another attempt may succeed. */
export function isRetryable({ code, reason }: StreamStatus): boolean {
  // A newer server's reason says it by its status code.
  return reason ? RETRYABLE_REASONS.has(reason) || code === status.UNAVAILABLE : !REFUSALS.has(code);
}

/** Read the details of a status; what is malformed is left out. */
function detailsOf(metadata: Metadata): StatusDetails {
  let info: ErrorInfo | undefined;
  let retry: RetryInfo | undefined;
  try {
    for (const encoded of metadata.get("grpc-status-details-bin")) {
      for (const { typeUrl, value } of Status.decode(Buffer.from(encoded)).details) {
        if (typeUrl === "type.googleapis.com/google.rpc.ErrorInfo") info = ErrorInfo.decode(value);
        if (typeUrl === "type.googleapis.com/google.rpc.RetryInfo") retry = RetryInfo.decode(value);
      }
    }
  } catch {
    info = undefined;
  }
  return info?.domain === DOMAIN
    ? { reason: info.reason, retryMs: durationMs(retry?.retryDelay) }
    : { reason: "", retryMs: 0 };
}
