import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, Card } from "happycity";
import { choose } from "./bot.js";

test("it builds the most expensive card", async () => {
  const move = await ask(() => choose, "first.decision");
  assert.equal(move.card, Card.SPA);
});
