"""`tournament rate`: rate bots by all games of some sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import TYPE_CHECKING, Annotated

import typer

from happycity.errors import suggestion
from happycity_runtime.commands import AsJson
from happycity_tournament.cli.options import GAMES, LuckGames, TakeOffLuck, games_for_luck
from happycity_tournament.config import MEAN_ELO

if TYPE_CHECKING:
    from rich.table import Table

    from happycity.records.record import Json
    from happycity_tournament.ratings.mean_luck import MeanLuck
    from happycity_tournament.ratings.results import Ratings
    from happycity_tournament.standings.rated_games import RatedGames


def rate(
    addresses: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ADDRESS", help=f"{GAMES} Several are read together.  [default: the latest run]"
        ),
    ] = None,
    *,
    anchor: Annotated[
        str | None,
        typer.Option(metavar="BOT", help="The bot whose rating is fixed.  [default: the mean of all bots]"),
    ] = None,
    anchor_elo: Annotated[
        float, typer.Option(help="The rating of the anchor, or the mean of all ratings.")
    ] = MEAN_ELO,
    renamed: Annotated[
        list[str] | None,
        typer.Option(
            "--rename",
            metavar="OLD=NEW",
            help="Rate the bot OLD under the name NEW, together with a bot of that name; may be repeated.",
        ),
    ] = None,
    luck_adjusted: TakeOffLuck = False,
    luck_games: LuckGames = 0,
    as_json: AsJson = False,
) -> None:
    """Rate bots by all their games.

    The ratings are computed like the final ratings of a tournament. Copies of a game count once; games with
    a disqualified bot are left out. Checks say where the games contradict the model of the ratings.
    """
    from rich.console import Console

    from happycity.errors import ConfigError
    from happycity.text.words import plural
    from happycity_tournament.cli.addresses import open_sources
    from happycity_tournament.cli.console import print_ratings
    from happycity_tournament.cli.json import model_json, ratings_json, write_json
    from happycity_tournament.cli.tables import print_lines, reading_games
    from happycity_tournament.config import check_elo
    from happycity_tournament.ratings.checks import check_model
    from happycity_tournament.ratings.estimate import estimate_of
    from happycity_tournament.ratings.mean_luck import mean_luck
    from happycity_tournament.standings.counted import uncounted_text
    from happycity_tournament.standings.rated_games import load_for_rating, rate_games
    from happycity_tournament.storage.sources import SourceError

    check_elo("--anchor-elo", anchor_elo)
    new_names = _renamed(renamed or ())
    luck = games_for_luck(luck_games, adjusted=luck_adjusted)
    with open_sources(addresses or [None], luck_games=luck) as sources:
        with reading_games(*sources):
            loaded = load_for_rating(sources, new_names)
        names, evaluator = [source.name for source in sources], sources[0].luck_evaluator
        if not loaded.count:
            rated = " that is rated" if loaded.uncounted else ""
            raise SourceError(", ".join(names), f"no finished game in it{rated}")
        if anchor is not None and anchor not in loaded.games.bots:
            raise ConfigError(
                f"--anchor: {anchor!r} is not one of the bots; {suggestion(anchor, loaded.games.bots)}"
            )
        estimate = estimate_of(loaded.games)
        ratings = rate_games(estimate, anchor=anchor, anchor_elo=anchor_elo, luck_evaluator=evaluator)
        lucks = mean_luck(loaded.games)
        if as_json:
            content = {
                "sources": names,
                **_counts_json(loaded),
                "luck_evaluator": evaluator or None,
                "rating": model_json(ratings),
                "standings": ratings_json(ratings),
                "differences": _differences_json(ratings),
                "luck": [
                    {**asdict(luck), "deviation": luck.deviation, "is_too_lucky": luck.is_too_lucky}
                    for luck in lucks
                ],
                "checks": check_model(estimate),
            }
            write_json(content)
            return
        console = Console()
        print_ratings(console, ratings)
        if lucks:
            console.print("", _luck_table(lucks), "", sep="\n")
        copies = f", copies left out: {loaded.copies:,}" if loaded.copies else ""
        read = (
            f"{plural(loaded.count, 'game')} of {', '.join(names)}{copies}{uncounted_text(loaded.uncounted)}"
        )
        print_lines(console, read)


def _luck_table(lucks: Sequence[MeanLuck]) -> Table:
    from happycity_tournament.cli.tables import number_text, table_of

    columns: dict[str, Callable[[MeanLuck], str]] = {
        "bot": lambda luck: luck.bot,
        "luck, places a game": lambda luck: number_text(luck.places, luck.margin, 3, sign="+"),
        "standard errors": lambda luck: f"{luck.deviation:+.1f}{' too lucky' if luck.is_too_lucky else ''}",
        "deals": lambda luck: str(luck.deals),
    }
    return table_of(lucks, columns, compact=True)


def _counts_json(loaded: RatedGames) -> Json:
    from happycity_tournament.standings.counted import Uncounted

    return {
        "games": loaded.count,
        "copies": loaded.copies,
        "games_unrated": loaded.uncounted[Uncounted.UNRATED],
        "games_practice": loaded.uncounted[Uncounted.PRACTICE],
        "games_after_decision": loaded.uncounted[Uncounted.AFTER_DECISION],
    }


def _differences_json(ratings: Ratings) -> list[Json]:
    return [
        {"bot": bot, "other": other, **asdict(difference)}
        for bot, other in combinations([line.bot for line in ratings.lines], 2)
        if (difference := ratings.difference(bot, other)) is not None
    ]


def _renamed(texts: Sequence[str]) -> dict[str, str]:
    """Read `--rename OLD=NEW`, or raise a ConfigError."""
    from happycity.errors import ConfigError
    from happycity.match import one_line

    renamed: dict[str, str] = {}
    for text in texts:
        old, _, new = text.partition("=")
        if not old or not new:
            raise ConfigError(f"--rename: {one_line(text)!r} is not OLD=NEW")
        if old in renamed:
            raise ConfigError(f"--rename: {old!r} has two new names")
        renamed[old] = new
    return renamed
