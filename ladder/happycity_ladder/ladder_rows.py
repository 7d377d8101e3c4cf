"""The ladder's entries as rows of the store's tables, and what a finished game changes in them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from happycity import BotInfo, Ending
from happycity.match import one_line
from happycity_ladder.entries import (
    Challenge,
    ChallengeState,
    Deal,
    DealKind,
    DealState,
    RatedDeal,
    Rating,
    RatingPoint,
    Season,
    Version,
)
from happycity_tournament.games import BotProfile, FinishedGame
from happycity_tournament.storage.schema import (
    games,
    ladder_challenges,
    ladder_deals,
    ladder_games,
    ladder_scores,
    ladder_seasons,
)

_COUNTS = ("games", "firsts", "forfeits")


def season_of(row: Row[Any]) -> Season:
    """Read a row of `ladder_seasons`, without its leaderboards."""
    return Season(
        id=row.id,
        started_at=row.started_at,
        ended_at=row.ended_at,
        archive=row.archive,
        deals=row.deals,
        games=row.games,
        closed_after=row.closed_after,
    )


def version_of(row: Row[Any]) -> Version:
    """Read a row of `ladder_versions`."""
    info = BotInfo(author=row.author, version=row.version, language=row.language, description=row.description)
    return Version(
        id=row.id,
        bot=row.bot,
        profile=BotProfile(info, one_line(row.software)),
        owner=row.owner,
        house=bool(row.house),
        first_at=row.first_at,
        last_at=row.last_at,
    )


def deal_of(row: Row[Any]) -> Deal:
    """Read a row of `ladder_deals`, where an open deal has no number, and a dropped one the number 0."""
    state = (
        DealState.OPEN if row.finished is None else DealState.FINISHED if row.finished else DealState.DROPPED
    )
    return Deal(
        id=row.id,
        season_id=row.season_id,
        board=row.board,
        kind=DealKind(row.kind),
        versions=tuple(row.versions),
        deal_seed=int(row.deal_seed),
        challenge_id=row.challenge_id,
        started_at=row.started_at,
        state=state,
        number=row.finished or None,
        over_at=row.finished_at,
    )


def challenge_of(row: Row[Any]) -> Challenge:
    """Read a row of `ladder_challenges`."""
    return Challenge(
        id=row.id,
        bot=row.bot,
        board=row.board,
        kind=DealKind(row.kind),
        opponents=tuple(row.opponents),
        accepted=tuple(row.accepted),
        deals=row.deals,
        old_version_id=row.old_version_id,
        state=ChallengeState(row.state),
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def point_of(row: Row[Any]) -> RatingPoint:
    """Read a row of `ladder_ratings`."""
    rating = Rating(elo=row.elo, error=row.error, deals=row.deals)
    return RatingPoint(board=row.board, version_id=row.version_id, at=row.at, rating=rating)


def rated_deal_of(rows: Sequence[Row[Any]]) -> RatedDeal:
    """Read a deal from the rows of its games, by rotation."""
    first = rows[0]
    players = len(first.versions)
    return RatedDeal(
        finished=first.finished,
        finished_at=first.finished_at,
        versions=tuple(first.versions),
        # In rotation r, versions[i] has the seat (i - r) modulo players.
        places=tuple(
            tuple(row.places[(index - row.rotation) % players] for index in range(players)) for row in rows
        ),
    )


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
    query = (
        select(ladder_deals, games.c.places, games.c.endings, games.c.finished_at.label("ended"))
        .add_columns(ladder_games.c.rotation)
        .join(ladder_games, ladder_games.c.deal_id == ladder_deals.c.id)
        .join(games, games.c.id == ladder_games.c.game_id)
        .where(ladder_deals.c.id.in_(last))
    )
    played: defaultdict[int, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(query):
        played[row.id].append(row)
    complete = [played[deal_id] for deal_id in last if _is_complete(played[deal_id])]
    if complete:
        _finish(connection, complete)


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
    scores: defaultdict[tuple[int, str, int], Counter[str]] = defaultdict(Counter)
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
            _add_scores(scores, season_id, rows)
    season = update(ladder_seasons).where(ladder_seasons.c.id == season_id)
    played = sum(map(len, complete))
    more = {"deals": ladder_seasons.c.deals + rated, "games": ladder_seasons.c.games + played}
    connection.execute(season.values(more))
    for key, counts in scores.items():
        _store_score(connection, key, counts)
    for challenge_id in challenges:
        _finish_challenge(connection, challenge_id)


def _add_scores(
    scores: defaultdict[tuple[int, str, int], Counter[str]], season_id: int, rows: Sequence[Row[Any]]
) -> None:
    for row in rows:
        for seat, (place, ending) in enumerate(zip(row.places, row.endings, strict=True)):
            version = row.versions[(seat + row.rotation) % len(row.versions)]
            score = scores[season_id, row.board, version]
            score["games"] += 1
            score["firsts"] += place == 1
            score["forfeits"] += ending != Ending.FINISHED.value


def _store_score(connection: Connection, key: tuple[int, str, int], counts: Counter[str]) -> None:
    columns = dict(zip(("season_id", "board", "version_id"), key, strict=True))
    own = update(ladder_scores).where(*(ladder_scores.c[name] == value for name, value in columns.items()))
    more = {name: ladder_scores.c[name] + counts[name] for name in _COUNTS}
    if not connection.execute(own.values(more)).rowcount:
        new = {**columns, **{name: counts[name] for name in _COUNTS}}
        connection.execute(insert(ladder_scores).values(new))


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


def leaderboards_of(text: str) -> dict[str, Any]:
    """Read the leaderboards that were stored with a season, by board; none while it lasts."""
    return dict(json.loads(text)) if text else {}
