import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

test("the bots in the README are those among the examples, which are compiled", () => {
  const blocks = [...read("README.md").matchAll(/^```[jt]s\n(.*?)^```$/gms)].map(([, code]) => code);
  assert.deepEqual(blocks, [read("examples/first.ts"), read("examples/counting.ts")]);
});
