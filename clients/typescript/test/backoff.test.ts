import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "happycity";
import { Backoff } from "../src/backoff.js";

test("pauses double from 0.1 s to 5 s, and return to 0.1 s after a connection that made progress", () => {
  const backoff = new Backoff(() => 1);
  const pauses = Array.from({ length: 8 }, () => backoff.next());
  assert.deepEqual(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  backoff.reset();
  assert.equal(backoff.next(), 100);
});

test("a pause is a random share of that", () => {
  assert.equal(new Backoff(() => 0.25).next(), 25);
});

test("the same seed gives the same numbers, another one others", () => {
  const numbers = (seed: bigint) => Array.from({ length: 5 }, seededRandom(seed));
  assert.deepEqual(numbers(7n), numbers(7n));
  for (const other of [0n, 8n, 7n + (1n << 32n), 2n ** 64n - 1n]) {
    assert.notDeepEqual(numbers(7n), numbers(other));
  }
});

test("the numbers are spread over 0 to 1", () => {
  const random = seededRandom(1n);
  const numbers = Array.from({ length: 10_000 }, random);
  for (let tenth = 0; tenth < 10; tenth++) {
    const count = numbers.filter((number) => Math.floor(number * 10) === tenth).length;
    assert(Math.abs(count - 1_000) < 150, `${count} numbers in tenth ${tenth}`);
  }
});
