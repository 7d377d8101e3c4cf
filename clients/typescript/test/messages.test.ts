import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "@bufbuild/protobuf";
import {
  Answer,
  Decision,
  GameOver,
  GameStarted,
  Hello,
  Notice,
  PlayRequest,
  Resign,
  Welcome,
} from "happycity/v1";
import { linesOf, messageOf } from "./contract.js";

const types = { Answer, Decision, GameOver, GameStarted, Hello, Notice, PlayRequest, Resign, Welcome };

interface Line {
  name: string;
  type: keyof typeof types;
  bytes: string;
  fields: JsonValue;
}

const lines = linesOf<Line>("messages.jsonl");

test("there are messages of every kind", () => {
  assert.deepEqual(new Set(lines.map(({ type }) => type)), new Set(Object.keys(types)));
});

for (const { name, type, bytes, fields } of lines) {
  test(`the bytes of '${name}' decode to its fields`, () => {
    assert.deepEqual(types[type].decode(Buffer.from(bytes, "base64")), messageOf(type, fields));
  });
}
