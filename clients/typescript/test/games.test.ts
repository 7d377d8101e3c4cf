import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Choice, Choose, GameOver, Thought } from "happycity";
import { NoticeKind, VoidReason } from "happycity/v1";
import { Arena, decision, over, play, Queue, start, voided } from "./arena.js";

for (const [what, choose] of [
  ["a bot that answers at once", ({ gameId }) => Number(gameId) % 3],
  [
    "a bot that promises its answers",
    async ({ gameId }) => {
      for (let turn = 0n; turn < gameId; turn++) await Promise.resolve();
      return Number(gameId) % 3;
    },
  ],
] as [string, Choose][]) {
  test(`${what} has those of a batch sent together`, async (t) => {
    const arena = await Arena.listen(t);
    play(t, arena, () => choose);
    const [stream] = await arena.welcome();
    t.mock.method(performance, "now", () => 0); // however busy this machine is, the bot isn't for long
    const games = Array.from({ length: 100 }, (_, index) => BigInt(index + 1));
    stream.send({ gamesStarted: games.map(start), decisions: games.map((game) => decision(game)) });
    const { answers } = await stream.receive();
    assert.deepEqual(
      answers,
      games.map((gameId) => ({ gameId, decisionId: 1, move: Number(gameId % 3n), metrics: {} })),
    );
  });
}

test("a choice may be a move of the decision", async (t) => {
  const arena = await Arena.listen(t);
  play(
    t,
    arena,
    () =>
      ({ moves }) =>
        moves[2] ?? 0,
  );
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  assert.deepEqual(await stream.answers(1), [[1n, 1, 2]]);
});

test("ids and seeds of 64 bits are exact", async (t) => {
  const arena = await Arena.listen(t);
  const seeds: bigint[] = [];
  play(t, arena, ({ seed }) => {
    seeds.push(seed);
    return () => 0;
  });
  const [stream] = await arena.welcome();
  const largest = 2n ** 64n - 1n;
  stream.send({ gamesStarted: [start(largest)], decisions: [decision(largest)] });
  assert.deepEqual(await stream.answers(1), [[largest, 1, 0]]);
  assert.deepEqual(seeds, [largest]);
});

test("every game has a bot of its own", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, () => {
    let asked = 0;
    return () => asked++;
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n), decision(2n)] });
  await stream.answers(2);
  stream.send({ decisions: [decision(1n, 2)] });
  assert.deepEqual(await stream.answers(1), [[1n, 2, 1]]);
});

test("a bot hears how its game ended, or why it was broken off", async (t) => {
  const arena = await Arena.listen(t);
  const heard = new Queue<GameOver | VoidReason>();
  play(t, arena, () => ({
    choose: () => 0,
    gameOver: (over) => heard.push(over),
    gameVoided: (reason) => heard.push(reason),
  }));
  const [stream] = await arena.welcome();
  stream.send({
    gamesStarted: [start(1n), start(2n)],
    gamesOver: [over(1n), voided(2n, VoidReason.SHUTDOWN)],
  });
  const ended = (await heard.next("the end of game 1")) as GameOver;
  assert.deepEqual([ended.gameId, ended.places, ended.outcome.points], [1n, [1, 2], [9, 4]]);
  assert.equal(await heard.next("the end of game 2"), VoidReason.SHUTDOWN);
});

test("a bot that fails at the end of a game plays on in the others", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, ({ gameId }) => ({
    choose: () => 0,
    gameOver: () => {
      if (gameId === 1n) throw new Error("not prepared");
      return Promise.reject(new Error("not prepared either"));
    },
  }));
  const [stream] = await arena.welcome();
  const games = [1n, 2n, 3n].map(start);
  stream.send({ gamesStarted: games, gamesOver: [over(1n), over(2n)] });
  stream.send({ decisions: [decision(3n)] });
  assert.deepEqual(await stream.answers(1), [[3n, 1, 0]]);
  assert(playing.log.includes("tester: game 1: gameOver failed"));
  assert(playing.log.includes("tester: game 2: gameOver failed"));
});

test("a game that is over is not answered any more", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, () => () => 0);
  const [stream] = await arena.welcome();
  stream.send({
    gamesStarted: [start(1n), start(2n)],
    decisions: [decision(1n), decision(2n)],
    gamesOver: [over(1n)],
  });
  stream.send({ decisions: [decision(2n, 2)] });
  assert.deepEqual(await stream.answers(2), [
    [2n, 1, 0],
    [2n, 2, 0],
  ]);
});

