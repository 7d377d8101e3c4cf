import assert from "node:assert/strict";
import { test } from "node:test";
import { Decision } from "happycity";
import { messageOf } from "./contract.js";

function decision(fields: object = {}): Decision {
  const view = { seat: 1, config: { players: 2 } };
  const clock = { timeLeftUs: "1500", roundTripUs: "7" };
  return new Decision(messageOf("Decision", { matchId: "9007199254740993", view, moves: [{}, {}], clock, ...fields }));
}

test("a decision has the ids, the seat and the time in milliseconds", () => {
  const { matchId, seat, timeLeftMs, clock } = decision();
  assert.deepEqual([matchId, seat, timeLeftMs, clock?.roundTripUs], [9007199254740993n, 1, 1.5, 7n]);
  assert.equal(decision({ clock: {} }).timeLeftMs, undefined);
});

test("later notes replace earlier ones of the same name, and are numbers", () => {
  const asked = decision();
  const { note } = asked;
  note({ depth: 1, nodes: 5 });
  note({ depth: "2" as unknown as number });
  assert.deepEqual(asked.notes, { depth: 2, nodes: 5 });
});

test("the signal is aborted when an answer no longer counts, also when it is read late", () => {
  const [early, late] = [decision(), decision()];
  const { signal } = early;
  assert.equal(signal.aborted, false);
  early.cancel();
  late.cancel();
  assert.deepEqual([signal.aborted, late.signal.aborted], [true, true]);
});
