"""The acts of organisers in the store: each is one transaction with all that it changes."""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, true, update

from happycity import ConfigError
from happycity_ladder.entries import Act, ActKind
from happycity_ladder.ladder_rows import entry_of, read_entries, uncount, version_of
from happycity_ladder.ladder_store import LEADERBOARDS
from happycity_tournament.storage.rows import mentions
from happycity_tournament.storage.schema import (
    acts,
    games,
    ladder_beliefs,
    ladder_challenges,
    ladder_deals,
    ladder_ratings,
    ladder_seasons,
    ladder_seats,
    ladder_versions,
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
        return list(self._read(query if bot is None else query.where(ladder_versions.c.bot == bot)))

    def suspended(self) -> dict[str, Act]:
        """Return the suspended bots, each with the act."""
        kinds = ActKind.SUSPEND.value, ActKind.RESTORE.value
        found = self._read(_ACTS.where(acts.c.kind.in_(kinds)).order_by(acts.c.id))
        last = {act.bot or "": act for act in found}
        return {bot: act for bot, act in last.items() if act.kind is ActKind.SUSPEND}

    def add(self, act: Act) -> Act:
        """Store an act to a bot of the ladder that changes nothing else."""
        with self.store.writing() as connection:
            return _act(connection, _add(connection, act, _newest(connection, act.bot)))

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
                raise ConfigError(f"deal_ids: deal {wrong[0]} is not finished, or is voided already")
            if not found:
                raise ConfigError(f"bot: {act.bot!r} has no finished deal that counts")
            act_id = _add(connection, replace(act, deals=len(found)), _newest(connection, act.bot))
            connection.execute(update(ladder_deals).where(*own).values(act_id=act_id))
            boards = uncount(connection, act_id)
            for table in (ladder_beliefs, ladder_ratings):
                connection.execute(delete(table).where(table.c.board.in_(boards)))
            return _act(connection, act_id), boards

    def rename(self, act: Act, new_owner: str | None, *, has_tokens: bool) -> Act:
        """Rename the act's participant; without a new name, remove the names and texts of it and its bots.

        Then the bots' names have the numbers of their first versions. Tournaments stay as they are.

        Raises:
            ConfigError: no bot of the ladder, and no token, is of this owner, or the new one has bots.
        """
        versions = ladder_versions.c
        with self.store.writing() as connection:
            taken = select(versions.id).where(versions.owner == new_owner).limit(1)
            if new_owner and connection.scalar(taken) is not None:
                raise ConfigError(f"new_owner: {new_owner!r} is another participant; choose another name")
            own = connection.execute(
                select(versions.bot, func.min(versions.id), func.max(versions.id))
                .where(versions.owner == act.owner, versions.house == 0)
                .group_by(versions.bot)
            ).all()
            if not own and not has_tokens:
                raise ConfigError(f"owner: {act.owner!r} has neither bots in this ladder nor tokens")
            act_id = _add(connection, act, max((last for _, _, last in own), default=None))
            for bot, first, last in own:
                name = f"deleted-{first}"
                of_bot = update(ladder_versions).where(versions.bot == bot, versions.owner == act.owner)
                connection.execute(of_bot.values(owner=new_owner or name))
                if new_owner is None and last == _newest(
                    connection, bot
                ):  # else it belongs to another participant now
                    _remove_bot(connection, bot, name)
            if own:
                _rewrite_leaderboards(connection)
            return _act(connection, act_id)

    def _read(self, query: Any) -> Generator[Act]:
        return read_entries(self.store, query, partial(entry_of, Act))


_ACTS = select(acts, ladder_versions.c.bot, ladder_versions.c.owner).join(
    ladder_versions, ladder_versions.c.id == acts.c.version_id, isouter=True
)


def _newest(connection: Connection, bot: str | None) -> int | None:
    """Return the newest version of a bot; None without a bot."""
    newest = select(func.max(ladder_versions.c.id)).where(ladder_versions.c.bot == bot)
    version_id: int | None = connection.scalar(newest)
    return version_id


def _act(connection: Connection, act_id: int) -> Act:
    return entry_of(Act, connection.execute(_ACTS.where(acts.c.id == act_id)).one())


def _add(connection: Connection, act: Act, version_id: int | None) -> int:
    """Insert an act; return its id."""
    row = {"at": act.at, "organiser": act.organiser, "kind": act.kind.value, "text": act.text}
    new = insert(acts).values(**row, version_id=version_id, deals=act.deals)
    key = connection.execute(new).inserted_primary_key
    assert key is not None
    return int(key[0])


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


def _rewrite_leaderboards(connection: Connection) -> None:
    """Let the leaderboards of seasons that have ended name versions as they are named now."""
    versions = {row.id: version_of(row) for row in connection.execute(select(ladder_versions))}
    ended = select(ladder_seasons).where(ladder_seasons.c.ended_at.is_not(None))
    for row in connection.execute(ended).all():
        boards = LEADERBOARDS.validate_json(row.leaderboards)
        for board, lines in boards.items():
            boards[board] = [replace(line, version=versions[line.version.id]) for line in lines]
        text = LEADERBOARDS.dump_json(boards).decode()
        connection.execute(
            update(ladder_seasons).where(ladder_seasons.c.id == row.id).values(leaderboards=text)
        )