for (const [what, bad] of [
  ["throws", () => fail("broken")],
  ["rejects", () => Promise.reject(new Error("broken"))],
  ["chooses a position that doesn't exist", () => 3],
  ["chooses half a position", () => 0.5],
  ["chooses a move that is not one of these", () => ({ kind: { $case: "coin", value: {} } })],
  ["chooses nothing", (() => undefined) as unknown as Choose],
  ["promises an illegal move", async () => -1],
] as [string, Choose][]) {
  test(`a bot that ${what} resigns that game, and plays the others on`, async (t) => {
    const arena = await Arena.listen(t);
    const playing = play(t, arena, ({ gameId }) => (gameId === 1n ? bad : () => 0));
    const [stream] = await arena.welcome();
    stream.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n)] });
    const { resigns, answers } = await stream.receive();
    assert.deepEqual(
      resigns.map(({ gameId }) => gameId),
      [1n],
    );
    assert.match(resigns[0]?.reason ?? "", /^Error: broken$|^RangeError: the bot chose/);
    assert.deepEqual(answers, []);
    assert(playing.log.includes("tester: game 1 is resigned: the bot failed"));
    stream.send({ decisions: [decision(1n, 2), decision(2n)] });
    assert.deepEqual(await stream.answers(1), [[2n, 1, 0]]);
  });
}

test("a factory that fails, or makes no bot, resigns the game", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, ({ gameId }) => (gameId === 1n ? fail("no room") : (0 as unknown as Choose)));
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n), start(2n)] });
  const { resigns } = await stream.receive();
  assert.deepEqual(resigns, [
    { gameId: 1n, reason: "Error: no room" },
    {
      gameId: 2n,
      reason: "TypeError: the factory returned 0: neither a function nor an object with choose",
    },
  ]);
});

test("a bot that thinks about one game answers the others meanwhile", async (t) => {
  const arena = await Arena.listen(t);
  const thoughts = new Queue<(choice: Choice) => void>();
  play(t, arena, ({ gameId }) =>
    gameId === 1n ? () => new Promise<Choice>((resolve) => thoughts.push(resolve)) : () => 0,
  );
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n), decision(2n)] });
  assert.deepEqual(await stream.answers(1), [[2n, 1, 0]]);
  (await thoughts.next("the thought"))(2);
  assert.deepEqual(await stream.answers(1), [[1n, 1, 2]]);
});

test("a thought is aborted, and not heard, when the clock has settled its decision", async (t) => {
  const arena = await Arena.listen(t);
  const thoughts = new Queue<[Thought, (choice: Choice) => void]>();
  play(t, arena, () => (_, thought) => new Promise((resolve) => thoughts.push([thought, resolve])));
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const [thought, answerFirst] = await thoughts.next("the first thought");
  assert.equal(thought.signal.aborted, false);
  stream.send({ decisions: [decision(1n, 2)] });
  const [, answerSecond] = await thoughts.next("the second thought");
  assert.equal(thought.signal.aborted, true);
  answerFirst(1);
  await setImmediate();
  answerSecond(2);
  assert.deepEqual(await stream.answers(1), [[1n, 2, 2]]);
});

test("a thought that fails when its decision is settled resigns nothing", async (t) => {
  const arena = await Arena.listen(t);
  const thoughts = new Queue<(error: Error) => void>();
  play(t, arena, () => ({ decisionId }) => {
    return decisionId > 1 ? 2 : new Promise((_, reject) => thoughts.push(reject));
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const fail = await thoughts.next("the thought");
  stream.send({ decisions: [decision(1n, 2)] });
  await stream.answers(1);
  fail(new Error("aborted"));
  await setImmediate();
  stream.send({ decisions: [decision(1n, 3)] });
  assert.deepEqual(await stream.answers(1), [[1n, 3, 2]]);
});

test("a thought is aborted when its game is over, even if its signal is asked for later", async (t) => {
  const arena = await Arena.listen(t);
  const thoughts = new Queue<Thought>();
  play(t, arena, () => (_, thought) => {
    thoughts.push(thought);
    return new Promise(() => {});
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n)], gamesOver: [over(1n)] });
  stream.send({ decisions: [decision(2n)] });
  const thought = await thoughts.next("the first thought");
  await thoughts.next("the second thought");
  assert.equal(thought.signal.aborted, true);
});

test("notices are logged", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, () => () => 0);
  const [stream] = await arena.welcome();
  stream.send({
    gamesStarted: [start(7n)],
    notices: [
      { kind: NoticeKind.TIMEOUT, gameId: 7n, decisionId: 1, text: "too late" },
      { kind: 99 as NoticeKind, gameId: 0n, decisionId: 0, text: "something new" },
    ],
  });
  stream.send({ decisions: [decision(7n)] });
  await stream.answers(1);
  assert(playing.log.includes("tester: game 7: too late"));
  assert(playing.log.includes("tester: something new"));
});

function fail(text: string): never {
  throw new Error(text);
}
