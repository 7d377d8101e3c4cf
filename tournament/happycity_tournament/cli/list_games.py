"""`tournament games`: choose games, and list them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from happycity.errors import ConfigError, FieldError, suggestion
from happycity_runtime.commands import AsJson
from happycity_tournament.cli.options import Source as Games

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from happycity.match import SeatResult
    from happycity.records.record import Json
    from happycity_tournament.games import FinishedGame
    from happycity_tournament.storage.sources import Source

GAMES_LISTED = 20
"""Games that a list has unless a limit is given."""
_GAP = 2  # spaces between columns
_LEAST_NAME = 4
"""Characters of a name that are shown in the narrowest terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameFilter:
    """Which games of a source are listed, and in which order; ConfigError if a choice lacks its bot."""

    bot: str | None = None
    """Only games of this bot, which `lost`, `forfeits` and `worst` are about."""
    lost: bool = False
    """Only games in which the bot was not first."""
    forfeits: bool = False
    """Only games that the bot, or without one anybody, forfeited."""
    worst: int | None = None
    """At most this many games, those first with the lowest place, then the most points behind the best."""
    limit: int | None = None
    """The most games that are listed, without `worst` the newest; 0: all; None: the usual number."""

    def __post_init__(self) -> None:
        """Refuse a choice by the result of a bot that is not named."""
        for flag, chosen in (("--lost", self.lost), ("--worst", self.worst is not None)):
            if chosen and self.bot is None:
                raise FieldError(flag, "name the bot with --bot")
        if self.worst is not None and self.limit is not None:
            raise ConfigError("--worst, --limit: both say how many games; give one of them")

    def of(self, source: Source) -> tuple[list[FinishedGame], bool]:
        """Return the chosen games of a source, and whether the limit left some out.

        ConfigError if the bot plays in no game of the source.
        """
        games = filter(self._includes, source.newest_games(bot=self.bot))
        limit = (GAMES_LISTED if self.limit is None else self.limit) or None
        if self.worst is not None:
            chosen, limit = heapq.nsmallest(self.worst, games, key=self._merit), None
        else:
            chosen = list(islice(games, limit and limit + 1))
        if not chosen and self.bot is not None:
            check_plays(self.bot, source)
        return chosen[:limit], len(chosen) > (limit or math.inf)

    def _includes(self, game: FinishedGame) -> bool:
        seats = self._seats(game)
        return (not self.lost or all(seat.place > 1 for seat in seats)) and (
            not self.forfeits or any(seat.forfeited for seat in seats)
        )

    def _merit(self, game: FinishedGame) -> tuple[int, int]:
        """Return how well the bot did in its worst seat: better places and smaller distances are higher."""
        best = max(seat.points for seat in game.seats)
        return min((-seat.place, seat.points - best) for seat in self._seats(game))

    def _seats(self, game: FinishedGame) -> list[SeatResult]:
        """Return the seats of the bot, or all seats."""
        seats = zip(game.bots, game.seats, strict=True)
        return [seat for name, seat in seats if self.bot in (None, name)]


