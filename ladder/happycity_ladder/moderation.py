"""What organisers do to a ladder, each in one transaction: deals are voided, participants renamed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, true, update

from happycity.errors import FieldError
from happycity_ladder.entries import ModerationAction
from happycity_ladder.ladder_rows import entry_of, row_of, uncount
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

_TEXTS = ("version", "author", "language", "description", "software")
"""The columns of a version with what its author wrote."""

ACTIONS = select(acts, ladder_versions.c.bot, ladder_versions.c.owner).join(
    ladder_versions, ladder_versions.c.id == acts.c.version_id, isouter=True
)
"""A query of actions, with the present names of whom they concern."""


def void_deals(
    connection: Connection, action: ModerationAction, deal_ids: Collection[int]
) -> tuple[ModerationAction, set[str]]:
    """Void finished deals, these or all of the action's bot; return the action, and the boards to rate again.

    The ratings of these boards are removed from the store. Deals that are being played are left out.

    Raises:
        ConfigError: one of `deal_ids` is not finished, or is voided already, or the bot has no such deal.
    """
    deals = ladder_deals.c
    of_bot = select(ladder_seats.c.deal_id).where(ladder_seats.c.bot == action.bot)
    own = deals.id.in_(deal_ids or of_bot), deals.finished > 0, deals.act_id.is_(None)
    found = set(connection.scalars(select(deals.id).where(*own)))
    if wrong := sorted(set(deal_ids) - found):
        raise FieldError("deal_ids", f"deal {wrong[0]} is not finished, or is voided already")
    if not found:
        raise FieldError("bot", f"{action.bot!r} has no finished deal that counts")
    stored = add_action(connection, replace(action, deals=len(found)), ladder_versions.c.bot == action.bot)
    connection.execute(update(ladder_deals).where(*own).values(act_id=stored.id))
    boards = uncount(connection, stored.id)
    for table in (ladder_beliefs, ladder_ratings):
        connection.execute(delete(table).where(table.c.board.in_(boards)))
    return stored, boards


def rename_participant(
    connection: Connection, action: ModerationAction, new_owner: str | None, *, has_tokens: bool
) -> ModerationAction:
    """Rename the action's participant; without a new name, remove the names and texts of it and its bots.

    Then their names have the numbers of the action, and of the bots' first versions. Tournaments stay.

    Raises:
        ConfigError: no bot of the ladder, and no token, is of this owner.
    """
    versions = ladder_versions.c
    own = versions.owner == action.owner, versions.house == 0
    ids = func.min(versions.id), func.max(versions.id)
    bots = connection.execute(select(versions.bot, *ids).where(*own).group_by(versions.bot)).all()
    if not bots and not has_tokens:
        raise FieldError("owner", f"{action.owner!r} has neither bots in this ladder nor tokens")
    stored = add_action(connection, action, *own)
    connection.execute(delete(requests))  # answers have names too
    name = new_owner or f"deleted-{stored.id}"
    connection.execute(update(ladder_versions).where(*own).values(owner=name))
    for bot, first, last in bots if new_owner is None else ():
        if last == connection.scalar(select(ids[1]).where(versions.bot == bot)):
            _remove_bot(connection, bot, f"deleted-{first}")  # else it is another participant's now
    return replace(stored, owner=name if bots else None)


def add_action(
    connection: Connection, action: ModerationAction, *of_version: ColumnElement[bool]
) -> ModerationAction:
    """Insert an action on the newest of some versions; return it as it is stored."""
    version_id = connection.scalar(select(func.max(ladder_versions.c.id)).where(*of_version))
    row = row_of(action, "id", "bot", "owner") | {"version_id": version_id}
    number = connection.scalar(insert(acts).values(row).returning(acts.c.id))
    return entry_of(ModerationAction, connection.execute(ACTIONS.where(acts.c.id == number)).one())


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
