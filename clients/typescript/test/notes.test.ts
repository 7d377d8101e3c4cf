import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Choose, Decision, Notes } from "happycity";
import { Arena, type BotStream, decision, play, Queue, start } from "./arena.js";

/** Return the metrics of the next answers, in one message or several. */
async function metricsOf(stream: BotStream, count = 1): Promise<Notes[]> {
  const metrics: Notes[] = [];
  while (metrics.length < count) {
    metrics.push(...(await stream.receive()).answers.map((answer) => answer.metrics));
  }
  return metrics;
}

for (const [what, choose] of [
  [
    "a bot that answers at once",
    (decision) => {
      if (decision.decisionId === 1) {
        decision.note({ depth: 1, nodes: 12 });
        decision.note({ depth: 2 });
      }
      return 0;
    },
  ],
  [
    "a bot that promises its answers",
    async ({ decisionId, note }) => {
      if (decisionId === 1) {
        note({ depth: 1, nodes: 12 });
        await Promise.resolve();
        note({ depth: 2 });
      }
      return 0;
    },
  ],
] as [string, Choose][]) {
  test(`a note of ${what} goes with that answer alone, and the last number of a name counts`, async (t) => {
    const arena = await Arena.listen(t);
    play(t, arena, () => choose);
    const [stream] = await arena.welcome();
    stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
    assert.deepEqual(await metricsOf(stream), [{ depth: 2, nodes: 12 }]);
    stream.send({ decisions: [decision(1n, 2)] });
    assert.deepEqual(await metricsOf(stream), [{}]);
  });
}

test("an answer that is sent again has the same metrics, whatever the bot notes later", async (t) => {
  const arena = await Arena.listen(t);
  const decisions = new Queue<Decision>();
  let asked = 0;
  play(t, arena, () => (decision) => {
    asked++;
    decision.note({ depth: 3 });
    decisions.push(decision);
    return 0;
  });
  const [first] = await arena.welcome();
  first.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  assert.deepEqual(await metricsOf(first), [{ depth: 3 }]);
  (await decisions.next("the decision")).note({ depth: 4 });
  arena.cut();
  const [second] = await arena.welcome({ resumed: true });
  second.send({ decisions: [decision(1n)] });
  assert.deepEqual(await metricsOf(second), [{ depth: 3 }]);
  assert.equal(asked, 1);
});

test("a note about a decision that the clock has settled doesn't go with the next one", async (t) => {
  const arena = await Arena.listen(t);
  const decisions = new Queue<[Decision, () => void]>();
  play(t, arena, () => (decision) => new Promise((resolve) => decisions.push([decision, () => resolve(0)])));
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const [late, answerLate] = await decisions.next("the first decision");
  stream.send({ decisions: [decision(1n, 2)] });
  const [second, answer] = await decisions.next("the second decision");
  late.note({ depth: 9 });
  answerLate();
  await setImmediate();
  second.note({ nodes: 5 });
  answer();
  assert.deepEqual(await metricsOf(stream), [{ nodes: 5 }]);
});

test("a bot may note nonsense: the server drops it, and the game goes on", async (t) => {
  const arena = await Arena.listen(t);
  const nonsense = { "": 1, "\ud800": 2, large: 2n ** 40n, text: "three", lost: undefined, nothing: null };
  play(t, arena, () => ({ note }) => {
    note(nonsense as unknown as Notes);
    return 0;
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const expected = { "": 1, "\ufffd": 2, large: 2 ** 40, text: Number.NaN, lost: Number.NaN, nothing: 0 };
  assert.deepEqual(await metricsOf(stream), [expected]);
  stream.send({ decisions: [decision(1n, 2)] });
  assert.deepEqual(await metricsOf(stream), [expected]);
});
