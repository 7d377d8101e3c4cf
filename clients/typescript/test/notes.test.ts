import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Choose, Notes, Thought } from "happycity";
import { Arena, type BotStream, decision, play, Queue, start } from "./arena.js";

/** Return what the next answers tell, in whatever messages they come. */
async function told(stream: BotStream, count = 1): Promise<Notes[]> {
  const metrics: Notes[] = [];
  while (metrics.length < count) {
    metrics.push(...(await stream.receive()).answers.map((answer) => answer.metrics));
  }
  return metrics;
}

for (const [what, choose] of [
  [
    "a bot that answers at once",
    ({ decisionId }, thought) => {
      if (decisionId === 1) {
        thought.note({ depth: 1, nodes: 12 });
        thought.note({ depth: 2 });
      }
      return 0;
    },
  ],
  [
    "a bot that promises its answers",
    async ({ decisionId }, { note }) => {
      if (decisionId === 1) {
        note({ depth: 1, nodes: 12 });
        await Promise.resolve();
        note({ depth: 2 });
      }
      return 0;
    },
  ],
] as [string, Choose][]) {
  test(`what ${what} notes goes with that answer alone, and the last number of a name counts`, async (t) => {
    const arena = await Arena.listen(t);
    play(t, arena, () => choose);
    const [stream] = await arena.welcome();
    stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
    assert.deepEqual(await told(stream), [{ depth: 2, nodes: 12 }]);
    stream.send({ decisions: [decision(1n, 2)] });
    assert.deepEqual(await told(stream), [{}]);
  });
}

test("an answer that is sent again tells the same, whatever has been noted since", async (t) => {
  const arena = await Arena.listen(t);
  const thoughts = new Queue<Thought>();
  let asked = 0;
  play(t, arena, () => (_, thought) => {
    asked++;
    thought.note({ depth: 3 });
    thoughts.push(thought);
    return 0;
  });
  const [first] = await arena.welcome();
  first.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  assert.deepEqual(await told(first), [{ depth: 3 }]);
  (await thoughts.next("the thought")).note({ depth: 4 });
  arena.cut();
  const [second] = await arena.welcome({ resumed: true });
  second.send({ decisions: [decision(1n)] });
  assert.deepEqual(await told(second), [{ depth: 3 }]);
  assert.equal(asked, 1);
});

test("what is noted about a decision that the clock has settled is not told of the next one", async (t) => {
  const arena = await Arena.listen(t);
  const thoughts = new Queue<[Thought, () => void]>();
  play(t, arena, () => (_, thought) => new Promise((resolve) => thoughts.push([thought, () => resolve(0)])));
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const [late, answerLate] = await thoughts.next("the first thought");
  stream.send({ decisions: [decision(1n, 2)] });
  const [thought, answer] = await thoughts.next("the second thought");
  late.note({ depth: 9 });
  answerLate();
  await setImmediate();
  thought.note({ nodes: 5 });
  answer();
  assert.deepEqual(await told(stream), [{ nodes: 5 }]);
});

test("nonsense may be noted: it is for the server to drop it, and the game goes on", async (t) => {
  const arena = await Arena.listen(t);
  const nonsense = { "": 1, "\ud800": 2, large: 2n ** 40n, text: "three", lost: undefined, nothing: null };
  play(t, arena, () => (_, { note }) => {
    note(nonsense as unknown as Notes);
    return 0;
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const expected = { "": 1, "\ufffd": 2, large: 2 ** 40, text: Number.NaN, lost: Number.NaN, nothing: 0 };
  assert.deepEqual(await told(stream), [expected]);
  stream.send({ decisions: [decision(1n, 2)] });
  assert.deepEqual(await told(stream), [expected]);
});
