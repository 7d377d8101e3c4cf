"""The log of what organisers did, in the store: each act is one transaction with all that it changes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, true, update

from happycity.errors import FieldError
from happycity_ladder.entries import Act, ActKind
from happycity_ladder.ladder_rows import entry_of, read_entries, row_of, uncount
from happycity_tournament.storage.rows import mentions
from happycity_tournament.storage.schema import (
    acts,
    games,
    ladder_beliefs,
    ladder_challenges,
    ladder_deals,
    ladder_ratings,
    ladder_seats,
    ladder_versions,
    requests,
)
from happycity_tournament.storage.store import Store

_TEXTS = ("version", "author", "language", "description", "software")
"""The columns of a version with what its author wrote."""


class ActStore:
    """The acts of a store; each method is one transaction and raises StoreError."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def newest(self, limit: int | None, before_id: int | None = None, *, bot: str | None = None) -> list[Act]:
        """Return up to `limit` acts with ids below `before_id`, of one bot if it is named, newest first."""
        query = _ACTS.order_by(acts.c.id.desc()).limit(limit)
        if before_id is not None:
            query = query.where(acts.c.id < before_id)
        query = query if bot is None else query.where(ladder_versions.c.bot == bot)
        return list(read_entries(self.store, query, partial(entry_of, Act)))

    def suspended(self) -> dict[str, Act]:
        """Return the suspended bots, each with the act."""
        kinds = ActKind.SUSPEND, ActKind.RESTORE
        last = {act.bot: act for act in reversed(self.newest(None)) if act.kind in kinds}
        return {bot: act for bot, act in last.items() if bot and act.kind is ActKind.SUSPEND}

    def add(self, act: Act) -> Act:
        """Store an act to a bot of the ladder that changes nothing else."""
        with self.store.writing() as connection:
            return _add(connection, act, ladder_versions.c.bot == act.bot)

    def void(self, act: Act, deal_ids: Collection[int] = ()) -> tuple[Act, set[str]]:
        """Void finished deals, these or all of the act's bot; return the act, and the boards to rate again.

        The ratings of these boards are removed from the store. Deals that are being played are left out.

        Raises:
            ConfigError: one of `deal_ids` is not finished, or is voided already, or the bot has no such deal.
        """
        deals = ladder_deals.c
        of_bot = select(ladder_seats.c.deal_id).where(ladder_seats.c.bot == act.bot)
        own = deals.id.in_(deal_ids or of_bot), deals.finished > 0, deals.act_id.is_(None)
        with self.store.writing() as connection:
            found = set(connection.scalars(select(deals.id).where(*own)))
            if wrong := sorted(set(deal_ids) - found):
                raise FieldError("deal_ids", f"deal {wrong[0]} is not finished, or is voided already")
            if not found:
                raise FieldError("bot", f"{act.bot!r} has no finished deal that counts")
            stored = _add(connection, replace(act, deals=len(found)), ladder_versions.c.bot == act.bot)
            connection.execute(update(ladder_deals).where(*own).values(act_id=stored.id))
            boards = uncount(connection, stored.id)
            for table in (ladder_beliefs, ladder_ratings):
                connection.execute(delete(table).where(table.c.board.in_(boards)))
            return stored, boards

    def rename(self, act: Act, new_owner: str | None, *, has_tokens: bool) -> Act:
        """Rename the act's participant; without a new name, remove the names and texts of it and its bots.

        Then their names have the numbers of the act, and of the bots' first versions. Tournaments stay.

        Raises:
            ConfigError: no bot of the ladder, and no token, is of this owner.
        """
        versions = ladder_versions.c
        own = versions.owner == act.owner, versions.house == 0
        ids = func.min(versions.id), func.max(versions.id)
        with self.store.writing() as connection:
            bots = connection.execute(select(versions.bot, *ids).where(*own).group_by(versions.bot)).all()
            if not bots and not has_tokens:
                raise FieldError("owner", f"{act.owner!r} has neither bots in this ladder nor tokens")
            stored = _add(connection, act, *own)
            connection.execute(delete(requests))  # answers have names too
            name = new_owner or f"deleted-{stored.id}"
            connection.execute(update(ladder_versions).where(*own).values(owner=name))
            for bot, first, last in bots if new_owner is None else ():
                if last == connection.scalar(select(ids[1]).where(versions.bot == bot)):
                    _remove_bot(connection, bot, f"deleted-{first}")  # else it is another participant's now
            return replace(stored, owner=name if bots else None)


_ACTS = select(acts, ladder_versions.c.bot, ladder_versions.c.owner).join(
    ladder_versions, ladder_versions.c.id == acts.c.version_id, isouter=True
)


def _add(connection: Connection, act: Act, *of_version: ColumnElement[bool]) -> Act:
    """Insert an act to the newest of some versions; return it as it is stored."""
    version_id = connection.scalar(select(func.max(ladder_versions.c.id)).where(*of_version))
    new = insert(acts).values(**row_of(act, "id", "bot", "owner"), version_id=version_id).returning(acts.c.id)
    return entry_of(Act, connection.execute(_ACTS.where(acts.c.id == connection.scalar(new))).one())


def _remove_bot(connection: Connection, bot: str, name: str) -> None:
    """Give a bot another name wherever the ladder, practice and single matches have it; remove its texts."""
    texts = dict.fromkeys(_TEXTS, "")
    connection.execute(update(ladder_versions).where(ladder_versions.c.bot == bot).values(bot=name, **texts))
    for table in (ladder_seats, ladder_challenges):
        connection.execute(update(table).where(table.c.bot == bot).values(bot=name))
    single = games.c.tournament_id.is_(None)
    for column, which in (
        (ladder_challenges.c.opponents, true()),
        (ladder_challenges.c.accepted, true()),
        (games.c.bots, single),
    ):
        key = column.table.c.id
        found = connection.execute(select(key, column).where(which, mentions(column, bot))).all()
        rows = [{"key": row[0], "names": [name if one == bot else one for one in row[1]]} for row in found]
        if rows:
            change = update(column.table).where(key == bindparam("key"))
            connection.execute(change.values({column.name: bindparam("names")}), rows)
