"""A program as the bridge starts it: it plays the last legal move, and misbehaves as its argument says."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
FAILS_AT = 3
"""The decision at which a program fails."""


def say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def remark(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def play(number: int, decision: dict[str, Any]) -> None:
    """Answer a decision; `number` counts them from 1."""
    failing = number >= FAILS_AT
    if MODE == "crash" and failing:
        remark("out of ideas")
        sys.exit(3)
    elif MODE == "killed" and failing:
        os.kill(os.getpid(), signal.SIGKILL)
    elif MODE == "deaf" and failing:
        sys.stdout.close()
        os.close(1)
    elif MODE == "garbage" and failing:
        say('{"move": ')
    elif MODE == "endless" and failing:
        sys.stdout.write("x" * 100_000)
        sys.stdout.flush()
    elif (MODE == "illegal" and failing) or (MODE == "illegal_in_game_1" and decision["match_id"] == "1"):
        say("build castle")
    elif MODE == "variable":
        say(os.environ.get(sys.argv[2], "there is none"))
    elif MODE == "noting":
        metrics = {"asked": number, "value": -0.5}
        say(json.dumps({"move": decision["legal"][-1], "metrics": metrics}))
    elif MODE == "searching":
        search(decision)
    elif MODE == "odd":
        say('{"move": 0, "metrics": {"self": 1, "": 2, "\\ud800": 3}}')
    elif MODE != "silent":
        say(json.dumps({"move": decision["legal"][-1]}))


def search(decision: dict[str, Any]) -> None:
    """Answer by requests to the engine; decisions that come before a reply wait for their turn."""
    later: list[dict[str, Any]] = []

    def reply(**keys: object) -> dict[str, Any]:
        say(json.dumps(keys))
        while (message := json.loads(sys.stdin.readline()))["type"] == "decision":
            later.append(message)
        assert message["id"] == decision["id"]
        return dict(message)

    number = decision["id"]
    world = reply(ask="sample", seed=number, id=number)
    after = reply(ask="apply", position=world["position"], move=world["legal"][-1], id=number)
    values = reply(ask="playouts", seed=number, worlds=5)["values"]
    metrics = {"round": after["round"], "value": max(values)}
    say(json.dumps({"id": number, "move": values.index(max(values)), "metrics": metrics}))
    for waiting in later:
        search(waiting)


def main() -> None:
    decisions: list[dict[str, Any]] = []
    if MODE == "talkative":
        say("let us begin")
    for line in sys.stdin:
        message = json.loads(line)
        if MODE == "loud":
            remark(f"read a {message['type']}")
        if MODE == "diary":
            with Path(sys.argv[2]).open("a") as diary:
                diary.write(line)
        if message["type"] != "decision":
            continue
        decisions.append(message)
        if MODE in ("pairs", "backwards"):
            if len(decisions) % 2:
                continue
            if MODE == "pairs":
                say(0)
                say(1)
            else:
                say(json.dumps({"id": decisions[-1]["id"], "move": 1}))
                say(json.dumps({"id": decisions[-2]["id"], "move": 0}))
        else:
            play(len(decisions), message)
    if MODE == "diary":
        with Path(sys.argv[2]).open("a") as diary:
            diary.write("the end")


main()
