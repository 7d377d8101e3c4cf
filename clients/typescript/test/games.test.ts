import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Choice, Choose, Decision, GameOver } from "happycity";
import { MoveKind, NoticeKind, VoidReason } from "happycity/v1";
import { Arena, decision, over, play, Queue, start, voided } from "./arena.js";

for (const [what, choose] of [
  ["a bot that answers at once", ({ matchId }) => Number(matchId) % 3],
  [
    "a bot that promises its answers",
    async ({ matchId }) => {
      for (let turn = 0n; turn < matchId; turn++) await Promise.resolve();
      return Number(matchId) % 3;
    },
  ],
] as [string, Choose][]) {
  test(`${what} has the answers of a batch sent together`, async (t) => {
    const arena = await Arena.listen(t);
    play(t, arena, () => choose);
    const [stream] = await arena.welcome();
    t.mock.method(performance, "now", () => 0); // on a busy machine too, the bot answers in no time
    const games = Array.from({ length: 100 }, (_, index) => BigInt(index + 1));
    stream.send({
      gamesStarted: games.map((match) => start(match)),
      decisions: games.map((game) => decision(game)),
    });
    const { answers } = await stream.receive();
    assert.deepEqual(
      answers,
      games.map((matchId) => ({ matchId, decisionId: 1, move: Number(matchId % 3n), metrics: {} })),
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
  const match = 2n ** 63n - 1n;
  const seed = 2n ** 64n - 1n;
  stream.send({ gamesStarted: [{ ...start(match), seed }], decisions: [decision(match)] });
  assert.deepEqual(await stream.answers(1), [[match, 1, 0]]);
  assert.deepEqual(seeds, [seed]);
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

test("a bot that fills several seats of a match has an instance for each, and one end for all", async (t) => {
  const arena = await Arena.listen(t);
  const overs = new Queue<[seat: number, over: GameOver]>();
  play(t, arena, ({ seat: own }) => ({
    choose: ({ seat }) =>
      seat === own && seat < 2 ? seat : fail("a decision of another seat, or of seat 2"),
    gameOver: (over) => overs.push([own, over]),
  }));
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [0, 1, 2].map((seat) => start(1n, seat)) });
  stream.send({ decisions: [decision(1n, 1, 0)] });
  assert.deepEqual(await stream.answers(1), [[1n, 1, 0]]);
  stream.send({ decisions: [decision(1n, 2, 1)] });
  assert.deepEqual(await stream.answers(1), [[1n, 2, 1]]);
  stream.send({ decisions: [decision(1n, 3, 2)] });
  const { resigns } = await stream.receive();
  assert.deepEqual(
    resigns.map(({ matchId, seat }) => [matchId, seat]),
    [[1n, 2]],
  );
  stream.send({ gamesOver: [over(1n)] });
  for (const seat of [0, 1]) {
    const [own, { matchId, seats }] = await overs.next("the end of the game");
    assert.deepEqual([own, matchId, seats[own]?.place], [seat, 1n, seat + 1]);
  }
  arena.cut();
  assert.deepEqual((await arena.welcome({ resumed: true }))[1].matchIds, []);
});

test("a decision has the times of its clock, and what is absent is absent", async (t) => {
  const arena = await Arena.listen(t);
  const decisions = new Queue<Decision>();
  play(t, arena, () => (decision) => {
    decisions.push(decision);
    return 0;
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const { timeLeftMs, bankLeftMs, lastThinkMs, roundTripMs } = await decisions.next("the decision");
  assert.deepEqual([timeLeftMs, bankLeftMs, lastThinkMs, roundTripMs], [10_000, 0, 1.5, undefined]);
  stream.send({ decisions: [{ ...decision(1n, 2), clock: undefined }] });
  assert.equal((await decisions.next("the decision")).timeLeftMs, undefined);
});

test("a bot is called when its game is over, or voided", async (t) => {
  const arena = await Arena.listen(t);
  const calls = new Queue<GameOver | [bigint, VoidReason]>();
  play(t, arena, () => ({
    choose: () => 0,
    gameOver: (over) => calls.push(over),
    gameVoided: (matchId, reason) => calls.push([matchId, reason]),
  }));
  const [stream] = await arena.welcome();
  stream.send({
    gamesStarted: [start(1n), start(2n)],
    gamesOver: [over(1n), voided(2n, VoidReason.SHUTDOWN)],
  });
  const ended = (await calls.next("the end of match 1")) as GameOver;
  assert.deepEqual([ended.matchId, ended.seats.map(({ points }) => points)], [1n, [9, 4]]);
  assert.deepEqual(await calls.next("the end of match 2"), [2n, VoidReason.SHUTDOWN]);
});

test("a bot that fails at the end of a game plays on in the others", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, ({ matchId }) => ({
    choose: () => 0,
    gameOver: () => {
      if (matchId === 1n) throw new Error("not prepared");
      return Promise.reject(new Error("not prepared either"));
    },
  }));
  const [stream] = await arena.welcome();
  const games = [1n, 2n, 3n].map((match) => start(match));
  stream.send({ gamesStarted: games, gamesOver: [over(1n), over(2n)] });
  stream.send({ decisions: [decision(3n)] });
  assert.deepEqual(await stream.answers(1), [[3n, 1, 0]]);
  assert(playing.log.includes("tester: match 1: gameOver failed"));
  assert(playing.log.includes("tester: match 2: gameOver failed"));
});

test("a game that is over is no longer answered", async (t) => {
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
  ["chooses a move that is not one of these", () => ({ kind: MoveKind.DRAW, card: 0, deck: 1, coins: 0 })],
  ["chooses nothing", (() => undefined) as unknown as Choose],
  ["promises an illegal move", async () => -1],
] as [string, Choose][]) {
  test(`a bot that ${what} gives up that game, and plays on in the others`, async (t) => {
    const arena = await Arena.listen(t);
    const playing = play(t, arena, ({ matchId }) => (matchId === 1n ? bad : () => 0));
    const [stream] = await arena.welcome();
    stream.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n)] });
    const { resigns, answers } = await stream.receive();
    assert.deepEqual(
      resigns.map(({ matchId, seat, crashed }) => [matchId, seat, crashed]),
      [[1n, 0, true]],
    );
    assert.match(
      resigns[0]?.reason ?? "",
      /^Error: broken \(games\.test\.js:\d+\)$|^RangeError: the bot chose [^()]+$/,
    );
    assert.deepEqual(answers, []);
    assert(playing.log.includes("tester: match 1, decision 1: the bot crashed, the game is given up"));
    stream.send({ decisions: [decision(1n, 2), decision(2n)] });
    assert.deepEqual(await stream.answers(1), [[2n, 1, 0]]);
  });
}

