import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { ConnectionFailedError, VERSION } from "happycity";
import { Arena, decision, Playing, play, start } from "./arena.js";

const first = () => () => 0;

test("the first message is the hello, and nothing else", async (t) => {
  const arena = await Arena.listen(t);
  play(t, arena, first, { games: 3 });
  const stream = await arena.accept();
  const { hello, answers, resigns } = await stream.receive();
  assert.deepEqual(hello, {
    name: "tester",
    protocolVersion: 1,
    maxGames: 3,
    software: `happycity-typescript/${VERSION}`,
    resumeToken: "",
    games: [],
  });
  assert.deepEqual([answers, resigns], [[], []]);
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

test("what was sent before the end of the stream is heard", async (t) => {
  const arena = await Arena.listen(t);
  const started: bigint[] = [];
  const playing = play(t, arena, ({ gameId }) => {
    started.push(gameId);
    return () => 0;
  });
  const [stream] = await arena.welcome();
  for (let game = 1n; game <= 40n; game++) stream.send({ gamesStarted: [start(game)] });
  stream.end();
  await playing.end();
  assert.equal(started.length, 40);
});

test("a version that the server doesn't speak is an error that names the versions it speaks", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first);
  const stream = await arena.accept();
  stream.end({
    code: status.FAILED_PRECONDITION,
    reason: "UNSUPPORTED_VERSION",
    metadata: { supported_min: "2", supported_max: "3" },
  });
  const error = await playing.failure();
  assert(error instanceof ConnectionFailedError);
  assert.equal(error.reason, "UNSUPPORTED_VERSION");
  assert.match(error.message, /speaks versions 2 to 3 of the protocol, this bot version 1/);
});

test("a server that goes on in another version is not played on", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first);
  const stream = await arena.accept();
  stream.send({
    welcome: { protocolVersion: 2, server: "", resumeToken: "", resumed: false, heartbeatMs: 0 },
  });
  assert.match((await playing.failure()).message, /version 2 of the protocol, this bot speaks 1/);
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
] as const) {
  test(`${reason} ends the bot`, async (t) => {
    const arena = await Arena.listen(t);
    const playing = play(t, arena, first);
    const [stream] = await arena.welcome();
    stream.end({ code, reason });
    const error = await playing.failure();
    assert(error instanceof ConnectionFailedError);
    assert.equal(error.reason, reason);
    assert.match(error.message, /ended the session of tester: in the test the server says no$/);
  });
}

for (const [what, refusal] of [
  ["NO_HEARTBEAT", { code: status.ABORTED, reason: "NO_HEARTBEAT" }],
  ["STALLED", { code: status.ABORTED, reason: "STALLED" }],
  ["SHUTTING_DOWN", { code: status.UNAVAILABLE, reason: "SHUTTING_DOWN" }],
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

test("a server that wants to be left alone for longer than the bot may wait is given up", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, first, { waitMs: 1_000 });
  const stream = await arena.accept();
  stream.end({
    code: status.RESOURCE_EXHAUSTED,
    reason: "RATE_LIMITED",
    metadata: { retry_after_ms: "60000" },
  });
  assert.equal(((await playing.failure()) as ConnectionFailedError).reason, "RATE_LIMITED");
});

test("a server that isn't there is told at once", async () => {
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
