import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { HappyCityError } from "happycity";
import { completeSettings } from "../src/settings.js";

function refused(environment: NodeJS.ProcessEnv, text: string): void {
  assert.throws(() => completeSettings({}, environment), new HappyCityError(text));
}

test("what is left out has a default, and an empty variable counts as left out", () => {
  for (const environment of [
    {},
    { HAPPYCITY_SERVER: "", HAPPYCITY_NAME: "", HAPPYCITY_TOKEN: "", HAPPYCITY_GAMES: "" },
  ]) {
    const { name, token, target, tls, games, reconnectMs } = completeSettings({}, environment);
    assert.deepEqual([name, token, target, tls], ["settings.test", undefined, "127.0.0.1:50051", false]);
    assert.deepEqual([games, reconnectMs], [8, 60_000]);
  }
});

test("the environment fills in what code leaves out", () => {
  const environment = {
    HAPPYCITY_NAME: "env",
    HAPPYCITY_SERVER: "grpc://arena.example:1",
    HAPPYCITY_TOKEN: "hc_1",
    HAPPYCITY_GAMES: "0",
  };
  const { name, target, token, games } = completeSettings({ name: "code" }, environment);
  assert.deepEqual([name, target, token, games], ["code", "arena.example:1", "hc_1", 0]);
  assert.equal(completeSettings({ games: 3 }, environment).games, 3);
});

test("a bot with a token and without a name says no name", () => {
  assert.equal(completeSettings({ token: "hc_1" }, {}).name, undefined);
});

test("the language is filled in", () => {
  const { info } = completeSettings({ info: { author: "Ann" } }, {});
  assert.deepEqual(info, { author: "Ann", language: `JavaScript (Node.js ${process.version.slice(1).split(".")[0]})` });
});

test("a file has what the environment lacks, and its paths are relative to it", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "happycity-"));
  const before = process.cwd();
  process.chdir(folder);
  t.after(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  const tokens = "HAPPYCITY_TOKEN=first\nHAPPYCITY_TOKENS=ann=first,bob=second\n";
  writeFileSync("happycity.env", `# text\n\nHAPPYCITY_SERVER=grpcs://a:1\r\nHAPPYCITY_CA=absent.pem\n${tokens}`);
  const absence = "can't be read: ENOENT: no such file or directory, open";
  refused({}, `HAPPYCITY_CA: absent.pem ${absence} 'absent.pem'`);
  const [named, ca] = [join(folder, "happycity.env"), join(folder, "absent.pem")];
  refused({ HAPPYCITY_ENV: named }, `HAPPYCITY_CA: ${ca} ${absence} '${ca}'`);
  for (const [environment, expected] of [
    [{}, ["a:1", "first"]],
    [{ HAPPYCITY_NAME: "bob" }, ["a:1", "second"]],
    [{ HAPPYCITY_TOKENS: "", HAPPYCITY_TOKEN: "own" }, ["a:1", "own"]],
    [{ HAPPYCITY_SERVER: "" }, ["127.0.0.1:50051", undefined]],
  ] as const) {
    const { target, token } = completeSettings({}, { HAPPYCITY_CA: "", ...environment });
    assert.deepEqual([target, token], expected);
  }
  writeFileSync("happycity.env", "HAPPYCITY_TOKEN=1\nPATH=/tmp\n");
  refused({}, "happycity.env:2: it is not HAPPYCITY_NAME=VALUE");
  writeFileSync("happycity.env", Buffer.of(0xff));
  refused({}, "happycity.env can't be read as text in UTF-8");
  refused({ HAPPYCITY_ENV: "/absent.env" }, "HAPPYCITY_ENV: there is no file /absent.env");
  refused({ HAPPYCITY_SERVER: "", HAPPYCITY_TOKENS: "ann" }, "HAPPYCITY_TOKENS: entry 1 is not NAME=TOKEN");
});

for (const [server, target, isEncrypted] of [
  ["127.0.0.1:50051", "127.0.0.1:50051", false],
  ["grpc://localhost:1", "localhost:1", false],
  ["grpcs://arena.example:443", "arena.example:443", true],
  ["grpcs://[::1]:443", "[::1]:443", true],
  ["unix:/run/arena", "unix:/run/arena", false],
] as const) {
  test(`${server} is an address`, () => {
    const settings = completeSettings({ server }, {});
    assert.deepEqual([settings.target, settings.tls], [target, isEncrypted]);
  });
}

for (const server of [
  "arena.example",
  "grpc://:1",
  "http://a:1",
  "a:70000",
  "grpc://a:1/b",
  "grpc://b@a:1",
  "::1:1",
  "256.0.0.1:1",
  "GRPCS://a:1",
]) {
  test(`${server} is not an address`, () => {
    const examples = "grpc://127.0.0.1:50051 or grpcs://arena.example:443";
    refused({ HAPPYCITY_SERVER: server }, `HAPPYCITY_SERVER: '${server}' is not an address such as ${examples}`);
  });
}

for (const games of ["many", "-1", "1.5"]) {
  test(`${games} is not a number of games`, () => {
    const text = `HAPPYCITY_GAMES: '${games}' is not a number of games; 0 is any number`;
    refused({ HAPPYCITY_GAMES: games }, text);
    assert.throws(() => completeSettings({ games: Number(games) }, {}), HappyCityError);
  });
}

test("files of TLS are read with grpcs only, and checked", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "happycity-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [cert, key, junk, absent] = ["cert", "key", "junk", "absent"].map((name) => join(folder, name)) as string[];
  writeFileSync(join(folder, "junk"), "no certificate\n");
  const server = { HAPPYCITY_SERVER: "grpcs://arena.example:443" };
  const absence = `no such file or directory, open '${absent}'`;
  refused({ ...server, HAPPYCITY_CA: absent }, `HAPPYCITY_CA: ${absent} can't be read: ENOENT: ${absence}`);
  refused({ ...server, HAPPYCITY_CA: junk }, `HAPPYCITY_CA: ${junk} holds no certificates in PEM`);
  assert.equal(completeSettings({}, { HAPPYCITY_CA: junk }).tls, false);
  try {
    const files = ["-keyout", "key", "-out", "cert"];
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=test"];
    execFileSync("openssl", ["req", "-x509", ...kind, ...files], { cwd: folder, stdio: "ignore" });
  } catch {
    t.skip("there is no openssl here");
    return;
  }
  refused({ ...server, HAPPYCITY_CERT: cert }, "HAPPYCITY_CERT: HAPPYCITY_KEY is needed too");
  refused({ ...server, HAPPYCITY_KEY: key }, "HAPPYCITY_KEY: HAPPYCITY_CERT is needed too");
  const mixed = { ...server, HAPPYCITY_CERT: cert, HAPPYCITY_KEY: junk };
  assert.throws(() => completeSettings({}, mixed), /^HappyCityError: HAPPYCITY_CERT, HAPPYCITY_KEY: error:/);
  assert(completeSettings({}, { ...mixed, HAPPYCITY_KEY: key }).tls);
});
