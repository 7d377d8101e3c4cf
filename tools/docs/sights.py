"""Write who sees what into docs/who-sees-what.md, from the tables of tests/web.

Usage: python -m tools sights. The tables are written by hand, and a test holds servers and pages to them.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator

from tools import ROOT
from tools.docs.contract import table

PAGE = ROOT / "docs" / "who-sees-what.md"
INTRODUCTION = """# Who sees what

Written by `python -m tools sights` from `tests/web/sights.csv` and `tests/web/ways.csv`; tests hold
methods and pages of a server to both. The rules are functions in `happycity_tournament/visibility.py`.

A deal that is in play is a secret: its seed and the records of its finished games have the order of the
cards. It is in play while a match with its seed is open, while a table waits for people with it, while
its tournament or another one with the same seed is not finished, and while a deal of the ladder with it
is open. Only a tournament that is stopped shows its seed to organisers, as they decide whether it
continues.

The public calls without a token, on a server that is run with `--public`; on other servers it sees
nothing. A token adds to what the public sees. The player is a bot that sits in the match, a person one
who sits at a table. On a server without tokens every caller is an organiser.

| word | what is seen |
|---|---|
| - | not even that it exists |
| exists | that it exists, with its bots and its state |
| result | its result or standings too |
| all | its positions, record and seed too; of a way that shows only part of it, that part |"""
SHOWN = {
    "match": "Show a match",
    "game": "Show its positions",
    "record": "Show what follows from its record",
    "tournament": "Show a tournament",
    "standings": "Show its standings, and the results of its bots",
    "deal": "Show a deal of the ladder",
    "owner": "Show the owners of bots",
    "own game": "Show a game to those who play it; workers get the deals that they play",
    "own files": "Show games of files on the machine of the caller",
    "nothing": "Show none of these",
}


def sights_page() -> str:
    """Return the page, as Markdown."""
    return "\n\n".join([INTRODUCTION, *_sights(), "## By which way", *_ways()]) + "\n"


def _sights() -> Iterator[str]:
    rows = defaultdict[str, list[dict[str, str]]](list)
    for row in _table("sights"):
        rows[row.pop("of")].append(row)
    for kind, some in rows.items():
        yield f"## What is seen of a {kind}" if kind[0] != "o" else "## Who sees the owner of a bot"
        yield table(tuple(some[0]), (tuple(row.values()) for row in some))


def _ways() -> Iterator[str]:
    shown = defaultdict[str, list[str]](list)
    for row in _table("ways"):
        parts = [row["shows"]] if row["shows"] in SHOWN else row["shows"].split()
        for part in parts:
            shown[part].append(f"`{row['way']}`")
    yield table(("what", "ways"), ((text, ", ".join(shown[part])) for part, text in SHOWN.items()))


def _table(name: str) -> list[dict[str, str]]:
    text = (ROOT / "tests" / "web" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def main() -> None:
    """Write the page."""
    PAGE.write_text(sights_page(), encoding="utf-8")
