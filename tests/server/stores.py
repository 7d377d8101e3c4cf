"""Stores and token files of any size, which are made at once."""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import insert
from tests.tournament.leagues import START, League

from happycity import BotInfo
from happycity_ladder.beliefs import Beliefs
from happycity_ladder.book import Book
from happycity_ladder.entries import DealKind, RatedDeal
from happycity_ladder.ladder_config import LadderConfig
from happycity_runtime.tokens import Invitation, Role, StoredTokens, Token, new_token
from happycity_server.access.token_file import new_invitation
from happycity_tournament.config import TournamentState
from happycity_tournament.games import BotProfile
from happycity_tournament.storage.schema import (
    ladder_deals,
    ladder_ratings,
    ladder_scores,
    ladder_seats,
    ladder_versions,
    tournaments,
)
from happycity_tournament.storage.store import Store

LADDER = """
anchor = "greedy"
[[boards]]
players = 2
[quotas]
open_challenges = 100_000
deals_per_day = 1_000_000
"""
"""The file of the ladder."""
BOARD = "2-family"
STATES = (TournamentState.FINISHED, TournamentState.FINISHED, TournamentState.STOPPED)
_BOTS = ("anna", "ben")


@dataclass(frozen=True, kw_only=True)
class Size:
    tournaments: int
    versions: int
    tokens: int
    """Tokens of bots, and as many invitations."""


@dataclass
class Stored:
    """What was stored, with the secrets in clear."""

    folder: Path
    organiser: str = ""
    bots: dict[str, str] = field(default_factory=dict)
    """Tokens by bot."""
    invitations: list[str] = field(default_factory=list)


def stored(folder: Path, size: Size) -> Stored:
    """Store tournaments of anna and ben, versions of the ladder of which anna has half, and tokens."""
    folder.mkdir()
    (folder / "ladder.toml").write_text(LADDER)
    made = Stored(folder)
    with Store.create(f"sqlite:///{folder}/games.sqlite") as store:
        _add_tournaments(store, size.tournaments)
        _add_versions(store, size.versions)
    _add_tokens(made, size.tokens)
    return made


def _add_tournaments(store: Store, count: int) -> None:
    """Add finished and stopped tournaments of a deal each."""
    league = League(_BOTS, seats=2, rounds=1)
    rows = [
        {
            "config": json.dumps({**league.config, "seed": 1000 + number}),
            "games_total": 2,
            "state": STATES[number % len(STATES)].value,
            "created_at": START + number,
            "games_voided": 0,
            "games_unrated": 0,
            "disqualified": "[]",
            "remarks": "[]",
        }
        for number in range(count)
    ]
    with store.writing() as connection:
        connection.execute(insert(tournaments), rows)
    games = list(league.games(1))
    store.add_games(
        [
            (
                replace(
                    game,
                    match_id=2 * number + index,
                    tournament_id=number + 1,
                    deal_seed=game.deal_seed ^ number,
                ),
                record,
            )
            for number in range(count)
            for index, (game, record) in enumerate(games, start=1)
        ]
    )


def _add_versions(store: Store, count: int) -> None:
    """Add versions of the ladder that are rated, with a history."""
    ladder, config = Book(store), LadderConfig()
    now = START + 86400.0
    season = ladder.open_season(START, {})
    ladder.enter_version("greedy", BotProfile(BotInfo(version="1")), START, owner="", house=True)
    bots = [*(["anna"] * (count // 2)), *(f"bot-{number}" for number in range(count - count // 2))]
    text = {"author": "", "language": "", "description": "", "software": "", "house": 0}
    rows = [
        {"bot": bot, "version": f"v{number}", "owner": bot, **text, "first_at": START, "last_at": now}
        for number, bot in enumerate(bots)
    ]
    beliefs = Beliefs(2, config)
    beliefs.enter(1, START, house=True, anchor=True)
    for version in range(2, count + 2):
        beliefs.enter(version, START)
        deal = RatedDeal(
            finished=version - 1, finished_at=now, versions=(1, version), places=((1, 2), (2, 1))
        )
        beliefs.add(deal)
    points = {"board": BOARD, "elo": 1500.0, "error": 50.0, "deals": 1, "gap": 0.0}
    keys = {column.name for column in ladder_ratings.c}
    history = [
        {
            **{name: value for name, value in points.items() if name in keys},
            "version_id": version,
            "at": START + step,
        }
        for version in range(2, count + 2)
        for step in range(5)
    ]
    score = {"season_id": season.id, "board": BOARD, "games": 2, "firsts": 1, "forfeits": 0}
    deals = [
        {
            "season_id": season.id,
            "board": BOARD,
            "kind": DealKind.RATED.value,
            "versions": [1, version],
            "deal_seed": str(version),
            "started_at": now,
            "finished": version - 1,
            "finished_at": now,
        }
        for version in range(2, count + 2)
    ]
    seats = [
        {"version_id": version, "deal_id": number, "bot": bot}
        for number, own in enumerate(bots, start=1)
        for version, bot in ((1, "greedy"), (number + 1, own))
    ]
    with store.writing() as connection:
        connection.execute(insert(ladder_versions), rows)
        connection.execute(insert(ladder_deals), deals)
        connection.execute(insert(ladder_seats), seats)
        connection.execute(insert(ladder_ratings), history)
        connection.execute(
            insert(ladder_scores), [{**score, "version_id": version} for version in range(2, count + 2)]
        )
    Book(store).keep_beliefs(BOARD, count, beliefs.dump())


def _add_tokens(made: Stored, count: int) -> None:
    now, tokens, invitations = datetime.now(UTC), list[Token](), list[Invitation]()
    made.organiser, organiser = new_token(Role.ORGANISER, "olga", created=now)
    tokens.append(organiser)
    for name in ("anna", "ben", *(f"bot-{number}" for number in range(count))):
        made.bots[name], token = new_token(Role.BOT, name, created=now)
        tokens.append(token)
    for number in range(count):
        clear, invitation = new_invitation(f"Team {number}", 2, created=now)
        made.invitations.append(clear)
        invitations.append(invitation)
    content = StoredTokens(tokens=tokens, invitations=invitations)
    (made.folder / "tokens.json").write_text(content.model_dump_json())
