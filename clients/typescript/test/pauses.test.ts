import assert from "node:assert/strict";
import { test } from "node:test";
import { Pauses } from "../src/pauses.js";
import { readCases } from "./cases.js";

interface Case {
  readonly name: string;
  readonly reconnect: number;
  readonly share: number;
  readonly streams: readonly { readonly messages: number; readonly delay: number }[];
  readonly pauses: readonly (number | null)[];
}

for (const { name, reconnect, share, streams, pauses } of readCases<Case>("pauses.jsonl")) {
  test(`pauses: ${name}`, () => {
    const made = new Pauses(reconnect);
    let now = 1000;
    const found = streams.map(({ messages, delay }) => {
      const pause = made.next(now, messages, delay, share);
      now += pause ?? 0;
      return pause ?? null;
    });
    assert.deepEqual(found, pauses);
  });
}
