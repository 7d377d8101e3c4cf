import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CARDS, infoOf } from "happycity";
import { Card, Decision } from "happycity/v1";
import { chooseGreedily } from "../examples/greedy-rule.js";

const testdata = new URL("../../../testdata/", import.meta.url);

test("greedy plays what the reference bot plays", () => {
  const lines = readFileSync(new URL("greedy.jsonl", testdata), "utf8").trimEnd().split("\n");
  for (const [index, line] of lines.entries()) {
    const { decision, move } = JSON.parse(line) as { decision: unknown; move: number };
    const whole = Decision.fromJSON(decision) as Parameters<typeof chooseGreedily>[0];
    assert.equal(chooseGreedily(whole), move, `line ${index + 1}`);
  }
  assert(lines.length > 100);
});

test("the catalogue is the one of all SDKs", () => {
  const read = (url: URL) => readFileSync(url, "utf8");
  const own = new URL("../../catalogue.json", import.meta.url);
  assert.equal(read(own), read(new URL("catalogue.json", testdata)), "npm run cards");
});

test("cards are found by their number, and one that is not known is worth nothing", () => {
  assert(CARDS.every(({ card }) => infoOf(card).card === card));
  assert.equal(infoOf(Card.STADIUM).name, "Stadium");
  const { card, income, condition } = infoOf(999 as Card);
  assert.deepEqual([card, income, condition], [999, 0, []]);
});
