"""A ladder as `happycity competition init --ladder` makes it, with the bots that first guests bring."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commands.competitions import Competition, competing, organiser_opens_it
from tests.server.hosting.conftest import why_not
from tests.waiting import LIMIT
from tools import ROOT

FIRST = ("ann", "bea", "cem", "dan")
"""Guests with the bot of the README."""
PATIENT = {"decision_seconds": LIMIT, "grace_seconds": LIMIT}
"""What isn't the default: times, as a test's machine may be slow."""


def readme_bot(*, version: str, slow: bool = False) -> str:
    """Return the README's bot with a version, which perhaps thinks for a while."""
    found = re.search(
        r"<!-- example bot -->\n```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert found is not None
    text = found[1].replace("run(MyBot)", f"run(MyBot, info=BotInfo(version={version!r}))")
    wait = "        threading.Event().wait(0.05)\n        return max(" if slow else "        return max("
    return f"import threading\n\nfrom happycity import BotInfo\n{text.replace('        return max(', wait)}"


def join(competition: Competition, name: str, *others: str, slow: bool = False) -> None:
    program = competition.top / f"{name}.py"
    program.write_text(readme_bot(version="1", slow=slow))
    competition.guest_joins(name, [sys.executable, str(program)], *others)


@pytest.fixture
def competition(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Competition]:
    """Yield an opened one with its first guests; but in a nightly test it plays one deal at once."""
    with competing(tmp_path) as competition:
        is_whole = request.node.get_closest_marker("nightly") is not None
        organiser_opens_it(competition, PATIENT if is_whole else {**PATIENT, "deals_at_once": 1})
        for name in FIRST:
            join(competition, name)
        join(competition, "slow", slow=True)
        yield competition


def changes(competition: Competition, name: str) -> None:
    """A guest changes a bot that has played, and starts it again."""
    competition.running[name].stop()
    (competition.top / f"{name}.py").write_text(readme_bot(version="2"))
    competition.guest_starts(name, [sys.executable, str(competition.top / f"{name}.py")])


def submits(competition: Competition) -> tuple[str, ...]:
    """A guest hands a bot in, where this machine can play it."""
    if why_not():
        return ()
    join(competition, "eva", "hosted")
    competition.run("eva", "new-bot", "hosted", "--language", "python")
    assert json.loads(competition.run("eva", "submit", "hosted", "--json"))["state"] == "playing"
    return ("eva", "hosted")


@pytest.mark.level(3)
def test_first_bots_play_the_default_ladder(competition: Competition) -> None:
    """All of them: also a changed one on the same day, one that thinks, and one that the server plays."""
    competition.until(lambda: competition.deals("--bot", "ann"))
    changes(competition, "ann")
    guests = (*FIRST, "slow", *submits(competition))
    new = competition.ladder("ann", "show", "ann")["versions"][0]
    assert new["info"]["version"] == "2"
    competition.until(lambda: competition.deals("--version", new["version_id"]))
    competition.until(lambda: all(competition.deals("--bot", name) for name in guests))


@pytest.mark.nightly
def test_first_bots_are_ranked_by_the_default_ladder(competition: Competition) -> None:
    """Within their games of a day; who has played them gets a notice, and a changed bot is ranked again."""
    guests = {*FIRST, "slow", *submits(competition)}

    def ranked() -> set[str]:
        lines = competition.ladder("cup", "show")["leaderboard"]["lines"]
        return {line["version"]["bot"] for line in lines if line["rank"]}

    competition.until(lambda: ranked() >= guests)
    changes(competition, "ann")
    competition.until(lambda: competition.ladder("ann", "show", "ann")["wait"] is not None)
    competition.until(lambda: "ann" in ranked())
    competition.until(lambda: competition.ladder("cup", "show")["ladder"]["idle"])
