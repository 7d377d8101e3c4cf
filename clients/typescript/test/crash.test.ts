import assert from "node:assert/strict";
import { test } from "node:test";
import { crashReason } from "../src/crash.js";

class Lost extends Error {
  override name = "Lost";
}

for (const [what, thrown, expected] of [
  ["an error", new Lost("my notes"), /^Lost: my notes \(crash\.test\.js:\d+\)$/],
  [
    "an error of Node.js",
    caught(() => new URL("nonsense")),
    /^TypeError: Invalid URL \(crash\.test\.js:\d+\)$/,
  ],
  ["several lines", Object.assign(new Error("one\n\u001b[2J two"), { stack: "" }), /^Error: one \[2J two$/],
  ["a text", "no idea", /^no idea$/],
  ["an object", { code: 7 }, /^\{ code: 7 \}$/],
  ["a long text", "\u{1F3B2}".repeat(300), /^\u{1F3B2}{200}$/u],
] as const) {
  test(`the reason of a crash is one line: ${what}`, () => assert.match(crashReason(thrown), expected));
}

function caught(code: () => void): unknown {
  try {
    return code();
  } catch (error) {
    return error;
  }
}
