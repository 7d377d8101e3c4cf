import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { JsonValue } from "@bufbuild/protobuf";
import { CARDS, infoOf } from "happycity";
import { Card, type GetCatalogueResponse } from "happycity/v1";
import { chooseGreedily } from "../examples/greedy-rule.js";
import { PendingDecision } from "../src/decision.js";
import { CONFORMANCE, linesOf, messageOf } from "./contract.js";

test("greedy plays what the reference bot plays", () => {
  const lines = linesOf<{ decision: JsonValue; move: number }>("greedy.jsonl");
  for (const [index, { decision, move }] of lines.entries()) {
    const pending = new PendingDecision(messageOf("Decision", decision));
    assert.equal(chooseGreedily(pending), move, `line ${index + 1}`);
  }
  assert(lines.length > 100);
});

test("the catalogue is the one of all SDKs", () => {
  const all = JSON.parse(readFileSync(new URL("catalogue.json", CONFORMANCE), "utf8")) as JsonValue;
  assert.deepEqual(CARDS, messageOf<GetCatalogueResponse>("GetCatalogueResponse", all).cards);
});

test("cards are found by their number, and one that is not known is worth nothing", () => {
  assert(CARDS.every(({ card }) => infoOf(card).card === card));
  assert.equal(infoOf(Card.STADIUM).name, "Stadium");
  const { card, income, condition } = infoOf(999 as Card);
  assert.deepEqual([card, income, condition], [999, 0, []]);
});
