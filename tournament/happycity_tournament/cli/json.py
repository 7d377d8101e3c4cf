"""Tournaments and ratings as JSON, the same for all commands; unknown values are null."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from happycity import ConfigError
from happycity.records.record import Json
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.sprt import SprtPoint, SprtState
from happycity_tournament.ratings.statistics import BotMetrics
from happycity_tournament.running.digest import digest, log_of
from happycity_tournament.running.snapshot import Snapshot
from happycity_tournament.running.standings import Standing


def listed_json(snapshot: Snapshot) -> Json:
    """Return a tournament as an entry of a list."""
    config = snapshot.config
    return {
        "tournament": snapshot.tournament_id,
        "title": snapshot.title,
        "state": snapshot.state.value,
        "games": snapshot.games,
        "games_total": snapshot.games_total,
        "bots": snapshot.bots,
        "participations": [] if config is None else config.json()["participations"],
        "created": _created(snapshot),
        "remarks": snapshot.remarks,
    }


def result_json(snapshot: Snapshot, *, logs: Path | None = None) -> Json:
    """Return a tournament with its standings and final ratings; `logs` is the folder with bots' output."""
    config, test = snapshot.config, snapshot.test
    return {
        "tournament": snapshot.tournament_id,
        "title": snapshot.title,
        "state": snapshot.state.value,
        "created": _created(snapshot),
        "config": None if config is None else {**config.json(), "seed": snapshot.seed},
        "games": snapshot.games,
        "games_total": snapshot.games_total,
        "decisions": snapshot.decisions,
        "seconds": round(snapshot.seconds, 3),
        "games_voided": snapshot.games_voided,
        "games_unrated": snapshot.games_unrated,
        "disqualified": snapshot.disqualified,
        "missing_bots": snapshot.missing_bots,
        "profiles": {
            bot: {"software": said.software, **asdict(said.info)}
            for bot in snapshot.bots
            if (said := snapshot.profiles.get(bot))
        },
        "remarks": snapshot.remarks,
        "standings": [_standing_json(line, snapshot) for line in snapshot.standings],
        "logs": {bot: str(log) for bot in snapshot.bots if (log := log_of(bot, logs)) is not None},
        "final": None if snapshot.final is None else ratings_json(snapshot.final),
        **({} if test is None else {"sprt": _test_json(test, snapshot.test_history)}),
    }


def _test_json(test: SprtState, history: Sequence[SprtPoint]) -> Json:
    """Return a sequential test; its history is None where it isn't known."""
    points = [point._asdict() for point in history] or None
    return {**asdict(test), "verdict": test.verdict.value, "history": points}


def ratings_json(ratings: Ratings) -> Json:
    """Return ratings, each with how much it is above the next one of its pool."""
    return {
        "model": ratings.model,
        "anchor": ratings.anchor,
        "anchor_elo": ratings.anchor_elo,
        "notes": list(ratings.notes),
        "ratings": [
            {**asdict(line), "above_next": None if above is None else above._asdict()}
            for line, _, above in ratings.to_next()
        ],
    }


def metrics_json(metrics: BotMetrics) -> Json:
    """Return what bots' metrics come to."""
    return {
        bot: {
            name: {
                "answers": numbers.count,
                "sum": numbers.total,
                "mean": numbers.mean,
                "min": numbers.least,
                "max": numbers.most,
            }
            for name, numbers in of_bot.items()
        }
        for bot, of_bot in metrics.items()
    }


def write_json(content: Json | list[Json], path: Path | None = None) -> None:
    """Write JSON to a file; to the standard output if the path is None or `-`, or can't be written."""
    text = json.dumps(content, indent=2) + "\n"
    if path is None or str(path) == "-":
        sys.stdout.write(text)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        sys.stdout.write(text)
        problem = f"--json: {path} can't be written: {error.strerror}; the JSON is in the standard output"
        raise ConfigError(problem) from None


def _created(snapshot: Snapshot) -> str:
    return datetime.fromtimestamp(snapshot.created_at, UTC).isoformat(timespec="seconds")


def _standing_json(line: Standing, snapshot: Snapshot) -> Json:
    counts = [{**asdict(count), "ending": count.ending.word} for count in line.forfeit_counts]
    failed = digest(line, disqualified=line.bot in snapshot.disqualified) if line.forfeits else None
    return {**asdict(line), "forfeit_counts": counts, "digest": failed}
