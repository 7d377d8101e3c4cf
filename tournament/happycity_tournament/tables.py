"""The store's tables, in terms that SQLite and PostgreSQL share."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    text,
)

SCHEMA_VERSION = 2
"""Goes up with every change of a table; `migrations` tells how a database follows."""

_Id = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER names a row directly in SQLite

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
)

tournaments = Table(
    "tournaments",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("config", JSON, nullable=False),
    Column("state", String, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("games_voided", Integer, nullable=False, server_default=text("0")),
    Column("remarks", JSON, nullable=False, server_default="[]"),
)

games = Table(
    "games",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=False),
    Column("tournament_id", _Id, ForeignKey("tournaments.id")),
    Column("round", Integer),
    Column("table", Integer),
    Column("rotation", Integer),
    Column("deal_seed", String, nullable=False),  # up to 2^64 - 1: a column of integers ends at 2^63 - 1
    Column("bots", JSON, nullable=False),
    Column("bot_seeds", JSON, nullable=False),
    Column("points", JSON, nullable=False),
    Column("coins", JSON, nullable=False),
    Column("places", JSON, nullable=False),
    Column("endings", JSON, nullable=False),
    Column("decisions", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("finished_at", Float, nullable=False),
    UniqueConstraint("tournament_id", "round", "table", "rotation", name="games_once"),
    Index("games_of_tournament", "tournament_id", "id"),
)

# Apart from the games, which are read by the thousand without their records.
records = Table(
    "records",
    metadata,
    Column("game_id", _Id, ForeignKey("games.id"), primary_key=True, autoincrement=False),
    Column("record", LargeBinary, nullable=False),
)
