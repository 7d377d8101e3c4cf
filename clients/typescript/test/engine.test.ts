import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ask, infoOf, Position, readDecision, Worlds } from "happycity";
import { searcher } from "../examples/searcher-rule.js";

const FIRST = new URL("../../../conformance/first.decision", import.meta.url);

/** What the native engine returns for a position, and how it goes on; engine.jsonl has a line for each. */
interface Case {
  position: string;
  legal_moves: number[];
  outcome: number[][] | null;
  score: number[][];
  quick_move: number | null;
  playouts: number[] | null;
  random_playout: number[][] | null;
  next_turn: string | null;
  awaited: number[];
  opened: string;
  next: string | null;
  view: string | null;
  discarded: number[] | null;
  fast: number | null;
  sample: string | null;
  sample_known: string | null;
}

const hex = (position: Position) => Buffer.from(position.bytes).toString("hex");
const rows = (outcome: ReturnType<Position["score"]>) => Object.values(outcome);

/** Return what a call does; null if it is refused. */
function unlessRefused<T>(call: () => T): T | null {
  try {
    return call();
  } catch (error) {
    assert(error instanceof RangeError);
    return null;
  }
}

test("every position is played on as by the native engine", () => {
  const lines = readFileSync(process.env.HAPPYCITY_ENGINE_CASES ?? new URL("engine.jsonl", FIRST), "utf8");
  let cases = 0;
  for (const line of lines.trimEnd().split("\n")) {
    const expected: Case = JSON.parse(line);
    const position = Position.fromBytes(Buffer.from(expected.position, "hex"));
    const { legalMoves, awaited, outcome } = position;
    const [first = 0] = legalMoves;
    const next = position.copy();
    const played = unlessRefused(() => (awaited[0] === undefined ? next.apply(first) : next.reveal(awaited[0])));
    const view = expected.view === null ? null : Buffer.from(expected.view, "hex");
    const [unknown, known] = [undefined, expected.discarded ?? undefined].map(
      (cards) => view && new Worlds(view, cards),
    );
    const actual: Case = {
      position: hex(position),
      legal_moves: legalMoves,
      outcome: outcome === undefined ? null : rows(outcome),
      score: rows(position.score()),
      quick_move: unlessRefused(() => position.quickMove(5)),
      playouts: unlessRefused(() => position.playouts(legalMoves, 5)),
      random_playout: unlessRefused(() => rows(position.randomPlayout(7n))),
      next_turn: unlessRefused(() => hex(position.nextTurn(first))),
      awaited,
      opened: hex(position.opened()),
      next: played === null ? null : hex(next),
      view: expected.view,
      discarded: expected.discarded,
      fast: unknown?.fast ?? null,
      sample: unknown ? hex(unknown.sample(7n)) : null,
      sample_known: known ? hex(known.sample(7n)) : null,
    };
    assert.deepEqual(actual, expected);
    cases++;
  }
  assert(cases >= 100);
});

test("worlds of a decision have its moves and look like its view", () => {
  const { decision } = readDecision(FIRST);
  const [one, same, other] = [1n, 1n, 2n].map((seed) => decision.position(seed)) as [Position, Position, Position];
  assert.equal(one.legalMoves.length, decision.moves.length);
  assert.deepEqual([one.round, one.seat, one.phase], [decision.view.round, decision.seat, decision.view.phase]);
  assert.deepEqual(one.bytes, same.bytes);
  assert.notDeepEqual(one.bytes, other.bytes);
  assert.deepEqual([one.playout(one.legalMoves[1] as number)], one.playouts(one.legalMoves.slice(1, 2)));
});

test("what is refused says why, and changes nothing", () => {
  const position = Position.deal({ players: 4, expert: true, sum: true, seed: 2n ** 64n - 1n });
  const before = hex(position);
  for (const move of [0, 1.5, -1, 256 + (position.legalMoves[0] as number), 2 ** 32, Number.NaN]) {
    assert.throws(() => position.apply(move), RangeError);
    assert.throws(() => position.playout(move), RangeError);
  }
  assert.throws(() => position.reveal(1), /the card is not awaited/);
  assert.throws(() => Position.fromBytes(new Uint8Array(9)), /not the bytes of a position/);
  assert.throws(() => Position.fromBytes(new Uint8Array(9999)), /not the bytes of a position/);
  assert.throws(() => Position.deal({ players: 6, seed: 1n }), RangeError);
  assert.throws(() => new Worlds(new Uint8Array(5000)), RangeError);
  assert.equal(hex(position), before);
});

test("the searcher chooses a move, the same one for the same seed", async () => {
  const [one, other] = [await ask(searcher, FIRST), await ask(searcher, FIRST)];
  assert.deepEqual([one, infoOf(one.card).card], [other, one.card]);
});
