import assert from "node:assert/strict";
import { test } from "node:test";
import { promisify } from "node:util";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { dial, retryAfterMs, SettingError } from "happycity";
import {
  type ApplyMovesRequest,
  type ApplyMovesResponse,
  SimulationServiceClient,
  SimulationServiceService,
} from "happycity/v1";
import { errorOf, soon } from "./arena.js";

test("calls go to the bot's server with its token, and a refusal says when to call again", async (t) => {
  const tokens: unknown[] = [];
  const server = new Server();
  server.addService(SimulationServiceService, {
    applyMoves: (
      { metadata }: ServerUnaryCall<ApplyMovesRequest, ApplyMovesResponse>,
      refuse: sendUnaryData<ApplyMovesResponse>,
    ) => {
      tokens.push(...metadata.get("authorization"));
      refuse(errorOf({ code: status.RESOURCE_EXHAUSTED, reason: "RATE_LIMITED", retryMs: 1500 }));
    },
    rollout: () => {},
  });
  t.after(() => server.forceShutdown());
  const bind = promisify(server.bindAsync.bind(server));
  const port = await bind("127.0.0.1:0", ServerCredentials.createInsecure());

  const client = dial(SimulationServiceClient, { server: `127.0.0.1:${port}`, token: "hc_secret" });
  t.after(() => client.close());
  const refused = new Promise((resolve) => client.applyMoves({ lines: [] }, resolve));
  assert.equal(retryAfterMs(await soon(refused, "a refusal")), 1500);
  assert.deepEqual(tokens, ["Bearer hc_secret"]);
});

test("a refusal for another reason says no time", () => {
  const unknown = errorOf({ code: status.NOT_FOUND, reason: "UNKNOWN_MATCH" });
  assert.equal(retryAfterMs(Object.assign(new Error("no"), unknown) as ServiceError), undefined);
  assert.equal(retryAfterMs(new Error("anything else")), undefined);
});

test("a token is not sent unencrypted to another machine", () => {
  const settings = { server: "arena.example.org:50051", token: "hc_secret" };
  assert.throws(() => dial(SimulationServiceClient, settings), SettingError);
});
