import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { HappyCityError } from "happycity";
import { completeSettings } from "../src/settings.js";
import { readCases } from "./cases.js";

interface Case {
  readonly name: string;
  readonly given?: Readonly<Record<string, string | number>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Each character of a text is a byte. */
  readonly files?: Readonly<Record<string, string>>;
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  readonly error?: string;
}

for (const { name, given = {}, environment, files = {}, settings = {}, error } of readCases<Case>("settings.jsonl")) {
  test(`settings: ${name}`, (t) => {
    const folder = mkdtempSync(join(tmpdir(), "happycity-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const inFolder = (text: string) => text.replaceAll("{folder}", folder);
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text, "latin1");
    const variables = Object.entries(environment).map(([variable, value]) => [variable, inFolder(value)]);
    const { version: own, ...code } = given;
    const inCode = own === undefined ? code : { ...code, info: { version: String(own) } };
    const complete = () => completeSettings(inCode, Object.fromEntries(variables));
    if (error !== undefined) {
      assert.throws(complete, (thrown) => {
        assert(thrown instanceof HappyCityError && thrown.exitStatus === 2);
        return thrown.message.startsWith(inFolder(error));
      });
      return;
    }
    const { target, tls, usesProxy, name = "", token = "", games, info } = complete();
    const { version = "" } = info as { version?: string };
    const found = { server: target, tls, proxy: usesProxy, name, token, games, version };
    const program = settings.name === "*" ? { name: "settings.test" } : {};
    assert.deepEqual(found, { ...found, ...settings, ...program });
  });
}

test("the language is filled in, and what no variable says has a default", () => {
  const { info, reconnectMs } = completeSettings({ info: { author: "Ann" } }, {});
  assert.deepEqual(info, { author: "Ann", language: `JavaScript (Node.js ${process.version.slice(1).split(".")[0]})` });
  assert.equal(reconnectMs, 60_000);
});
