"""The store's tables, in terms that SQLite and PostgreSQL share."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    event,
)
from sqlalchemy.types import TypeEngine

SCHEMA_VERSION = 6
"""Goes up with every change of a table, for which `migrations` has how older stores get it."""
VERSION_KEY = "schema_version"
"""The key in the table `meta` of the version that the tables have."""
WRITTEN_BY_KEY = "written_by"
"""The key in the table `meta` of the version of the program that made these tables."""
NEXT_MATCH_KEY = "next_match_id"
"""The key in the table `meta` of an id above those of deleted games; absent if none was deleted."""
LADDER_SECRET_KEY = "ladder_secret"  # noqa: S105 - not the secret itself
"""The key in the table `meta` of the number from which the seeds of the ladder's deals follow."""


def _columns(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    """Return columns of one kind, none of which may be null."""
    return [Column(name, kind, nullable=False) for name in names]


_Id = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER names a row directly in SQLite

metadata = MetaData()

meta = Table(
    "meta", metadata, Column("key", String, primary_key=True), Column("value", String, nullable=False)
)

tournaments = Table(
    "tournaments",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("request_id", String, unique=True),  # with the caller before it; null without one
    # Not JSON: a row that can't be read must not keep the others from being read.
    Column("config", String, nullable=False),
    Column("seed", String),  # that of the configuration, as tournaments with the same one have the same deals
    Column("games_total", BigInteger, nullable=False),
    Column("state", String, nullable=False),
    Column("created_at", Float, nullable=False),
    *_columns(Integer, "games_voided", "games_unrated"),
    Column("disqualified", String, nullable=False),  # a JSON list
    Column("remarks", String, nullable=False),  # a JSON list
    Index("tournaments_of_seed", "seed", "state"),
    # An id is never used twice, also after the newest tournament was deleted.
    sqlite_autoincrement=True,
)

profiles = Table(
    "profiles",
    metadata,
    Column("tournament_id", _Id, ForeignKey("tournaments.id"), primary_key=True),
    Column("bot", String, primary_key=True),
    *_columns(String, "author", "version", "language", "description", "software"),
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
    *_columns(String, "mode", "scoring"),
    # Lists by seat.
    *_columns(JSON, "bots", "bot_seeds", "points", "coins", "inhabitants", "hearts", "ranks", "places"),
    Column("endings", JSON, nullable=False),
    Column("reasons", JSON, nullable=False),  # of forfeits; empty without any
    Column("decisions", Integer, nullable=False),
    *_columns(Float, "created_at", "started_at", "finished_at"),
    UniqueConstraint("tournament_id", "round", "table", "rotation", name="games_once"),
    Index("games_of_tournament", "tournament_id", "id"),
    Index("games_of_deal", "deal_seed", "tournament_id"),
)

# Apart from the games, which are read by the thousand without their records.
records = Table(
    "records",
    metadata,
    Column("game_id", _Id, ForeignKey("games.id"), primary_key=True, autoincrement=False),
    Column("record", LargeBinary, nullable=False),
)

# What reports take of records, of games whose record has no more for them.
times = Table(
    "times",
    metadata,
    Column("game_id", _Id, ForeignKey("games.id"), primary_key=True, autoincrement=False),
    Column("times", LargeBinary, nullable=False),
)

# Tables of people whose game is not over, so that it continues after a restart.
tables = Table(
    "tables",
    metadata,
    Column("id", String, primary_key=True),
    Column("match_id", _Id),  # null until the game begins
    Column("state", LargeBinary, nullable=False),  # JSON, compressed
)

# The answers of calls with a request id, so that a repeated call is answered as before. See `RequestStore`.
requests = Table(
    "requests",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("caller", String, nullable=False),
    Column("request", String, nullable=False, unique=True),
    Column("asked", String, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("match_id", _Id),  # of a match that is stored nowhere before its end
    Column("at", Float, nullable=False),
    Index("requests_of_caller", "caller", "id"),
    Index("requests_by_time", "at"),
    Index("requests_of_match", "match_id"),
    sqlite_autoincrement=True,
)

# Those of the ladder. Its games belong to no tournament.

ladder_seasons = Table(
    "ladder_seasons",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),  # null while it lasts
    Column("leaderboards", String, nullable=False),  # JSON by board, with ids of versions, once it has ended
    # Counted in the transactions of the games: counting rows would take the longer the more there are.
    Column("deals", BigInteger, nullable=False),  # rated ones that are finished
    Column("games", BigInteger, nullable=False),
    Column("closed_after", BigInteger),  # once it has ended: the last number `finished` of a deal before that
    Column("first_deal", BigInteger, nullable=False),  # the id from which on deals began in it
    Column("commitment", String, nullable=False),  # what was committed to at its start, as JSON
    sqlite_autoincrement=True,
)

ladder_versions = Table(
    "ladder_versions",
    metadata,
    Column("id", _Id, primary_key=True),
    *_columns(String, "bot", "version", "owner"),
    Column("house", Integer, nullable=False),  # 1 for a bot of the house, else 0
    *_columns(String, "author", "language", "description", "software"),
    *_columns(Float, "first_at", "last_at"),
    Index("ladder_versions_of_bot", "bot", "id"),
    Index("ladder_versions_of_owner", "owner"),
    sqlite_autoincrement=True,
)

ladder_challenges = Table(
    "ladder_challenges",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("request_id", String, unique=True),  # with the caller before it
    *_columns(String, "bot", "board", "kind"),
    *_columns(JSON, "opponents", "accepted"),
    Column("deals", Integer, nullable=False),
    Column("old_version_id", _Id, ForeignKey("ladder_versions.id")),
    Column("state", String, nullable=False),
    *_columns(Float, "created_at", "expires_at"),
    Index("ladder_challenges_in_state", "state", "id"),
    Index("ladder_challenges_of_bot", "bot", "id"),
    sqlite_autoincrement=True,
)

# What organisers did, in the order of time. An act names a bot by a version, so that the former name of a
# participant that is renamed or deleted is nowhere.
acts = Table(
    "acts",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("at", Float, nullable=False),
    Column("organiser", String, nullable=False),  # the name of the token; empty without tokens
    Column("kind", String, nullable=False),
    Column("version_id", _Id, ForeignKey("ladder_versions.id")),  # null for acts to deals by their numbers
    Column("text", String, nullable=False),
    Column("deals", BigInteger, nullable=False),  # voided ones
    sqlite_autoincrement=True,
)


# Stored before its first game begins, so that no deal is dealt twice and a restart can go on with it.
ladder_deals = Table(
    "ladder_deals",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("season_id", _Id, ForeignKey("ladder_seasons.id"), nullable=False),
    *_columns(String, "board", "kind"),
    Column("versions", JSON, nullable=False),  # by seat of the first game
    Column("deal_seed", String, nullable=False),
    Column("challenge_id", _Id, ForeignKey("ladder_challenges.id")),
    Column("started_at", Float, nullable=False),
    # Null while it is played. Deals are rated in the order of `finished`: 1, 2, 3...; a dropped one has 0.
    Column("finished", BigInteger),
    Column("finished_at", Float),
    Column("act_id", _Id, ForeignKey("acts.id")),  # the act that voided it; null for others
    Column("luck", String),  # JSON: mean places a game won by luck, by version; null where it wasn't computed
    Index("ladder_deals_in_order", "finished"),
    # Each list of deals has its index, in which the newest come last.
    Index("ladder_deals_of_season", "season_id", "id"),
    Index("ladder_deals_on_board", "board", "id"),
    Index("ladder_deals_of_kind", "kind", "id"),
    sqlite_autoincrement=True,
)
_has_challenge = ladder_deals.c.challenge_id.is_not(None)  # few deals have one
_of_challenge = Index(
    "ladder_deals_of_challenge", ladder_deals.c.challenge_id, ladder_deals.c.id, sqlite_where=_has_challenge
)


@event.listens_for(ladder_deals, "before_create")
def _leave_out_other_deals(_table: Table, connection: Connection, **_: object) -> None:
    """Make the index a partial one in PostgreSQL too.

    As an argument of the index above, `postgresql_where` would import that dialect, which takes every
    server with SQLite a twentieth of its start.
    """
    if connection.dialect.name == "postgresql":
        _of_challenge.dialect_options["postgresql"]["where"] = _has_challenge


ladder_games = Table(
    "ladder_games",
    metadata,
    Column("game_id", _Id, ForeignKey("games.id"), primary_key=True, autoincrement=False),
    Column("deal_id", _Id, ForeignKey("ladder_deals.id"), nullable=False),
    Column("rotation", Integer, nullable=False),
    UniqueConstraint("deal_id", "rotation", name="ladder_games_once"),
)

# Who plays in a deal, for lists of the deals of a version or a bot.
ladder_seats = Table(
    "ladder_seats",
    metadata,
    Column("version_id", _Id, ForeignKey("ladder_versions.id"), primary_key=True, autoincrement=False),
    Column("deal_id", _Id, ForeignKey("ladder_deals.id"), primary_key=True, autoincrement=False),
    Column("bot", String, nullable=False),
    Index("ladder_seats_of_bot", "bot", "deal_id"),
)

# Rated games of finished deals, counted in the transactions of the games.
ladder_scores = Table(
    "ladder_scores",
    metadata,
    Column("season_id", _Id, ForeignKey("ladder_seasons.id"), primary_key=True, autoincrement=False),
    Column("board", String, primary_key=True),
    Column("version_id", _Id, ForeignKey("ladder_versions.id"), primary_key=True, autoincrement=False),
    Column("games", BigInteger, nullable=False),
    Column("firsts", BigInteger, nullable=False),  # games won, shared first places included
    Column("forfeits", BigInteger, nullable=False),
)

# The ratings over time, thinned out as they grow old.
ladder_ratings = Table(
    "ladder_ratings",
    metadata,
    Column("board", String, primary_key=True),
    Column("version_id", _Id, ForeignKey("ladder_versions.id"), primary_key=True, autoincrement=False),
    Column("at", Float, primary_key=True),
    Column("elo", Float, nullable=False),
    Column("error", Float, nullable=False),  # standard error
    Column("deals", Integer, nullable=False),
)

# What is known of a board's ratings after the deals up to `finished`; the rest follows from later deals.
ladder_beliefs = Table(
    "ladder_beliefs",
    metadata,
    Column("board", String, primary_key=True),
    Column("finished", BigInteger, nullable=False),
    Column("beliefs", LargeBinary, nullable=False),
)
