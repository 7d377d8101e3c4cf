import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ask, infoOf, Position, readDecision, Worlds } from "happycity";
import { searcher } from "../examples/searcher-rule.js";

const FIRST = new URL("../../../conformance/first.decision", import.meta.url);

/** What the native engine does at a position, as tools/engine/engine_cases.py describes it. */
interface Case {
  position: string;
  seed: string;
  fast: number;
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
  fast_builders: number | null;
  sample: string | null;
  deal: [number, number, number] | null;
  deal_seed: string | null;
  moves: number[] | null;
}

const base64 = (position: Position) => Buffer.from(position.bytes).toString("base64");
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

/** Return the position that the moves of a case lead to from its deal. */
function dealt({ deal, deal_seed, moves }: Case): Position {
  const [players, expert, sum] = deal as NonNullable<typeof deal>;
  const seed = BigInt(deal_seed as string);
  const position = Position.deal({ players, expert: expert === 1, sum: sum === 1, seed });
  for (const move of moves as number[]) position.apply(move);
  return position;
}

test("every position is reached and played on as by the native engine", () => {
  const lines = readFileSync(process.env.HAPPYCITY_ENGINE_CASES ?? new URL("engine.jsonl", FIRST), "utf8");
  let cases = 0;
  for (const line of lines.trimEnd().split("\n")) {
    const expected: Case = JSON.parse(line);
    const [fast, seed] = [expected.fast, BigInt(expected.seed)];
    const position = Position.fromBytes(Buffer.from(expected.position, "base64"));
    const { legalMoves, awaited, outcome } = position;
    const [first = 0] = legalMoves;
    const next = position.copy();
    const played = unlessRefused(() => (awaited[0] === undefined ? next.apply(first) : next.reveal(awaited[0])));
    const view = expected.view === null ? null : Buffer.from(expected.view, "base64");
    const worlds = view && new Worlds(view);
    const actual: Case = {
      position: base64(position),
      seed: expected.seed,
      fast,
      legal_moves: legalMoves,
      outcome: outcome === undefined ? null : rows(outcome),
      score: rows(position.score()),
      quick_move: unlessRefused(() => position.quickMove(fast)),
      playouts: unlessRefused(() => position.playouts(legalMoves, fast)),
      random_playout: unlessRefused(() => rows(position.randomPlayout(seed))),
      next_turn: unlessRefused(() => base64(position.nextTurn(first))),
      awaited,
      opened: base64(position.opened()),
      next: played === null ? null : base64(next),
      view: expected.view,
      fast_builders: worlds?.fast ?? null,
      sample: worlds && base64(worlds.sample(seed)),
      deal: expected.deal,
      deal_seed: expected.deal_seed,
      moves: expected.moves,
    };
    assert.deepEqual(actual, expected);
    if (expected.deal !== null) assert.equal(base64(dealt(expected)), expected.position);
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
  const before = base64(position);
  for (const move of [0, 1.5, -1, 256 + (position.legalMoves[0] as number), 2 ** 32, Number.NaN]) {
    assert.throws(() => position.apply(move), RangeError);
    assert.throws(() => position.playout(move), RangeError);
  }
  assert.throws(() => position.reveal(1), /the card is not awaited/);
  assert.throws(() => Position.fromBytes(new Uint8Array(9)), /not the bytes of a position/);
  assert.throws(() => Position.fromBytes(new Uint8Array(9999)), /not the bytes of a position/);
  assert.throws(() => Position.deal({ players: 6, seed: 1n }), RangeError);
  assert.throws(() => new Worlds(new Uint8Array(5000)), RangeError);
  assert.equal(base64(position), before);
});

test("the searcher chooses a move, the same one for the same seed", async () => {
  const [one, other] = [await ask(searcher, FIRST), await ask(searcher, FIRST)];
  assert.deepEqual([one, infoOf(one.card).card], [other, one.card]);
});
