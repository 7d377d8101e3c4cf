import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Decision } from "happycity";
import { Arena, decision, play, Queue, soon, start } from "./arena.js";

const random = fileURLToPath(new URL("../examples/random.js", import.meta.url));

test("a ping is answered while a bot thinks", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, () => () => new Promise(() => {}));
  const [stream] = await arena.welcome();
  const nonce = 2n ** 64n - 1n;
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  stream.send({ ping: { nonce } });
  assert.deepEqual((await stream.receive()).pong, { nonce });
});

test("a ping that comes with decisions is answered before them", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, () => () => 0);
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)], ping: { nonce: 5n } });
  const { pong, answers } = await stream.receive();
  assert.deepEqual([pong, answers], [{ nonce: 5n }, []]);
  assert.deepEqual(await stream.answers(1), [[1n, 1, 0]]);
});

test("a ping is answered between the moves of a bot that lets nothing else happen", async (t) => {
  const arena = await Arena.listen(t);
  const busy = new Queue<bigint>();
  play(t, arena, () => ({ matchId }) => {
    busy.push(matchId);
    const end = performance.now() + 20;
    while (performance.now() < end);
    return 0;
  });
  const [stream] = await arena.welcome();
  const games = Array.from({ length: 20 }, (_, index) => BigInt(index + 1));
  stream.send({
    gamesStarted: games.map((match) => start(match)),
    decisions: games.map((game) => decision(game)),
  });
  await busy.next("the first move");
  stream.send({ ping: { nonce: 9n } });
  let answered = 0;
  for (let pong: unknown; pong === undefined; ) {
    const request = await stream.receive();
    answered += request.answers.length;
    pong = request.pong;
  }
  assert(answered < games.length, `the pong came after ${answered} answers`);
});

test("a server that is silent for three ping intervals is given up, and tried again", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, () => () => 0);
  await arena.welcome({ pingMs: 10 });
  await arena.welcome({ resumed: true });
  assert(playing.log.includes("tester: no sign of life from the server; trying again"));
});

test("a bot that is stopped says goodbye, and its decision is aborted", async (t) => {
  const arena = await Arena.listen(t);
  const asked = new Queue<Decision>();
  const playing = play(t, arena, () => (decision) => {
    asked.push(decision);
    return new Promise(() => {});
  });
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  const { signal } = await asked.next("the decision");
  playing.stop();
  assert.deepEqual((await stream.receive()).goodbye, {});
  await stream.left();
  stream.end();
  await playing.end();
  assert.equal(signal.aborted, true);
});

test("a bot that is stopped is asked nothing more", async (t) => {
  const arena = await Arena.listen(t);
  const asked: bigint[] = [];
  const playing = play(t, arena, () => ({ matchId }) => {
    asked.push(matchId);
    if (asked.length === 3) playing.stop();
    return 0;
  });
  const [stream] = await arena.welcome();
  const games = Array.from({ length: 20 }, (_, index) => BigInt(index + 1));
  stream.send({
    gamesStarted: games.map((match) => start(match)),
    decisions: games.map((game) => decision(game)),
  });
  while (!(await stream.receive()).goodbye);
  stream.end();
  await playing.end();
  assert.equal(asked.length, 3);
});

test("a bot that is stopped does not wait long for a server that doesn't end the stream", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, () => () => 0);
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  await stream.answers(1);
  playing.stop();
  await playing.end();
});

test("a bot that is stopped while it looks for its server ends", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, () => () => 0);
  await arena.accept();
  playing.stop();
  await playing.end();
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`on ${signal} a program says goodbye and ends with status 0`, async (t) => {
    const arena = await Arena.listen(t);
    const program = launch(arena.address);
    const ended = once(program, "exit"); // it may end before the test has read its goodbye
    const [stream] = await arena.welcome();
    stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
    await stream.answers(1);
    program.kill(signal);
    assert.deepEqual((await stream.receive()).goodbye, {});
    stream.end();
    assert.deepEqual(await soon(ended, "the end of the program"), [0, null]);
  });
}

test("a program that finds no server says so in one line, and ends with status 2", async () => {
  const program = launch("127.0.0.1:1");
  let text = "";
  program.stderr.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  assert.deepEqual(await soon(once(program, "close"), "the end of the program"), [2, null]);
  assert.match(text, /^error: no connection to 127\.0\.0\.1:1: .*\n$/);
});

function launch(server: string) {
  const env = { ...process.env, HAPPYCITY_SERVER: server, HAPPYCITY_NAME: "random" };
  return spawn(process.execPath, [random], { env, stdio: ["ignore", "inherit", "pipe"] });
}
