import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import type { Choice } from "happycity";
import { VoidReason } from "happycity/v1";
import { Arena, decision, over, play, Queue, start, voided } from "./arena.js";

test("a bot that comes back sends its token, and names the matches that it believes to be running", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, () => () => 0);
  const [stream] = await arena.welcome({ token: "resume-7" });
  stream.send({ gamesStarted: [1n, 2n, 2n ** 62n].map((match) => start(match)), gamesOver: [over(2n)] });
  stream.send({ decisions: [decision(1n)] });
  await stream.answers(1);
  arena.cut();
  const [, hello] = await arena.welcome({ resumed: true });
  assert.equal(hello.resumeToken, "resume-7");
  assert.deepEqual(hello.matchIds, [1n, 2n ** 62n]);
});

test("a bot thinks on without a connection: its answer goes to the next one that asks", async (t) => {
  const arena = await Arena.listen(t);
  const pending = new Queue<(choice: Choice) => void>();
  let asked = 0;
  play(t, arena, () => () => {
    asked++;
    return new Promise((resolve) => pending.push(resolve));
  });
  const [first] = await arena.welcome();
  first.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const think = await pending.next("the decision");
  arena.cut();
  const [second] = await arena.welcome({ resumed: true });
  second.send({ decisions: [decision(1n)] });
  think(2);
  assert.deepEqual(await second.answers(1), [[1n, 1, 2]]);
  assert.equal(asked, 1);
});

test("a decision that comes again is answered from memory", async (t) => {
  const arena = await Arena.listen(t);
  let asked = 0;
  play(t, arena, () => () => asked++);
  const [first] = await arena.welcome();
  first.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  assert.deepEqual(await first.answers(1), [[1n, 1, 0]]);
  arena.cut();
  const [second] = await arena.welcome({ resumed: true });
  second.send({ decisions: [decision(1n)] });
  assert.deepEqual(await second.answers(1), [[1n, 1, 0]]);
  second.send({ decisions: [decision(1n, 2)] });
  assert.deepEqual(await second.answers(1), [[1n, 2, 1]]);
});

test("an answer that the server didn't ask for again is not sent", async (t) => {
  const arena = await Arena.listen(t);
  const pending = new Queue<(choice: Choice) => void>();
  play(t, arena, ({ matchId }) =>
    matchId === 1n ? () => new Promise<Choice>((resolve) => pending.push(resolve)) : () => 0,
  );
  const [first] = await arena.welcome();
  first.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n)] });
  const think = await pending.next("the decision");
  arena.cut();
  const [second] = await arena.welcome({ resumed: true });
  second.send({ decisions: [decision(2n)] });
  assert.deepEqual(await second.answers(1), [[2n, 1, 0]]);
  think(2);
  await setImmediate();
  second.send({ decisions: [decision(2n, 2)] });
  assert.deepEqual(await second.answers(1), [[2n, 2, 0]]);
});

test("a server that resumes nothing makes the bot forget its games, which may start again", async (t) => {
  const arena = await Arena.listen(t);
  const voids: VoidReason[] = [];
  let bots = 0;
  play(t, arena, () => {
    bots++;
    return { choose: () => 0, gameVoided: (_, reason) => void voids.push(reason) };
  });
  const [first] = await arena.welcome();
  first.send({ gamesStarted: [start(1n), start(2n)], decisions: [decision(1n)] });
  await first.answers(1);
  arena.cut();
  const [second] = await arena.welcome({ token: "resume-2", resumed: false });
  second.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  assert.deepEqual(await second.answers(1), [[1n, 1, 0]]);
  assert.deepEqual(voids, [VoidReason.UNKNOWN, VoidReason.UNKNOWN]);
  assert.equal(bots, 3);
  second.end({ code: status.UNAVAILABLE });
  const [, hello] = await arena.welcome();
  assert.deepEqual([hello.resumeToken, hello.matchIds], ["resume-2", [1n]]);
});

test("a game that starts although it runs has a new bot", async (t) => {
  const arena = await Arena.listen(t);
  const voids: VoidReason[] = [];
  play(t, arena, () => ({ choose: () => 0, gameVoided: (_, reason) => void voids.push(reason) }));
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n, 5)] });
  await stream.answers(1);
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  assert.deepEqual(await stream.answers(1), [[1n, 1, 0]]);
  assert.deepEqual(voids, [VoidReason.UNKNOWN]);
});

test("a resignation is sent again to the server that resumes the game", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, () => () => {
    throw new Error("broken");
  });
  const [first] = await arena.welcome();
  first.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  await first.receive();
  arena.cut();
  const [second, hello] = await arena.welcome({ resumed: true });
  assert.deepEqual(hello.matchIds, [1n]);
  const { resigns } = await second.receive();
  assert.deepEqual(
    resigns.map(({ matchId, seat, crashed }) => [matchId, seat, crashed]),
    [[1n, 0, true]],
  );
  second.send({ gamesOver: [voided(1n, VoidReason.STOPPED)] });
  second.end({ code: status.UNAVAILABLE });
  assert.deepEqual((await arena.welcome({ resumed: true }))[1].matchIds, []);
});
