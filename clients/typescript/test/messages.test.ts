import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "@bufbuild/protobuf";
import * as received from "../src/gen/received/happycity/v1/play_service.js";
import * as sent from "../src/gen/sent/happycity/v1/play_service.js";
import { linesOf, messageOf } from "./contract.js";

const { Decision, GameOver, GameStarted, Notice, PlayResponse, Welcome } = received;
const decoders = { Decision, GameOver, GameStarted, Notice, PlayResponse, Welcome };
const { Answer, Hello, PlayRequest, Resign } = sent;
const encoders: Record<string, { encode(message: unknown): { finish(): Uint8Array } }> = {
  Answer,
  Hello,
  PlayRequest,
  Resign,
};

interface Line {
  name: string;
  type: string;
  bytes: string;
  fields: JsonValue;
}

const lines = linesOf<Line>("messages.jsonl");

test("there are messages of every kind", () => {
  const types = [...Object.keys(decoders), ...Object.keys(encoders)];
  assert.deepEqual(new Set(lines.map(({ type }) => type)), new Set(types));
});

for (const { name, type, bytes, fields } of lines) {
  const message = messageOf<unknown>(type, fields);
  const encoder = encoders[type];
  if (encoder) {
    test(`the fields of '${name}' are encoded as its bytes`, () => {
      assert.equal(Buffer.from(encoder.encode(message).finish()).toString("base64"), bytes);
    });
  } else {
    test(`the bytes of '${name}' are decoded to its fields`, () => {
      const decoder = decoders[type as keyof typeof decoders];
      assert.deepEqual(decoder.decode(Buffer.from(bytes, "base64")), message);
    });
  }
}
