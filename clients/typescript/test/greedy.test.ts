import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "@bufbuild/protobuf";
import { CARDS, Card, Decision, infoOf } from "happycity";
import { chooseGreedily } from "../examples/greedy-rule.js";
import { CATALOGUE_DIGEST } from "../src/catalogue.js";
import type { Catalogue } from "../src/gen/received/happycity/v1/catalogue_service.js";
import { jsonOf, linesOf, messageOf } from "./contract.js";

test("greedy plays what the reference bot plays", () => {
  const lines = linesOf<{ decision: JsonValue; move: number }>("greedy.jsonl");
  for (const [index, { decision, move }] of lines.entries()) {
    assert.equal(chooseGreedily(new Decision(messageOf("Decision", decision))), move, `line ${index + 1}`);
  }
  assert(lines.length > 100);
});

test("the catalogue is the one of all SDKs", () => {
  const { cards, digest } = messageOf<Catalogue>("Catalogue", jsonOf("catalogue.json"));
  assert.deepEqual([CARDS, CATALOGUE_DIGEST], [cards, digest]);
});

test("cards are found by their number, and one that is not known is worth nothing", () => {
  assert(CARDS.every(({ card }) => infoOf(card).card === card));
  assert.equal(infoOf(Card.STADIUM).name, "Stadium");
  const { card, income, condition } = infoOf(999 as Card);
  assert.deepEqual([card, income, condition], [999, 0, []]);
});
