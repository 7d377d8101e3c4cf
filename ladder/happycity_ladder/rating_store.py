"""The ladder's ratings in the store: what they follow from, their history, and what is kept of them."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from sqlalchemy import delete, func, insert, select

from happycity_ladder.entries import DealKind, RatedDeal, RatingPoint
from happycity_ladder.ladder_rows import (
    deals_by_game,
    last_finished,
    point_of,
    rated_deal_of,
    read_entries,
)
from happycity_tournament.storage.database import DAMAGED, StoreError
from happycity_tournament.storage.schema import ladder_beliefs, ladder_deals, ladder_games, ladder_ratings
from happycity_tournament.storage.store import Store

_ROWS_AT_ONCE = 500


class RatingStore:
    """The ladder's ratings in a store; each method is one transaction and raises StoreError."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def rated_deals(self, after: int) -> Generator[tuple[str, RatedDeal]]:
        """Yield the finished rated deals that count with numbers above `after`, in order, and boards."""
        query = (
            deals_by_game()
            .where(ladder_deals.c.finished > after, ladder_deals.c.kind == DealKind.RATED.value)
            .where(ladder_deals.c.act_id.is_(None))
            .order_by(ladder_deals.c.finished, ladder_games.c.rotation)
        )
        with (
            self.store.reading() as connection,
            connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)) as rows,
        ):
            for _, own in groupby(rows, lambda row: row.id):
                deal = list(own)
                try:
                    yield deal[0].board, rated_deal_of(deal)
                except (ValueError, TypeError) as error:
                    raise StoreError(self.store.url, DAMAGED) from error

    def last_finished(self) -> int:
        """Return the number of the deal that was finished last, 0 without any."""
        with self.store.reading() as connection:
            return last_finished(connection)[0]

    def save_ratings(self, points: Sequence[RatingPoint], *, replaced: Sequence[RatingPoint] = ()) -> None:
        """Add points to the history, in place of `replaced` and of any with the same key."""
        rows = [
            {"board": point.board, "version_id": point.version_id, "at": point.at, **asdict(point.rating)}
            for point in points
        ]
        with self.store.writing() as connection:
            for point in (*replaced, *points):
                connection.execute(delete(ladder_ratings).where(*_is_point(point)))
            if rows:
                connection.execute(insert(ladder_ratings), rows)

    def history(self, board: str, version_ids: Collection[int], *, most: int) -> list[RatingPoint]:
        """Return the ratings of versions on a board over time, oldest first: `most`, with the latest."""
        own = ladder_ratings.c.board == board, ladder_ratings.c.version_id.in_(version_ids)
        number = func.row_number().over(order_by=ladder_ratings.c.at.desc()) - 1
        points = select(ladder_ratings, number.label("number"), func.count().over().label("points"))
        rows = points.where(*own).subquery()
        step = (rows.c.points + most - 1) // most
        query = select(rows).where(rows.c.number % step == 0).order_by(rows.c.at)
        return list(read_entries(self.store, query, point_of))

    def beliefs(self, board: str) -> tuple[int, bytes] | None:
        """Return what was kept of a board, after the number of its last deal; None if nothing was."""
        query = select(ladder_beliefs).where(ladder_beliefs.c.board == board)
        with self.store.reading() as connection:
            kept = connection.execute(query).first()
        return None if kept is None else (kept.finished, bytes(kept.beliefs))

    def keep_beliefs(self, board: str, finished: int, beliefs: bytes) -> None:
        """Keep what is known of the ratings of a board after the deals up to the number `finished`."""
        with self.store.writing() as connection:
            connection.execute(delete(ladder_beliefs).where(ladder_beliefs.c.board == board))
            row = {"board": board, "finished": finished, "beliefs": beliefs}
            connection.execute(insert(ladder_beliefs).values(row))


def _is_point(point: RatingPoint) -> Iterable[Any]:
    key = {"board": point.board, "version_id": point.version_id, "at": point.at}
    return (ladder_ratings.c[name] == value for name, value in key.items())
