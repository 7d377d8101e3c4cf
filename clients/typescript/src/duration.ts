import type { Duration } from "./gen/google/protobuf/duration.js";

/** No time that a server says is taken for longer, so that every timer can hold it. */
const LONGEST_MS = 3_600_000;

/** Return a duration of the contract in milliseconds, 0 to an hour. */
export function durationMs({ seconds, nanos }: Duration = { seconds: 0n, nanos: 0 }): number {
  return Math.min(Math.max(0, Number(seconds) * 1000 + nanos / 1e6), LONGEST_MS);
}
