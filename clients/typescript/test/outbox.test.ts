import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Answer, PlayRequest } from "happycity/v1";
import { Outbox } from "../src/outbox.js";

const resign = { matchId: 3n, seat: 0, crashed: true, reason: "broken" };

function answer(matchId: bigint, move: number, metrics = {}): Answer {
  return { matchId, decisionId: 1, move, metrics };
}

/** A connection that takes a message when the test says so. */
class SlowConnection {
  readonly requests: PlayRequest[] = [];
  readonly outbox: Outbox;
  take = () => {};

  constructor() {
    this.outbox = new Outbox((request, written) => {
      this.requests.push(request);
      this.take = written;
    });
  }

  get moves(): number[][] {
    return this.requests.map(({ answers }) => answers.map(({ move }) => move));
  }
}

test("messages of one turn of the loop travel together", async () => {
  const connection = new SlowConnection();
  connection.outbox.answer(answer(1n, 0));
  connection.outbox.answer(answer(2n, 1, { depth: 3 }));
  connection.outbox.resign(resign);
  assert.deepEqual(connection.moves, []);
  await setImmediate();
  assert.deepEqual(connection.moves, [[0, 1]]);
  assert.deepEqual(
    connection.requests[0]?.answers.map(({ metrics }) => metrics),
    [{}, { depth: 3 }],
  );
  assert.deepEqual(connection.requests[0]?.resigns, [resign]);
});

test("while the connection takes a message, the next one gathers", async () => {
  const connection = new SlowConnection();
  for (const move of [0, 1, 2]) {
    connection.outbox.answer(answer(1n, move));
    await setImmediate();
  }
  connection.outbox.pong(8n);
  assert.deepEqual(connection.moves, [[0]]);
  connection.take();
  await setImmediate();
  assert.deepEqual(connection.moves, [[0], [1, 2]]);
  assert.deepEqual(connection.requests[1]?.pong, { nonce: 8n });
});

test("an empty batch is not sent", async () => {
  const connection = new SlowConnection();
  connection.outbox.answer(answer(1n, 0));
  connection.outbox.forget(1n);
  await setImmediate();
  assert.deepEqual(connection.requests, []);
});

test("nothing is sent after the goodbye, which takes along what gathered before", async () => {
  const connection = new SlowConnection();
  connection.outbox.answer(answer(1n, 0));
  connection.outbox.goodbye();
  connection.take();
  connection.outbox.answer(answer(2n, 1));
  await setImmediate();
  assert.deepEqual(connection.moves, [[0]]);
  assert.deepEqual(connection.requests[0]?.goodbye, {});
});

test("nothing is sent on a closed connection", async () => {
  const connection = new SlowConnection();
  connection.outbox.answer(answer(1n, 0));
  connection.outbox.close();
  connection.outbox.pong(1n);
  await setImmediate();
  assert.deepEqual(connection.requests, []);
});
