import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClientUnaryCall, type ServiceError, status } from "@grpc/grpc-js";
import type { Decision, Notes, Thought } from "happycity";
import { RollOut, type RollOutRequest, type RollOutResponse } from "happycity/v1";
import { Sampler, type Simulations } from "../examples/sampler-bot.js";
import { decision, errorOf, soon } from "./arena.js";

/** Answers calls one after the other; the last answer is repeated. "Never" leaves a call open. */
class Script {
  readonly requests: RollOutRequest[] = [];
  cancelled = 0;
  readonly #answers: (RollOut[] | Partial<ServiceError> | "never")[];

  constructor(...answers: (RollOut[] | Partial<ServiceError> | "never")[]) {
    this.#answers = answers;
  }

  readonly rollOut = ((
    request: RollOutRequest,
    callback: (error: ServiceError | null, response: RollOutResponse) => void,
  ) => {
    this.requests.push(request);
    const answer = this.#answers[Math.min(this.requests.length, this.#answers.length) - 1];
    const fail = (error: Partial<ServiceError>) =>
      callback(Object.assign(new Error("no"), error) as ServiceError, { rollOuts: [] });
    queueMicrotask(() => {
      if (Array.isArray(answer)) callback(null, { rollOuts: answer });
      else if (answer !== "never" && answer !== undefined) fail(answer);
    });
    const cancel = () => {
      this.cancelled++;
      fail(errorOf({ code: status.CANCELLED }));
    };
    return { cancel } as ClientUnaryCall;
  }) as Simulations["rollOut"];
}

const points = (...pointsMean: number[]): RollOut => RollOut.fromPartial({ pointsMean });

/** Return a decision of seat 1 between three decks. */
function asked({ timeLeftMs = 10_000, decisionId = 7 } = {}): Decision {
  const { view, clock, ...rest } = decision(1n, decisionId) as Decision;
  return { ...rest, seat: 1, view: { ...view, round: 3 }, clock: { ...clock, timeLeftMs } };
}

const choose = (
  sampler: Sampler,
  given = asked(),
  signal = new AbortController().signal,
  note: Thought["note"] = () => {},
) => soon(sampler.choose(given, { signal, note }), "a choice");

test("the move after which the own seat leads by most is played, not the one with the most points", async () => {
  const script = new Script([points(50, 60, 10), points(20, 55, 30), points(70, 80, 20)]);
  const noted: Notes[] = [];
  assert.equal(await choose(new Sampler(script), asked(), undefined, (numbers) => noted.push(numbers)), 1);
  assert.deepEqual(noted, [{ playouts: 40, lead: 25 }]);
  const [request] = script.requests;
  assert.deepEqual(
    [request?.eachMove, request?.playouts, request?.lines[0]?.view?.round, request?.lines[0]?.seed],
    [true, 40, 3, 7n],
  );
});

test("a sampler that asked too often asks again when it may", async () => {
  const refusal = {
    code: status.RESOURCE_EXHAUSTED,
    reason: "RATE_LIMITED",
    metadata: { retry_after_ms: "1" },
  };
  const script = new Script(errorOf(refusal), [points(0, 0), points(0, 0), points(0, 1)]);
  assert.equal(await choose(new Sampler(script)), 2);
  assert.equal(script.requests.length, 2);
});

test("without simulations the neutral move is played, and the game goes on", async () => {
  const sampler = new Sampler(new Script(errorOf({ code: status.UNIMPLEMENTED })));
  const nothing = () => assert.fail("there is nothing to note");
  assert.equal(await choose(sampler, asked(), undefined, nothing), 0);
});

test("when there is no time left, the call is given up and the neutral move played", async () => {
  const script = new Script("never");
  assert.equal(await choose(new Sampler(script), asked({ timeLeftMs: 20 })), 0);
  assert.equal(script.cancelled, 1);
});

test("games have their turn one after the other, and one that is given up leaves its turn to the next", async () => {
  const script = new Script("never", [points(0, 0), points(0, 1), points(0, 0)]);
  const sampler = new Sampler(script);
  const dropped = new AbortController();
  const first = choose(sampler, asked({ decisionId: 1 }), dropped.signal);
  const second = choose(sampler, asked({ decisionId: 2 }));
  await Promise.resolve(); // both have asked for their turn
  assert.deepEqual(
    script.requests.map(({ lines }) => lines[0]?.seed),
    [1n],
  );
  dropped.abort();
  assert.deepEqual(await Promise.all([first, second]), [0, 1]);
});

test("a game waits for its turn no longer than it has time", async () => {
  const sampler = new Sampler(new Script("never"));
  const dropped = new AbortController();
  const first = choose(sampler, asked({ timeLeftMs: 0 }), dropped.signal);
  assert.equal(await choose(sampler, asked({ timeLeftMs: 20 })), 0);
  dropped.abort();
  await first;
});
