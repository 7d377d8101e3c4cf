/** What `play` does for a program of one's own. `happycity check --sdk` checks how the SDK speaks the protocol. */

import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { Metadata, Server, ServerCredentials, type ServerDuplexStream, status } from "@grpc/grpc-js";
import { type Decision, HappyCityError, play } from "happycity";
import { bytesOf } from "./contract.js";

type Call = ServerDuplexStream<Buffer, Buffer>;

/** Start a server that handles each stream so, and return its address. */
async function listen(t: TestContext, handle: (call: Call) => void): Promise<string> {
  const server = new Server();
  const bytes = {
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  const play = { path: "/happycity.v1.PlayService/Play", requestStream: true, responseStream: true, ...bytes };
  server.addService({ play }, { play: handle });
  t.after(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    const listening = (error: Error | null, port: number) => (error ? reject(error) : resolve(`127.0.0.1:${port}`));
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), listening);
  });
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

/** Welcome a bot, and ask it in a match. */
function ask(call: Call, decisionId: number): void {
  const config = { players: 2 };
  const decision = { matchId: "1", decisionId, view: { config }, moves: [{}, {}] };
  if (decisionId === 1) call.write(bytesOf("PlayResponse", { welcome: {}, gamesStarted: [{ matchId: "1", config }] }));
  call.write(bytesOf("PlayResponse", { decisions: [decision] }));
}

async function failure(server: string): Promise<HappyCityError> {
  const error = await play(() => () => 0, { server }).catch((thrown: unknown) => thrown);
  assert(error instanceof HappyCityError);
  return error;
}

test("where nothing listens, play throws what gRPC says, and how to find out more", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  for (const target of ["unix:/nonexistent/arena", `localhost:${port}`]) {
    const { message, reason, exitStatus } = await failure(target);
    assert(message.startsWith(`${target} can't be reached: `), message);
    assert(message.endsWith(`; \`happycity status ${target}\` says why`), message);
    assert.deepEqual([reason, exitStatus], ["", 2]);
  }
});

test("an error has the reason of the server", async (t) => {
  const metadata = new Metadata();
  const type = "type.googleapis.com/google.rpc.ErrorInfo";
  const info = new BinaryWriter().uint32(10).string("REPLACED").finish();
  const any = new BinaryWriter().uint32(10).string(type).uint32(18).bytes(info).finish();
  metadata.set("grpc-status-details-bin", Buffer.from(new BinaryWriter().uint32(26).bytes(any).finish()));
  const refuse = (call: Call) => call.emit("error", { code: status.ABORTED, details: "only\na test", metadata });
  const target = await listen(t, refuse);
  const { message, reason } = await failure(target);
  assert.deepEqual([message, reason], [`${target} refused the bot: only a test`, "REPLACED"]);
});

test("the signal of a decision is aborted by a newer one, and by the signal of the settings", async (t) => {
  const stop = new AbortController();
  const asked: Decision[] = [];
  const target = await listen(t, (call) => {
    ask(call, 1);
    call.on("data", () => {});
    call.on("end", () => call.end());
    setImmediate(() => ask(call, 2));
  });
  const choose = (decision: Decision) => {
    asked.push(decision);
    if (asked.length === 2) {
      assert.equal(asked[0]?.signal.aborted, true);
      stop.abort();
    }
    return new Promise<number>(() => {});
  };
  await play(() => choose, { server: target, signal: stop.signal });
  assert.deepEqual(
    asked.map(({ decisionId, signal }) => [decisionId, signal.aborted]),
    [
      [1, true],
      [2, true],
    ],
  );
});
