import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "happycity";

test("random numbers follow from the seed, from 0 up to 1, and differ by all its bits", () => {
  const numbers = (seed: bigint) => {
    const random = seededRandom(seed);
    return Array.from({ length: 1000 }, () => random());
  };
  const [some, high, low] = [numbers(5n), numbers(5n | (1n << 63n)), numbers(4n)];
  assert.deepEqual(some, numbers(5n));
  assert(some.every((number) => number >= 0 && number < 1));
  const mean = some.reduce((sum, number) => sum + number) / some.length;
  assert(Math.abs(mean - 0.5) < 0.05, `the mean is ${mean}`);
  assert(new Set([some[0], high[0], low[0]]).size === 3);
});