test("a factory that fails, or makes no bot, gives up the game", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, ({ matchId }) => (matchId === 1n ? fail("no room") : (0 as unknown as Choose)));
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n), start(2n)] });
  const { resigns } = await stream.receive();
  assert.deepEqual(
    resigns.map(({ matchId, crashed }) => [matchId, crashed]),
    [
      [1n, true],
      [2n, true],
    ],
  );
  assert.match(resigns[0]?.reason ?? "", /^Error: no room \(games\.test\.js:\d+\)$/);
  assert.match(
    resigns[1]?.reason ?? "",
    /^TypeError: the factory returned 0: neither a function nor an object/,
  );
});

test("a bot that thinks about one game answers the others meanwhile", async (t) => {
  const arena = await Arena.listen(t);
  const asked = new Queue<(choice: Choice) => void>();
  play(t, arena, ({ matchId }) =>
    matchId === 1n ? () => new Promise<Choice>((resolve) => asked.push(resolve)) : () => 0,
  );
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n), decision(2n)] });
  assert.deepEqual(await stream.answers(1), [[2n, 1, 0]]);
  (await asked.next("the decision"))(2);
  assert.deepEqual(await stream.answers(1), [[1n, 1, 2]]);
});

test("a decision that the clock has settled is aborted, and its answer ignored", async (t) => {
  const arena = await Arena.listen(t);
  const asked = new Queue<[Decision, (choice: Choice) => void]>();
  play(t, arena, () => (decision) => new Promise((resolve) => asked.push([decision, resolve])));
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const [first, answerFirst] = await asked.next("the first decision");
  assert.equal(first.signal.aborted, false);
  stream.send({ decisions: [decision(1n, 2)] });
  const [, answerSecond] = await asked.next("the second decision");
  assert.equal(first.signal.aborted, true);
  answerFirst(1);
  await setImmediate();
  answerSecond(2);
  assert.deepEqual(await stream.answers(1), [[1n, 2, 2]]);
});

test("a bot that fails when its decision is settled gives up nothing", async (t) => {
  const arena = await Arena.listen(t);
  const asked = new Queue<(error: Error) => void>();
  play(t, arena, () => ({ decisionId }) => {
    return decisionId > 1 ? 2 : new Promise((_, reject) => asked.push(reject));
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const fail = await asked.next("the decision");
  stream.send({ decisions: [decision(1n, 2)] });
  await stream.answers(1);
  fail(new Error("aborted"));
  await setImmediate();
  stream.send({ decisions: [decision(1n, 3)] });
  assert.deepEqual(await stream.answers(1), [[1n, 3, 2]]);
});

test("a decision is aborted when its game is over, even if its signal is read later", async (t) => {
  const arena = await Arena.listen(t);
  const asked = new Queue<Decision>();
  play(t, arena, () => (decision) => {
    asked.push(decision);
    return new Promise(() => {});
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n)], gamesOver: [over(1n)] });
  stream.send({ decisions: [decision(2n)] });
  const first = await asked.next("the first decision");
  await asked.next("the second decision");
  assert.equal(first.signal.aborted, true);
});

test("notices are logged, without control characters", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, () => () => 0);
  const [stream] = await arena.welcome();
  stream.send({
    gamesStarted: [start(7n)],
    notices: [
      { kind: NoticeKind.TIMEOUT, matchId: 7n, round: 2, decisionId: 9, text: "too\u001b[2J\nlate" },
      { kind: 99 as NoticeKind, matchId: 0n, round: 0, decisionId: 0, text: "something new" },
    ],
  });
  stream.send({ decisions: [decision(7n)] });
  await stream.answers(1);
  assert(playing.log.includes("tester: match 7, round 2, decision 9: too [2J late"));
  assert(playing.log.includes("tester: something new"));
});

function fail(text: string): never {
  throw new Error(text);
}