def games(
    address: Games = None,
    *,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="Only games of this bot.")] = None,
    lost: Annotated[
        bool, typer.Option("--lost", help="Only games that the bot of --bot didn't win: its place is not 1.")
    ] = False,
    forfeits: Annotated[
        bool, typer.Option("--forfeits", help="Only games that the bot of --bot, or any bot, forfeited.")
    ] = False,
    worst: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Only the N worst games of the bot of --bot: by place, then by points behind the best.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help=f"The most games, without --worst the newest; 0: all.  [default: {GAMES_LISTED}]",
        ),
    ] = None,
    luck: Annotated[
        bool, typer.Option("--luck", help="Show how many places each seat won by the luck of its draws.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List games with the ids by which other commands find them.

    Each line has a game's id, its deal as round.table, and by seat the bots with their places and points, or
    how they forfeited. Games of the same deal have the same cards.
    """
    from happycity_tournament.cli.addresses import open_sources
    from happycity_tournament.cli.json import write_json

    choice = GameFilter(bot=bot, lost=lost, forfeits=forfeits, worst=worst, limit=limit)
    with open_sources([address], luck_games=0 if luck else None) as (source,):
        chosen, more = choice.of(source)
        if luck:
            chosen = [source.game(game.match_id)[0] for game in chosen]
        if as_json:
            write_json(list(map(listed_game_json, chosen)))
        else:
            _print(chosen, choice, more=more, source=source)


def _print(games: Sequence[FinishedGame], choice: GameFilter, *, more: bool, source: Source) -> None:
    from rich.console import Console

    from happycity_tournament.cli.tables import print_lines

    console = Console()
    if not games:
        print_lines(console, "no game of that kind" if choice.lost or choice.forfeits else "no games")
        return
    console.print(games_table(games, width=console.width))
    if more:
        print_lines(console, f"the newest {len(games)}; more with: --limit N, all with: --limit 0")
    if source.luck_evaluator:
        print_lines(console, f"signed numbers: places won by luck, by evaluator {source.luck_evaluator}")
    print_lines(console, f"look at one with: happycity show {source.name} {games[0].match_id}")


def listed_game_json(game: FinishedGame) -> Json:
    """Return a game as an entry of a list; seats are counted from 0, and what isn't known is null."""
    from happycity_tournament.cli.json import moment

    number, table, rotation = game.position or (None, None, None)
    return {
        "game": game.match_id,
        "tournament": game.tournament_id,
        "round": number,
        "table": table,
        "rotation": rotation,
        "deal_seed": game.deal_seed or None,
        "seats": [
            {
                "bot": bot,
                "points": seat.points,
                "coins": seat.coins,
                "place": seat.place,
                "ending": seat.ending.word,
                "reason": seat.reason or None,
                **({"luck": luck} if luck is not None else {}),
            }
            for bot, seat, luck in zip(game.bots, game.seats, _luck(game), strict=True)
        ],
        "decisions": game.decisions,
        "finished": None if game.finished_at is None else moment(game.finished_at),
    }


def games_table(games: Sequence[FinishedGame], *, width: int) -> Table:
    """Return games as a table: a line for each, which fits the width if that is 80 columns or more."""
    from rich import box
    from rich.table import Table

    tournaments = {game.tournament_id for game in games}
    has_deals = any(game.deal_label for game in games)
    columns = ["game", *(["tournament"] if len(tournaments) > 1 else []), *(["deal"] if has_deals else [])]
    players = max(len(game.bots) for game in games)
    rows = [_leading_cells(game, columns) for game in games]
    taken = sum(_GAP + max(len(cell) for cell in cells) for cells in zip(columns, *rows, strict=True))
    room = (width - taken + _GAP) // players - _GAP
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, justify="right")
    for seat in range(1, players + 1):
        table.add_column(f"seat {seat}", no_wrap=True)
    for game, cells in zip(games, rows, strict=True):
        table.add_row(*cells, *_seat_cells(game, room))
    return table


def _leading_cells(game: FinishedGame, columns: Iterable[str]) -> list[str]:
    cells = {
        "game": str(game.match_id),
        "tournament": str(game.tournament_id or "-"),
        "deal": game.deal_label or "-",
    }
    return [cells[column] for column in columns]


def _seat_cells(game: FinishedGame, room: int) -> Iterator[Text]:
    """Yield place, name and points of each seat, or how it was forfeited; long names are cut."""
    from rich.text import Text

    for bot, seat, luck in zip(game.bots, game.seats, _luck(game), strict=True):
        end = seat.ending.word if seat.forfeited else str(seat.points)
        end += f" {luck:+.1f}" if luck is not None else ""
        space = max(_LEAST_NAME, room - len(f"{seat.place}.  {end}"))
        name = bot if len(bot) <= space else bot[: space - 1] + "…"
        yield Text(f"{seat.place}. {name} {end}")


def _luck(game: FinishedGame) -> Sequence[float | None]:
    """Return the luck of each seat; None where it isn't known."""
    return game.luck or (None,) * len(game.seats)


def check_plays(bot: str, source: Source) -> None:
    """Refuse a bot that plays in no game of a source, with a ConfigError."""
    bots = dict.fromkeys(source.bots())
    if bot not in bots:
        raise ConfigError(f"--bot: {bot!r} plays in no game of {source.name}; {suggestion(bot, bots)}")
