"""Failures of bots in words: a line for each bot that forfeited games, the same wherever people read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from happycity import Ending
from happycity.text.words import plural
from happycity_tournament.running.snapshot import Snapshot
from happycity_tournament.running.standings import ForfeitCount, Standing

REASONS_SHOWN = 3
"""Different reasons that are shown for each way to fail."""

_FAILED = {
    Ending.TIMEOUT: "answered too late in",
    Ending.ILLEGAL: "gave illegal answers in",
    Ending.DISCONNECTED: "was disconnected in",
    Ending.RESIGNED: "resigned in",
    Ending.CRASHED: "crashed in",
    Ending.ABSENT: "was not connected in",
    Ending.SILENT: "was silent in",
}


def log_of(bot: str, folder: Path | None) -> Path | None:
    """Return the file with a bot's output in a run's folder; None if there is none."""
    log = None if folder is None else folder / f"bot-{bot}.log"
    return log if log is not None and log.exists() else None


def digests(snapshot: Snapshot, logs: Path | None = None) -> Iterator[str]:
    """Yield a line for each bot that forfeited games; `logs` is the folder with the output of bots."""
    for line in snapshot.standings:
        if line.forfeits:
            yield digest(line, disqualified=line.bot in snapshot.disqualified, log=log_of(line.bot, logs))


def digest(line: Standing, *, disqualified: bool = False, log: Path | None = None) -> str:
    """Return in one line how often and why a bot failed, in which game first, and where its output is.

    For example `mine crashed in 9 of 9 games: IndexError: list index out of range (mine.py:5), first in game
    12; log: runs/20261122-153000/bot-mine.log`.
    """
    parts = [f"{line.bot} {failures(line)}"]
    if disqualified:
        parts.append(f"disqualified after {plural(line.games, 'game')}")
    if log is not None:
        parts.append(f"log: {log}")
    return "; ".join(parts)


def failures(line: Standing) -> str:
    """Return how often and why a bot failed, the most frequent way first."""
    by_ending: dict[Ending, list[ForfeitCount]] = {}
    for count in line.forfeit_counts:
        by_ending.setdefault(count.ending, []).append(count)
    ways = sorted(by_ending.items(), key=lambda way: -_games(way[1]))
    texts: list[str] = []
    for ending, counts in ways:
        verb = _FAILED.get(ending, f"forfeited ({ending.word})")
        first = min(count.first_match_id for count in counts)
        failed, played = _games(counts), plural(line.games, "game")
        often = plural(failed, "game") if texts else f"{failed:,} of {played}"
        texts.append(f"{verb} {often}{_reasons(counts)}, first in game {first}")
    return "; ".join(texts)


def _reasons(counts: Sequence[ForfeitCount]) -> str:
    """Return the reasons for which a bot failed in one way, the most frequent first."""
    known = [count for count in counts if count.reason]
    if len(counts) == 1:
        return f": {known[0].reason}" if known else ""
    shown = [f"{count.reason} in {count.games}" for count in known[:REASONS_SHOWN]]
    if others := _games(counts) - _games(known[:REASONS_SHOWN]):
        shown.append(f"others in {others}")
    return f": {', '.join(shown)}"


def _games(counts: Sequence[ForfeitCount]) -> int:
    return sum(count.games for count in counts)
