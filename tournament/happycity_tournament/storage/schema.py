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
)

SCHEMA_VERSION = 2
"""Goes up with every change of a table."""
OLDEST_VERSION = 1
"""Stores from this version on can be read; a server upgrades them when it claims them."""
VERSION_KEY = "schema_version"
"""The key in the table `meta` of the version that the tables have."""
NEXT_MATCH_KEY = "next_match_id"
"""The key in the table `meta` of an id above those of deleted games; absent if none was deleted."""

LARGEST_ID = 2**63 - 1

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
    Column("request_id", String, unique=True),  # that of the request by which it was made, if it had one
    # Not JSON: a row that can't be read must not keep the others from being read.
    Column("config", String, nullable=False),
    Column("games_total", BigInteger, nullable=False),
    Column("state", String, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("games_voided", Integer, nullable=False),
    Column("games_unrated", Integer, nullable=False),
    Column("disqualified", String, nullable=False),  # a JSON list
    Column("remarks", String, nullable=False),  # a JSON list
    # An id is never used twice, also after the newest tournament was deleted.
    sqlite_autoincrement=True,
)

# Since version 2.
profiles = Table(
    "profiles",
    metadata,
    Column("tournament_id", _Id, ForeignKey("tournaments.id"), primary_key=True),
    Column("bot", String, primary_key=True),
    Column("author", String, nullable=False),
    Column("version", String, nullable=False),
    Column("language", String, nullable=False),
    Column("description", String, nullable=False),
    Column("software", String, nullable=False),
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
    Column("players", Integer, nullable=False),
    Column("mode", String, nullable=False),
    Column("scoring", String, nullable=False),
    # Lists by seat.
    Column("bots", JSON, nullable=False),
    Column("bot_seeds", JSON, nullable=False),
    Column("points", JSON, nullable=False),
    Column("coins", JSON, nullable=False),
    Column("inhabitants", JSON, nullable=False),
    Column("hearts", JSON, nullable=False),
    Column("ranks", JSON, nullable=False),
    Column("places", JSON, nullable=False),
    Column("endings", JSON, nullable=False),
    Column("reasons", JSON, nullable=False),  # of forfeits; empty without any
    Column("decisions", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("started_at", Float, nullable=False),
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
