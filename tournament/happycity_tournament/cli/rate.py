"""What `tournament rate` does: rate bots by all games of some sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path

from rich.console import Console

from happycity import ConfigError
from happycity.errors import suggestion
from happycity.records.record import Json
from happycity.text.plural import plural
from happycity_tournament.cli.console import print_ratings, show
from happycity_tournament.cli.json import ratings_json, write_json
from happycity_tournament.cli.reading import load_games
from happycity_tournament.ratings.checks import check_lines, check_model
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.schedule.replays import swiss_error_factor
from happycity_tournament.storage.rating_input import Naming, RatingInput
from happycity_tournament.storage.sources import Source


def rate_sources(
    sources: Sequence[Source],
    *,
    naming: Naming,
    anchor: str | None,
    anchor_elo: float,
    json_file: Path | None,
) -> None:
    """Rate the bots by all games of some sources."""
    names = [source.name for source in sources]
    loaded = load_games(sources, naming)
    if anchor is not None and anchor not in loaded.games.bots:
        raise ConfigError(
            f"--anchor: {anchor!r} is not one of the bots; {suggestion(anchor, loaded.games.bots)}"
        )
    estimate = estimate_of(loaded.games)
    factor = swiss_error_factor(loaded.tournaments, estimate)
    ratings = rate(estimate, anchor=anchor, anchor_elo=anchor_elo, error_factor=factor)
    deviations = check_model(estimate)
    ratings = replace(ratings, notes=(*ratings.notes, *check_lines(deviations)))
    console = Console(stderr=str(json_file) == "-")
    print_ratings(console, ratings)
    show(console, _read(loaded, names))
    if json_file is not None:
        order = [line.bot for line in ratings.lines]
        content: Json = {
            "sources": names,
            "games": loaded.count,
            "copies": loaded.copies,
            "games_unrated": loaded.unrated,
            "games_practice": loaded.practice,
            "games_after_decision": loaded.after_decision,
            **ratings_json(ratings),
            "differences": [
                {"bot": bot, "other": other, **difference._asdict()}
                for bot, other in combinations(order, 2)
                if (difference := ratings.difference(bot, other)) is not None
            ],
            "checks": [asdict(one) for one in deviations],
        }
        write_json(content, json_file)


def _read(loaded: RatingInput, names: Sequence[str]) -> str:
    copies = f", copies left out: {loaded.copies:,}" if loaded.copies else ""
    unrated = f", {loaded.unrated} with a disqualified bot not rated" if loaded.unrated else ""
    practice = f", {plural(loaded.practice, 'practice game')} not rated" if loaded.practice else ""
    late = loaded.after_decision
    tests = f", {plural(late, 'game')} after the decision of a test left out" if late else ""
    return f"{plural(loaded.count, 'game')} of {', '.join(names)}{copies}{unrated}{practice}{tests}"
