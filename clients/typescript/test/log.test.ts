import assert from "node:assert/strict";
import { test } from "node:test";
import { Ending } from "happycity";
import { CrashLog } from "../src/crash-log.js";
import { placeOf, stderrLog } from "../src/log.js";
import { NoticeKind } from "../src/v1.js";
import { Arena, decision, over, play, start } from "./arena.js";

function crashLog(): [CrashLog, [string, boolean][]] {
  const lines: [string, boolean][] = [];
  const error = (text: string, cause?: unknown) => void lines.push([text, cause !== undefined]);
  return [new CrashLog("mine", { info: assert.fail, warn: assert.fail, error }), lines];
}

test("a crash is logged with its stack once, then at powers of ten and at the end", () => {
  const [crashes, lines] = crashLog();
  for (let match = 1n; match <= 25n; match++) {
    crashes.add("given up", match, placeOf(match, 2, 3), `card ${match} is missing`);
  }
  crashes.add("given up", 99n, placeOf(99n), "lost");
  crashes.close();
  assert.deepEqual(lines, [
    ["mine: match 1, round 2, decision 3: given up", true],
    [
      "mine: match 10, round 2, decision 3: the same crash as in match 1 (10 so far): card 1 is missing",
      false,
    ],
    ["mine: match 99: given up", true],
    ["mine: the same crash in 25 games, first in match 1: card 1 is missing", false],
  ]);
});

test("a bot whose errors are all different fills neither the memory nor the log", () => {
  const [crashes, lines] = crashLog();
  for (let i = 1; i < 1000; i++)
    crashes.add("given up", 1n, "match 1", "x".repeat(i % 150).concat("y".repeat(i / 150)));
  crashes.close();
  assert(lines.length < 110, `${lines.length} lines`);
});

test("the end of a game says in one line that the server gave the seat up", async (t) => {
  const arena = await Arena.listen(t);
  const playing = play(t, arena, () => () => 0);
  const [stream] = await arena.welcome();
  stream.send({ gamesStarted: [start(7n)], decisions: [decision(7n, 3)] });
  await stream.answers(1);
  const lost = over(7n);
  const own = lost.end?.$case === "result" ? lost.end.value.seats[0] : undefined;
  assert(own);
  Object.assign(own, { ending: Ending.TIMEOUT, reason: "no answer\nwithin 10 s" });
  const text = "the seat is forfeited: timeout";
  stream.send({ notices: [{ kind: NoticeKind.FORFEIT, matchId: 7n, decisionId: 3, round: 1, text }] });
  stream.send({ gamesOver: [lost] });
  stream.send({ gamesStarted: [start(8n)], decisions: [decision(8n)] });
  await stream.answers(1);
  const lines = playing.log.filter((line) => line.includes("forfeit"));
  assert.deepEqual(lines, [
    "tester: match 7, decision 3: the seat was forfeited: timeout: no answer within 10 s",
  ]);
});

test("lines have the time in UTC", (t) => {
  const write = t.mock.method(process.stderr, "write", () => true);
  stderrLog.warn("tester: late");
  write.mock.restore();
  assert.match(
    String(write.mock.calls[0]?.arguments[0]),
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ WARNING tester: late\n$/,
  );
});
