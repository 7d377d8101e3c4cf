"""The ladder's entries as rows of the store's tables, and what a finished game changes in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeVar

from pydantic import FiniteFloat
from sqlalchemy import Connection, Row, Select, func, insert, select, update

from happycity import BotInfo, ConfigError, Ending
from happycity.match import one_line
from happycity.wire.moments import LATEST
from happycity_ladder.entries import (
    ActionKind,
    ChallengeState,
    DealKind,
    DealLuck,
    ModerationAction,
    RatedDeal,
    Version,
)
from happycity_ladder.leaderboard import Score
from happycity_tournament.games import BotProfile, FinishedGame
from happycity_tournament.plain_json import adapter
from happycity_tournament.storage.database import as_json
from happycity_tournament.storage.schema import (
    games,
    ladder_challenges,
    ladder_deals,
    ladder_games,
    ladder_scores,
    ladder_seasons,
)

_LARGEST = 2**31 - 1
"""The largest number of anything but an id or a moment."""
_T = TypeVar("_T")
_Row = TypeVar("_Row")


def entry_of(kind: type[_T], row: Row[Any], **fields: object) -> _T:
    """Read an entry from a row whose columns have the names of its fields, but for those that are given.

    Raises:
        TypeError, ValueError: the row has no such entry, or a number or a text that no message has room for.
    """
    as_json(list(row))  # refuses what can't be encoded
    for name, value in row._mapping.items():
        if type(value) is int and not 0 <= value <= _LARGEST and not name.endswith(("id", "at")):
            raise ValueError(f"{name}: {value}")
    entry: _T = adapter(kind).validate_python({**row._mapping, **fields})
    return entry


def readable(read: Callable[[_Row], _T], row: _Row) -> _T | None:
    """Return what is read from a row; None if it is damaged."""
    try:
        return read(row)
    except (ValueError, TypeError, OverflowError, AttributeError, LookupError, ConfigError):
        return None


def row_of(entry: object, *without: str) -> dict[str, Any]:
    """Return the columns of an entry, but for some."""
    kind: Any = type(entry)
    row: dict[str, Any] = adapter(kind).dump_python(entry, mode="json", exclude=set(without))
    return row


def version_of(row: Row[Any]) -> Version:
    """Read a row of `ladder_versions`: one that is damaged without its texts and times, as deals name it."""
    try:
        profile = BotProfile(entry_of(BotInfo, row), one_line(row.software))
        version = entry_of(Version, row, profile=profile)
        if not 0 <= version.first_at <= version.last_at <= LATEST:
            raise ValueError("moments of a version")
    except (ValueError, AttributeError, TypeError):
        return Version(
            id=row.id,
            bot=str(row.bot),
            owner=str(row.owner),
            house=bool(row.house),
            profile=BotProfile(BotInfo()),
            first_at=0.0,
            last_at=0.0,
        )
    return version


def action_of(row: Row[Any]) -> ModerationAction:
    """Read a row of `acts`: one that is damaged without its moment, as a suspended bot stays suspended.

    Raises:
        ValueError: it isn't known what was done.
    """
    try:
        return entry_of(ModerationAction, row)
    except (ValueError, TypeError):
        return ModerationAction(
            id=row.id,
            at=0.0,
            organiser=str(row.organiser),
            kind=ActionKind(row.kind),
            bot=row.bot,
            owner=row.owner,
            text=str(row.text),
        )


def deals_by_game() -> Select[Any]:
    """Return a query of deals and their games: a row for each game, with the columns of its deal."""
    of_game = ladder_games.c.rotation, games.c.places, games.c.endings, games.c.finished_at.label("ended")
    return (
        select(ladder_deals, *of_game)
        .join(ladder_games, ladder_games.c.deal_id == ladder_deals.c.id)
        .join(games, games.c.id == ladder_games.c.game_id)
    )


def rated_deal_of(rows: Sequence[Any]) -> RatedDeal:
    """Read a deal from the rows of its games, by rotation.

    Raises:
        LookupError, TypeError, ValueError: there is no such deal.
    """
    first = rows[0]
    players = len(first.versions)
    # In rotation r, versions[i] has the seat (i - r) modulo players.
    places = tuple(
        tuple(row.places[(index - row.rotation) % players] for index in range(players)) for row in rows
    )
    numbers = all(type(number) is int and number > 0 for number in chain(first.versions, *places))
    if not (numbers and 0 <= first.finished_at <= LATEST):
        raise ValueError("versions, places and moment of a deal")
    return RatedDeal(
        finished=first.finished,
        finished_at=first.finished_at,
        versions=tuple(first.versions),
        places=places,
        id=first.id,
    )


def deal_luck_of(row: Row[Any]) -> DealLuck:
    """Read the luck of a deal from a row of `ladder_deals`; TypeError or ValueError if there is none."""
    places = adapter(tuple[FiniteFloat, ...]).validate_json(row.luck)
    if len(places) != len(row.versions) or not all(type(number) is int for number in row.versions):
        raise ValueError("luck and versions of a deal")
    return DealLuck(row.id, tuple(row.versions), places)


def add_ladder_games(connection: Connection, batch: Sequence[FinishedGame]) -> None:
    """Note the deals of games that have just been inserted, and finish those that are complete."""
    last: dict[int, int] = {}  # the index of the last game of each deal
    rows = []
    for index, game in enumerate(batch):
        assert game.ladder is not None
        deal_id, rotation = game.ladder
        rows.append({"game_id": game.match_id, "deal_id": deal_id, "rotation": rotation})
        last.pop(deal_id, None)
        last[deal_id] = index  # in the order in which the deals may be complete
    connection.execute(insert(ladder_games), rows)
    played: defaultdict[int, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(deals_by_game().where(ladder_deals.c.id.in_(last))):
        played[row.id].append(row)
    complete = [played[deal_id] for deal_id in last if _is_complete(played[deal_id])]
    if complete:
        _finish(connection, complete)


def uncount(connection: Connection, act_id: int) -> set[str]:
    """Take the rated deals that an action has voided out of scores and seasons; return their boards."""
    own = ladder_deals.c.act_id == act_id, ladder_deals.c.kind == DealKind.RATED.value
    scores: defaultdict[tuple[int, str, int], Score] = defaultdict(Score)
    deals = Counter[int]()
    for row in connection.execute(deals_by_game().where(*own)):
        add_scores(scores, row.season_id, [row])
        deals[row.season_id] += row.rotation == 0
    for key, score in scores.items():
        _store_score(connection, key, -score)
    for season_id, number in deals.items():
        season = update(ladder_seasons).where(ladder_seasons.c.id == season_id)
        connection.execute(season.values(deals=ladder_seasons.c.deals - number))
    return {board for _, board, _ in scores}


def last_finished(connection: Connection) -> tuple[int, float]:
    """Return the number and the time of the deal that was finished last; zeros without any."""
    query = select(ladder_deals.c.finished, ladder_deals.c.finished_at).where(ladder_deals.c.finished > 0)
    row = connection.execute(query.order_by(ladder_deals.c.finished.desc()).limit(1)).first()
    return (0, 0.0) if row is None else (row.finished, row.finished_at)


def _is_complete(rows: Sequence[Row[Any]]) -> bool:
    return rows[0].finished is None and len(rows) == len(rows[0].versions)


def _finish(connection: Connection, complete: Sequence[Sequence[Row[Any]]]) -> None:
    """Give deals their numbers, and count them for the present season, to which they belong from now on."""
    finished, finished_at = last_finished(connection)
    season_id = connection.scalar(select(func.max(ladder_seasons.c.id)))
    scores: defaultdict[tuple[int, str, int], Score] = defaultdict(Score)
    rated, challenges = 0, set[int]()
    for rows in complete:
        deal = rows[0]
        finished += 1
        finished_at = max(finished_at, *(row.ended for row in rows))
        own = update(ladder_deals).where(ladder_deals.c.id == deal.id)
        connection.execute(own.values(finished=finished, finished_at=finished_at, season_id=season_id))
        if deal.challenge_id is not None:
            challenges.add(deal.challenge_id)
        if DealKind(deal.kind) is DealKind.RATED:
            rated += 1
            add_scores(scores, season_id, rows)
    season = update(ladder_seasons).where(ladder_seasons.c.id == season_id)
    played = sum(map(len, complete))
    more = {"deals": ladder_seasons.c.deals + rated, "games": ladder_seasons.c.games + played}
    connection.execute(season.values(more))
    for key, score in scores.items():
        _store_score(connection, key, score)
    for challenge_id in challenges:
        _finish_challenge(connection, challenge_id)


def add_scores(scores: defaultdict[tuple[int, str, int], Score], season_id: int, rows: Sequence[Any]) -> None:
    """Count games, which are rows with their deals, by season, board and version."""
    for row in rows:
        for seat, (place, ending) in enumerate(zip(row.places, row.endings, strict=True)):
            version = row.versions[(seat + row.rotation) % len(row.versions)]
            forfeited = ending != Ending.FINISHED.value
            score = Score(games=1, firsts=int(place == 1), forfeits=int(forfeited))
            scores[season_id, row.board, version] += score


def _store_score(connection: Connection, key: tuple[int, str, int], score: Score) -> None:
    columns = dict(zip(("season_id", "board", "version_id"), key, strict=True))
    own = update(ladder_scores).where(*(ladder_scores.c[name] == value for name, value in columns.items()))
    counts = row_of(score)
    more = {name: ladder_scores.c[name] + count for name, count in counts.items()}
    if not connection.execute(own.values(more)).rowcount:
        connection.execute(insert(ladder_scores).values(columns | counts))


def _finish_challenge(connection: Connection, challenge_id: int) -> None:
    """Finish a challenge with its last deal."""
    done = select(func.count()).where(
        ladder_deals.c.challenge_id == challenge_id, ladder_deals.c.finished > 0
    )
    own = update(ladder_challenges).where(
        ladder_challenges.c.id == challenge_id,
        ladder_challenges.c.state == ChallengeState.PLAYING.value,
        ladder_challenges.c.deals <= done.scalar_subquery(),
    )
    connection.execute(own.values(state=ChallengeState.FINISHED.value))
