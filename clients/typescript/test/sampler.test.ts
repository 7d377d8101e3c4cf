import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClientUnaryCall, type ServiceError, status } from "@grpc/grpc-js";
import type { Decision, Notes } from "happycity";
import { type RolloutRequest, type RolloutResponse, RolloutResult, SeatEstimate } from "happycity/v1";
import { Sampler, type Simulations } from "../examples/sampler-bot.js";
import { PendingDecision } from "../src/decision.js";
import { decision, empty, errorOf, soon } from "./arena.js";

/** Answers calls one after the other; the last answer is repeated. "Never" leaves a call open. */
class Script {
  readonly requests: RolloutRequest[] = [];
  cancelled = 0;
  readonly #answers: (RolloutResult[] | Partial<ServiceError> | "never")[];

  constructor(...answers: (RolloutResult[] | Partial<ServiceError> | "never")[]) {
    this.#answers = answers;
  }

  readonly rollout = ((
    request: RolloutRequest,
    callback: (error: ServiceError | null, response: RolloutResponse) => void,
  ) => {
    this.requests.push(request);
    const answer = this.#answers[Math.min(this.requests.length, this.#answers.length) - 1];
    const fail = (error: Partial<ServiceError>) =>
      callback(Object.assign(new Error("no"), error) as ServiceError, { results: [] });
    queueMicrotask(() => {
      if (Array.isArray(answer)) callback(null, { results: answer });
      else if (answer !== "never" && answer !== undefined) fail(answer);
    });
    const cancel = () => {
      this.cancelled++;
      fail(errorOf({ code: status.CANCELLED }));
    };
    return { cancel } as ClientUnaryCall;
  }) as Simulations["rollout"];
}

const points = (...means: number[]): RolloutResult => ({
  ...empty(RolloutResult),
  seats: means.map((pointsMean) => ({ ...empty(SeatEstimate), pointsMean })),
});

/** Let a sampler choose at decision 7, of seat 1, between three decks. */
function choose(sampler: Sampler, parts: Partial<Decision> = {}): Promise<number> {
  const pending = new PendingDecision(decision(1n, 7, 1));
  return soon(sampler.choose({ ...pending, signal: pending.signal, ...parts }), "a choice");
}

test("the move after which the own seat leads by most is played, not the one with the most points", async () => {
  const script = new Script([points(50, 60, 10), points(20, 55, 30), points(70, 80, 20)]);
  const noted: Notes[] = [];
  assert.equal(await choose(new Sampler(script), { note: (numbers) => noted.push(numbers) }), 1);
  assert.deepEqual(noted, [{ playouts: 40, lead: 25 }]);
  const [request] = script.requests;
  assert.deepEqual(
    [request?.eachMove, request?.playouts, request?.lines[0]?.view?.seat, request?.lines[0]?.seed],
    [true, 40, 1, 7n],
  );
});

test("a sampler that called too often calls again when it may", async () => {
  const limited = errorOf({ code: status.RESOURCE_EXHAUSTED, reason: "RATE_LIMITED", retryMs: 1 });
  const script = new Script(limited, [points(0, 0), points(0, 0), points(0, 1)]);
  assert.equal(await choose(new Sampler(script)), 2);
  assert.equal(script.requests.length, 2);
});

test("without simulations the neutral move is played, and the game goes on", async () => {
  const sampler = new Sampler(new Script(errorOf({ code: status.UNIMPLEMENTED })));
  const note = () => assert.fail("there is nothing to note");
  assert.equal(await choose(sampler, { note }), 0);
});

test("when there is no time left, the call is given up and the neutral move played", async () => {
  const script = new Script("never");
  assert.equal(await choose(new Sampler(script), { timeLeftMs: 20 }), 0);
  assert.equal(script.cancelled, 1);
});

test("games take turns, and one that is given up leaves its turn to the next", async () => {
  const script = new Script("never", [points(0, 0), points(0, 1), points(0, 0)]);
  const sampler = new Sampler(script);
  const dropped = new AbortController();
  const first = choose(sampler, { decisionId: 1, signal: dropped.signal });
  const second = choose(sampler, { decisionId: 2 });
  await Promise.resolve(); // both wait for their turn
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
  const first = choose(sampler, { timeLeftMs: undefined, signal: dropped.signal });
  assert.equal(await choose(sampler, { timeLeftMs: 20 }), 0);
  dropped.abort();
  await first;
});
