import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ServerCredentials } from "@grpc/grpc-js";
import { SettingError } from "happycity";
import { credentialsOf, isLoopback } from "../src/credentials.js";
import { completeSettings, type Settings } from "../src/settings.js";
import { Arena, play } from "./arena.js";

test("what is left out has a default", () => {
  const { name, server, games, tls, reconnectMs } = completeSettings({}, {});
  assert.deepEqual(
    [name, server, games, tls, reconnectMs],
    ["settings.test", "127.0.0.1:50051", 8, false, 60_000],
  );
});

test("the environment fills in what is left out, and no more", () => {
  const environment = {
    HAPPYCITY_NAME: "env",
    HAPPYCITY_SERVER: "arena.example.org:1",
    HAPPYCITY_TOKEN: "hc_1",
    HAPPYCITY_GAMES: "0",
    HAPPYCITY_TLS: "1",
    HAPPYCITY_CA: "ca.pem",
    HAPPYCITY_CERT: "cert.pem",
    HAPPYCITY_KEY: "key.pem",
    HAPPYCITY_INSECURE: "1",
  };
  const { log: _, info: __, ...settings } = completeSettings({ name: "code", tls: false }, environment);
  assert.deepEqual(settings, {
    name: "code",
    server: "arena.example.org:1",
    token: "hc_1",
    games: 0,
    tls: false,
    ca: "ca.pem",
    cert: "cert.pem",
    key: "key.pem",
    insecure: true,
    waitMs: 0,
    reconnectMs: 60_000,
  });
});

for (const [variable, value] of [
  ["HAPPYCITY_GAMES", "many"],
  ["HAPPYCITY_GAMES", "-1"],
  ["HAPPYCITY_TLS", "yes"],
  ["HAPPYCITY_INSECURE", "true"],
] as const) {
  test(`${variable}=${value} is an error that names it`, () => {
    assert.throws(
      () => completeSettings({}, { [variable]: value }),
      (error) => error instanceof SettingError && error.setting === variable && error.message.includes(value),
    );
  });
}

for (const games of [-1, 1.5, Number.NaN]) {
  test(`${games} is no number of games`, () => {
    assert.throws(() => completeSettings({ games }, {}), SettingError);
  });
}

for (const server of [
  "127.0.0.1:50051",
  "127.8.8.8:1",
  "localhost:50051",
  "localhost",
  "[::1]:50051",
  "::1",
  "dns:localhost:1",
  "dns:///127.0.0.1:1",
  "ipv4:127.0.0.1:1",
  "ipv6:[::1]:1",
  "unix:/run/arena",
]) {
  test(`${server} is on this machine`, () => assert(isLoopback(server)));
}

for (const server of [
  "10.0.0.1:50051",
  "arena.example.org:50051",
  "localhost.example.org:1",
  "[2001:db8::1]:50051",
  "dns://127.0.0.1/arena.example.org:1",
  "127.0.0.1.example.org:1",
  "",
]) {
  test(`${server || "nothing"} is not on this machine`, () => assert(!isLoopback(server)));
}

test("a token doesn't travel unencrypted to another machine, unless that is allowed", () => {
  const settings: Settings = { server: "arena.example.org:1", token: "hc_1" };
  assert.throws(() => credentialsOf(completeSettings(settings, {})), /^SettingError: token: .*unencrypted/);
  assert.doesNotThrow(() => credentialsOf(completeSettings({ ...settings, insecure: true }, {})));
  assert.doesNotThrow(() => credentialsOf(completeSettings({ ...settings, server: "localhost:1" }, {})));
  assert.doesNotThrow(() => credentialsOf(completeSettings({ ...settings, tls: true }, {})));
});

test("files of TLS that are missing, or are none, are named", (t) => {
  const folder = temporaryFolder(t);
  const junk = join(folder, "junk.pem");
  writeFileSync(junk, "no certificate\n");
  const refused = (settings: Settings, text: RegExp) =>
    assert.throws(() => credentialsOf(completeSettings(settings, {})), text);
  refused({ ca: join(folder, "absent.pem") }, /ca: it can't be read/);
  refused({ ca: junk }, /ca: .* holds no certificates/);
  refused({ cert: junk }, /key: it is missing/);
  refused({ key: junk }, /cert: it is missing/);
  refused({ cert: junk, key: junk }, /cert: .* are no certificate and its key/);
});

test("a server is trusted by its CA, and asks for the bot's certificate", async (t) => {
  const folder = temporaryFolder(t);
  const made = makeCertificates(folder);
  if (!made) {
    t.skip("there is no openssl here");
    return;
  }
  const read = (name: string) => readFileSync(join(folder, name));
  const pair = { private_key: read("server.key"), cert_chain: read("server.pem") };
  const arena = await Arena.listen(t, ServerCredentials.createSsl(read("ca.pem"), [pair], true));
  const ca = join(folder, "ca.pem");
  play(t, arena, () => () => 0, { ca, cert: join(folder, "bot.pem"), key: join(folder, "bot.key") });
  await arena.welcome();
  const stranger = play(t, arena, () => () => 0, { tls: true });
  assert.match((await stranger.failure()).message, /does it use TLS with a certificate of that CA\?$/);
});

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "happycity-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Make a CA, and certificates of a server and of a bot; return whether that was possible. */
function makeCertificates(folder: string): boolean {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  try {
    openssl("req", "-x509", ...key, "-subj", "/CN=test", "-keyout", "ca.key", "-out", "ca.pem");
    for (const name of ["server", "bot"]) {
      const ca = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
      openssl("req", ...key, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
      writeFileSync(join(folder, "names"), "subjectAltName=IP:127.0.0.1");
      openssl("x509", "-req", "-in", `${name}.csr`, ...ca, "-extfile", "names", "-out", `${name}.pem`);
    }
    return true;
  } catch {
    return false;
  }
}
