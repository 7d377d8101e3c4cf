import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { ConnectionFailedError, UNLIMITED, VERSION } from "happycity";
import { Arena, decision, Playing, play, start } from "./arena.js";

const first = () => () => 0;

test("the first message is the hello, and nothing else", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, first, { games: 3, info: { author: "Ann", version: "1.2", description: "plays slowly" } });
  const stream = await arena.accept();
  const { hello, answers, resigns } = await stream.receive();
  assert.deepEqual(hello, {
    name: "tester",
    maxGames: 3,
    software: `happycity-typescript/${VERSION}`,
    resumeToken: "",
    matchIds: [],
    info: {
      author: "Ann",
      version: "1.2",
      language: `JavaScript (Node.js ${process.versions.node.split(".")[0]})`,
      description: "plays slowly",
    },
  });
  assert.deepEqual([answers, resigns], [[], []]);
});

test("an unlimited number of games is absent in the hello", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, first, { games: UNLIMITED });
  const { hello } = await (await arena.accept()).receive();
  assert.equal(hello?.maxGames, undefined);
});

test("the token travels in the metadata of the call", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, first, { token: "hc_secret" });
  const stream = await arena.accept();
  assert.deepEqual(stream.metadata.get("authorization"), ["Bearer hc_secret"]);
});

test("without a token there is no authorization", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, first);
  const stream = await arena.accept();
  assert.deepEqual(stream.metadata.get("authorization"), []);
});

test("a server that ends the stream in good order ends the bot", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first);
  const [stream] = await arena.welcome();
  stream.end();
  await playing.end();
});

test("messages before the end of the stream are handled", async (t) => {
  const arena = await Arena.listen(t);
  const started: bigint[] = [];
  const playing = play(t, arena, ({ matchId }) => {
    started.push(matchId);
    return () => 0;
  });
  const [stream] = await arena.welcome();
  for (let game = 1n; game <= 40n; game++) stream.send({ gamesStarted: [start(game)] });
  stream.end();
  await playing.end();
  assert.equal(started.length, 40);
});

test("a server that begins without a welcome is not played on", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first);
  const stream = await arena.accept();
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  assert.match((await playing.failure()).message, /without a welcome/);
});

for (const [reason, code] of [
  ["REPLACED", status.ABORTED],
  ["UNAUTHENTICATED", status.UNAUTHENTICATED],
  ["WRONG_NAME", status.PERMISSION_DENIED],
  ["WRONG_ROLE", status.PERMISSION_DENIED],
  ["REVOKED", status.PERMISSION_DENIED],
  ["INVALID_FIELD", status.INVALID_ARGUMENT],
  ["OF_A_NEW_SERVER", status.ABORTED],
] as const) {
  test(`${reason} ends the bot`, async (t) => {
    const arena = await Arena.listen(t);
    const playing = play(t, arena, first);
    const [stream] = await arena.welcome();
    stream.end({ code, reason });
    const error = await playing.failure();
    assert(error instanceof ConnectionFailedError);
    assert.equal(error.reason, reason);
    assert.match(error.message, /ended the session of tester: in the test the \[2Jserver says no$/);
  });
}

for (const [what, refusal] of [
  ["NO_HEARTBEAT", { code: status.ABORTED, reason: "NO_HEARTBEAT" }],
  ["STALLED", { code: status.ABORTED, reason: "STALLED" }],
  ["SHUTTING_DOWN", { code: status.UNAVAILABLE, reason: "SHUTTING_DOWN" }],
  ["a new reason of an unavailable server", { code: status.UNAVAILABLE, reason: "OF_A_NEW_SERVER" }],
  ["TOO_MANY_STREAMS", { code: status.RESOURCE_EXHAUSTED, reason: "TOO_MANY_STREAMS" }],
  ["a lost connection", { code: status.UNAVAILABLE }],
  ["a fault of the server", { code: status.INTERNAL }],
] as const) {
  test(`after ${what} the bot tries again`, async (t) => {
    const arena = await Arena.listen(t);
    play(t, arena, first);
    const [stream] = await arena.welcome();
    stream.end(refusal);
    await arena.accept();
  });
}

test("a bot that may not come back ends in good order if the server said that it shuts down", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first, { reconnectMs: 0 });
  const [stream] = await arena.welcome();
  stream.end({ code: status.UNAVAILABLE, reason: "SHUTTING_DOWN" });
  await playing.end();
  assert(playing.log.includes("tester: the server has shut down"));
});

test("a bot that may not come back fails if the server was lost", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first, { reconnectMs: 0 });
  const [stream] = await arena.welcome();
  stream.end({ code: status.UNAVAILABLE });
  assert.match((await playing.failure()).message, /^no connection to 127\.0\.0\.1:\d+: .*happycity serve/);
});

test("a server that asks for a longer pause than the bot may wait is given up", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first, { waitMs: 1_000 });
  const stream = await arena.accept();
  stream.end({
    code: status.RESOURCE_EXHAUSTED,
    reason: "RATE_LIMITED",
    retryMs: 60_000,
  });
  assert.equal(((await playing.failure()) as ConnectionFailedError).reason, "RATE_LIMITED");
});

test("a bot without a server ends at once", async () => {
  const error = await new Playing(first, { server: "127.0.0.1:1" }).failure();
  assert(error instanceof ConnectionFailedError);
  assert.match(error.message, /^no connection to .*ECONNREFUSED/);
});

test("a server that isn't there yet can be waited for", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first, { waitMs: 10_000 });
  (await arena.accept()).end({ code: status.UNAVAILABLE });
  await arena.welcome();
  assert(playing.log.some((line) => line.endsWith("; trying again")));
});
