import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { UNLIMITED } from "happycity";
import { completeSettings } from "../src/settings.js";
import { WorkerStreams } from "../src/worker-streams.js";
import { Arena, decision, play, start } from "./arena.js";

const first = () => () => 0;

/** Answers with how often it was asked before. */
const counting = () => {
  let asked = 0;
  return () => asked++;
};

test("a bot that plays any number of games plays at the workers too, with a bot for each game", async (t) => {
  const [server, one, other] = [await Arena.listen(t), await Arena.listen(t), await Arena.listen(t)];
  play(t, server, counting, { name: "me", token: "secret", games: UNLIMITED });
  const [atServer] = await server.welcome({ workerAddresses: [one.address, other.address] });
  const streams = [atServer];
  for (const worker of [one, other]) {
    const [stream, { name, maxGames, resumeToken }] = await worker.welcome();
    assert.deepEqual([name, maxGames, resumeToken], ["me", undefined, ""]);
    assert.deepEqual(stream.metadata.get("authorization"), ["Bearer secret"]);
    streams.push(stream);
  }
  for (const [match, stream] of streams.entries()) stream.send({ gamesStarted: [start(BigInt(match))] });
  for (let number = 1; number <= 3; number++) {
    for (const [match, stream] of streams.entries()) {
      stream.send({ decisions: [decision(BigInt(match), number)] });
    }
    for (const [match, stream] of streams.entries()) {
      assert.deepEqual(await stream.answers(1), [[BigInt(match), number, number - 1]]);
    }
  }
});

test("a lost stream to a worker is resumed with its own token and games, as is the one to the server", async (t) => {
  const [server, worker] = [await Arena.listen(t), await Arena.listen(t)];
  play(t, server, first, { games: UNLIMITED });
  const [atServer] = await server.welcome({ token: "server", workerAddresses: [worker.address] });
  const [atWorker] = await worker.welcome({ token: "worker" });
  atServer.send({ gamesStarted: [start(1n)] });
  atWorker.send({ gamesStarted: [start(2n)] });
  await Promise.all([atServer.pause(), atWorker.pause()]);
  worker.cut();
  const [, atWorkerAgain] = await worker.welcome({ token: "worker", resumed: true });
  assert.deepEqual([atWorkerAgain.resumeToken, atWorkerAgain.matchIds], ["worker", [2n]]);
  server.cut();
  const [, atServerAgain] = await server.welcome({ resumed: true });
  assert.deepEqual([atServerAgain.resumeToken, atServerAgain.matchIds], ["server", [1n]]);
});

test("a later welcome says which workers are left, which are kept and which are tried again", async (t) => {
  const [server, left] = [await Arena.listen(t), await Arena.listen(t)];
  const [kept, ended] = [await Arena.listen(t), await Arena.listen(t)];
  play(t, server, first, { games: UNLIMITED });
  let [atServer] = await server.welcome({
    workerAddresses: [left.address, kept.address, ended.address],
  });
  const [[atLeft], [atKept], [atFinished]] = await Promise.all([
    left.welcome(),
    kept.welcome(),
    ended.welcome(),
  ]);
  atFinished.end();
  // The bot may get a welcome before it learns of that end.
  while (ended.isQuiet) {
    await atServer.pause();
    server.cut();
    [atServer] = await server.welcome({ workerAddresses: [kept.address, ended.address] });
  }
  assert.deepEqual((await atLeft.receive()).goodbye, {});
  await ended.welcome();
  await atKept.pause();
  assert(kept.isQuiet, "it opened a second stream to the same worker");
});

test("workers that are not there, refuse the bot or would get its token in clear are only logged", async (t) => {
  const [server, refusing] = [await Arena.listen(t), await Arena.listen(t)];
  const elsewhere = "192.0.2.1:1";
  const playing = play(t, server, first, { games: UNLIMITED, token: "secret" });
  const [stream] = await server.welcome({ workerAddresses: ["127.0.0.1:1", elsewhere, refusing.address] });
  (await refusing.accept()).end({ code: status.PERMISSION_DENIED, reason: "WRONG_NAME" });
  stream.send({ gamesStarted: [start(1n)], decisions: [decision(1n)] });
  assert.deepEqual(await stream.answers(1), [[1n, 1, 0]]);
  while (
    !playing.log.some((line) => line.startsWith(`tester: no games at the worker ${refusing.address}: `))
  ) {
    await stream.pause();
  }
  assert(playing.log.some((line) => line.startsWith(`tester: no games at the worker ${elsewhere}: token: `)));
  stream.end();
  await playing.end();
});

test("the streams to workers end when the bot is stopped", async (t) => {
  const [server, worker] = [await Arena.listen(t), await Arena.listen(t)];
  const playing = play(t, server, first, { games: UNLIMITED });
  const [atServer] = await server.welcome({ workerAddresses: [worker.address] });
  const [atWorker] = await worker.welcome();
  await atWorker.pause();
  playing.stop();
  assert.deepEqual((await atServer.receive()).goodbye, {});
  atServer.end();
  assert.deepEqual((await atWorker.receive()).goodbye, {});
  atWorker.end();
  await playing.end();
  assert.equal(playing.log.filter((line) => line === "tester: stopped").length, 1);
});

for (const [what, refusal] of [
  ["in good order", undefined],
  ["with a refusal", { code: status.ABORTED, reason: "REPLACED" }],
] as const) {
  test(`the streams to workers end when the one to the server ends ${what}`, async (t) => {
    const [server, worker] = [await Arena.listen(t), await Arena.listen(t)];
    const playing = play(t, server, first, { games: UNLIMITED });
    const [atServer] = await server.welcome({ workerAddresses: [worker.address] });
    const [atWorker] = await worker.welcome();
    await atWorker.pause();
    atServer.end(refusal);
    assert.deepEqual((await atWorker.receive()).goodbye, {});
    atWorker.end();
    await (refusal ? playing.failure() : playing.end());
  });
}

for (const [games, expected] of [
  [8, []],
  [UNLIMITED, ["one:1", "two:2"]],
] as const) {
  test(`a bot with ${games ? `at most ${games}` : "any number of"} games plays at ${expected.length} of two workers`, async () => {
    const played: string[] = [];
    const workers = new WorkerStreams(completeSettings({ games }), async ({ server }) => {
      played.push(server);
    });
    workers.follow(["one:1", "two:2"]);
    await workers.close();
    assert.deepEqual(played, expected);
  });
}
