import assert from "node:assert/strict";
import { test } from "node:test";
import { Metadata, type StatusObject, status } from "@grpc/grpc-js";
import { Status } from "../src/gen/google/rpc/status.js";
import { isRetryable, statusOf } from "../src/stream-status.js";
import { errorOf, type Refusal } from "./arena.js";

const code = status.RESOURCE_EXHAUSTED;
const reason = "RATE_LIMITED";

const read = (refusal: Refusal) => statusOf(errorOf(refusal) as StatusObject);

test("a status has the contract's reason, the delay before another attempt, and a text in one line", () => {
  const text = "in the test the [2Jserver says no";
  assert.deepEqual(read({ code, reason, retryMs: 1500 }), { code, text, reason, retryMs: 1500 });
  assert.deepEqual(read({ code, reason }), { code, text, reason, retryMs: 0 });
  assert.deepEqual(read({ code }), { code, text, reason: "", retryMs: 0 });
});

test("a delay is never negative, nor longer than an hour", () => {
  assert.equal(read({ code, reason, retryMs: -5000 }).retryMs, 0);
  assert.equal(read({ code, reason, retryMs: 1e15 }).retryMs, 3_600_000);
});

test("a reason of another domain is none", () => {
  const { reason: none, retryMs } = read({ code, reason, domain: "example.org", retryMs: 1 });
  assert.deepEqual([none, retryMs], ["", 0]);
});

for (const [what, details] of [
  ["are no status", Buffer.from("\xff\xff\xff", "latin1")],
  ["have a reason that is none", detail("google.rpc.ErrorInfo", "\xff\xff")],
  ["have a delay that is none", detail("google.rpc.RetryInfo", "\x0a\x7f")],
  ["are of an unknown type", detail("nonsense", "")],
] as const) {
  test(`details that ${what} are ignored`, () => {
    const metadata = new Metadata();
    metadata.set("grpc-status-details-bin", details);
    const ended = statusOf({ code, details: "", metadata });
    assert.deepEqual(ended, { code, text: "RESOURCE_EXHAUSTED", reason: "", retryMs: 0 });
  });
}

test("another attempt may succeed after a retryable reason, or anything without a reason but a refusal", () => {
  const base = { text: "", retryMs: 0 };
  const retryable = ([code, reason]: readonly [status, string]) => isRetryable({ code, reason, ...base });
  const may = [
    [code, reason],
    [status.ABORTED, "STALLED"],
    [status.UNAVAILABLE, "OF_A_NEW_SERVER"],
    [status.INTERNAL, ""],
  ] as const;
  const mayNot = [
    [status.ABORTED, "REPLACED"],
    [status.ABORTED, "OF_A_NEW_SERVER"],
    [status.PERMISSION_DENIED, ""],
  ] as const;
  assert.deepEqual(
    [may.map(retryable), mayNot.map(retryable)],
    [may.map(() => true), mayNot.map(() => false)],
  );
});

function detail(name: string, value: string): Buffer {
  const any = { typeUrl: `type.googleapis.com/${name}`, value: Buffer.from(value, "latin1") };
  return Buffer.from(Status.encode({ code, message: "", details: [any] }).finish());
}
