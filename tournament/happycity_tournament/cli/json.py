"""Tournaments and ratings as JSON, the same for all commands; what isn't known is null."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from happycity.records.record import Json
from happycity_tournament.plain_json import plain_json
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.ratings.results import BotRating, Ratings
from happycity_tournament.standings.digest import digest, log_of
from happycity_tournament.standings.standings import Standing


def listed_json(snapshot: Snapshot) -> Json:
    """Return a tournament as an entry of a list."""
    return {
        **_identity_json(snapshot),
        **_fields(snapshot, "games", "games_total", "bots", "disqualified", "remarks"),
    }


def result_json(snapshot: Snapshot, *, logs: Path | None = None) -> Json:
    """Return a tournament with all that is known of each of its bots; `logs` has the output of bots."""
    test, final = snapshot.test, snapshot.final
    config = None if snapshot.config is None else {**snapshot.config.json(), "seed": snapshot.seed}
    return {
        **_identity_json(snapshot),
        "config": None
        if config is None
        else {key: value for key, value in config.items() if key not in ("title", "anchor", "anchor_elo")},
        **_fields(snapshot, "games", "games_total", "decisions", "seconds", "games_voided", "games_unrated"),
        **_fields(snapshot, "missing_bots", "remarks"),
        "rating": None if final is None else model_json(final),
        "standings": _standings_json(snapshot, logs),
        **({} if test is None else {"sprt": {**asdict(test), "history": snapshot.test_history or None}}),
    }


def model_json(ratings: Ratings) -> Json:
    """Return what final ratings have in common."""
    return _fields(ratings, "model", "anchor", "anchor_elo", "notes")


def _identity_json(snapshot: Snapshot) -> Json:
    """Return which tournament it is, and where it stands."""
    state, created = snapshot.state.value, moment(snapshot.created_at)
    return {"tournament": snapshot.tournament_id, "title": snapshot.title, "state": state, "created": created}


def _fields(value: object, *names: str) -> Json:
    """Return attributes by their names."""
    return {name: getattr(value, name) for name in names}


def ratings_json(ratings: Ratings) -> list[Json]:
    """Return the ratings of bots, best first, each with how much it is above the next one of its pool."""
    return [{**_line_json(line), "above_next": above} for line, _, above in ratings.to_next()]


def _line_json(line: Standing | BotRating) -> Json:
    """Return a bot's line, the ends of its interval by the names that people know without context."""
    own = asdict(line)
    ends = {"elo_low": own.pop("low"), "elo_high": own.pop("high")}
    return {**own, **ends}


def write_json(content: object) -> None:
    """Write what `plain_json` takes to the standard output, with numbers as exact as they are known."""
    sys.stdout.write(json.dumps(plain_json(content), indent=2) + "\n")


def moment(unix: float) -> str:
    """Return a moment in Unix time by ISO 8601."""
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="seconds")


def _standings_json(snapshot: Snapshot, logs: Path | None) -> list[Json]:
    """Return each bot once, best first: its rating, its results, what it said of itself, and its output."""
    final = {} if snapshot.final is None else {line["bot"]: line for line in ratings_json(snapshot.final)}
    lines = [{**_standing_json(line, snapshot), **final.get(line.bot, {})} for line in snapshot.standings]
    lines.sort(key=lambda line: (line.get("pool", 1), line["rank"]))
    for line in lines:
        log, said = log_of(line["bot"], logs), snapshot.profiles.get(line["bot"])
        line["log"] = None if log is None else str(log)
        line["about"] = None if said is None else {"software": said.software, **asdict(said.info)}
    return lines


def _standing_json(line: Standing, snapshot: Snapshot) -> Json:
    disqualified = line.bot in snapshot.disqualified
    counts = [{**asdict(count), "ending": count.ending.word} for count in line.forfeit_counts]
    failed = digest(line, disqualified=disqualified) if line.forfeits else None
    return {**_line_json(line), "disqualified": disqualified, "forfeit_counts": counts, "digest": failed}
