import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, HappyCityError, infoOf, readDecision } from "happycity";

const FIRST = new URL("../../../conformance/first.decision", import.meta.url);

test("the file has the start of the game, the decision, and all that happened before", () => {
  const { start, decision } = readDecision(FIRST);
  assert.deepEqual([start.matchId, start.bots[start.seat], start.seed], [22n, "mine", 2n ** 63n]);
  const { decisionId, seat, moves, events, timeLeftMs } = decision;
  assert.deepEqual([decisionId, seat, moves.length, timeLeftMs], [32, 1, 6, undefined]);
  assert(events.length >= 32);
});

test("a bot is made for the game, and asked there", async () => {
  const { card } = await ask(({ seat }) => ({ choose: async () => seat + 2 }), FIRST);
  assert.equal(infoOf(card).name, "Spa");
});

test("a file of another kind and an illegal choice are errors", async () => {
  await assert.rejects(
    ask(() => () => 6, FIRST),
    /RangeError: the bot chose move 6 of 6/,
  );
  const other = new URL("catalogue.json", FIRST);
  assert.throws(() => readDecision(other), HappyCityError);
  assert.throws(() => readDecision(other), /catalogue.json is not a decision as this writes it: happycity ask/);
});
