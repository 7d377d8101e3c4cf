"""A damaged row of the ladder hides no other: not in a list, nor on a page; and the ladder goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.ladder.test_book import begun, challenge, ladder_with_bots, line_of, play
from tests.server.harness import Service, serving
from tests.server.ladder.ladders import TWO_SEATS
from tests.waiting import LIMIT

from happycity_ladder.book import Book
from happycity_ladder.entries import ActionKind, ModerationAction, Rating, RatingPoint
from happycity_tournament.storage.store import Store

DEALS = {
    "kind = 'of a later version'": False,
    "versions = 'no JSON'": False,
    "versions = '[1, \"two\"]'": False,
    "versions = '[1, 99]'": False,
    "deal_seed = 'x'": False,
    "started_at = 'noon'": False,
    "started_at = 1e308": True,
    "finished_at = -9e999": True,
    "finished_at = 1e308": True,
    "finished = -7": False,
}
CHALLENGES = {
    "kind = 'of a later version'": False,
    "opponents = '5'": False,
    "accepted = 'no JSON'": False,
    "opponents = '[\"\\ud800\"]'": False,
    "deals = 9000000000000000": False,
    "deals = 'many'": False,
    "state = 'lost'": False,
    "created_at = 1e308": True,
    "expires_at = 'noon'": False,
}
ACTIONS = {
    "at = 1e308": True,
    "at = 'noon'": True,
    "kind = 'pardon'": False,
    "deals = -1": True,
    "deals = 'many'": True,
}
SEASONS = {
    "started_at = 1e308": True,
    "ended_at = 'noon'": False,
    "deals = 'many'": False,
    "games = -1": False,
    "closed_after = 'the last'": False,
}
VERSIONS = dict.fromkeys(("house = 7", "first_at = 'noon'", "last_at = 1e308", "first_at = -9e999"), True)
GAMES = dict.fromkeys(
    ("places = '[\"first\", 2]'", "places = 'no JSON'", "bots = '5'", "endings = '[]'"), False
)
Damages = Mapping[str, Mapping[str, bool]]
"""By table: what is done to a row, and whether the row is still shown."""
ALL: Damages = {
    "ladder_deals": DEALS,
    "ladder_challenges": CHALLENGES,
    "acts": ACTIONS,
    "ladder_seasons": SEASONS,
    "ladder_versions": VERSIONS,
    "games": GAMES,
}
PAGES = (
    "/ladder",
    "/ladder.json",
    "/ladder/deals",
    "/ladder/bots/ann",
    "/ladder/seasons",
    "/ladder/challenges",
    "/acts",
    "/ladder/flags",
    "/matches",
)


def fill(book: Book) -> None:
    """Store some of everything, more than is damaged."""
    for number in range(len(DEALS) + len(GAMES) + 5):
        play(book, begun(book, 1, 2), 1 + 2 * number)
    for _ in range(len(CHALLENGES) + 3):
        book.add_challenge(challenge(deals=2, expires_at=4e9))
    for _ in range(len(ACTIONS) + 3):
        kind = ActionKind.RESTORE
        book.add_action(ModerationAction(at=50.0, organiser="olga", text="odd", kind=kind, bot="ann"))
    for season in range(1, len(SEASONS) + 3):
        book.close_season(season, {"2-family": [line_of(book)]}, 60.0 + season)
    for number in range(len(VERSIONS) + 2):
        book.enter_version(f"bot-{number}", book.versions()[1].profile, 70.0, owner="ann")
        begun(book, number + 4, 1)
    rating = Rating(elo=1500.0, error=9.0, deals=3)
    points = [RatingPoint(board="2-family", version_id=1, at=50.0 + at, rating=rating) for at in range(5)]
    book.save_ratings(points)


def damage(store: Store, damages: Damages) -> dict[str, set[int]]:
    """Damage rows of tables from the second one on; return the ids of those that are not shown."""
    first = {"ladder_versions": 5, "games": 2 * len(DEALS) + 4}
    hidden: dict[str, set[int]] = {}
    with store.writing() as connection:
        for table, changes in damages.items():
            rows = list(enumerate(changes.items(), first.get(table, 2)))
            for number, (change, _) in rows:
                connection.exec_driver_sql(f"UPDATE {table} SET {change} WHERE id = {number}")
            hidden[table] = {number for number, (_, is_shown) in rows if not is_shown}
    return hidden


async def listed(call: Callable[..., Any], field: str, key: str) -> list[int]:
    """Return the ids of all entries of a list, by small pages."""
    found, token, is_last = list[int](), "", False
    while not is_last:
        page = await call(page_size=3, page_token=token)
        found += [getattr(entry, key) for entry in getattr(page, field)]
        token, is_last = page.next_page_token, not page.next_page_token
    return found


@pytest.mark.level(2)
async def test_damaged_rows_hide_no_others(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Lists and pages have all others; a version is named as far as it can be read."""
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        book = ladder_with_bots(store)
        fill(book)
        known: Mapping[str, Sequence[Any]] = {
            "ladder_deals": book.deals(999),
            "ladder_challenges": book.challenges(None),
            "acts": book.actions(None),
            "ladder_seasons": book.seasons(None),
        }
        hidden = damage(store, ALL)
        assert [*book.versions()] == list(range(1, 4 + len(VERSIONS) + 2))
    (tmp_path / "ladder.toml").write_text(TWO_SEATS)
    async with serving(tmp_path, ladder=tmp_path / "ladder.toml", web="127.0.0.1:0") as (server, channel):
        ladder = Service(channel, "happycity.ladder.v1beta1.LadderService")
        for table, call, field, key in (
            ("ladder_deals", ladder.ListLadderDeals, "deals", "deal_id"),
            ("ladder_challenges", ladder.ListChallenges, "challenges", "challenge_id"),
            ("acts", ladder.ListActs, "acts", "act_id"),
            ("ladder_seasons", ladder.ListSeasons, "seasons", "season_id"),
        ):
            expected = [entry.id for entry in known[table] if entry.id not in hidden[table]]
            assert await listed(call, field, key) == expected, table
        assert (await ladder.GetLadder()).season.season_id == len(SEASONS) + 3
        assert len((await ladder.GetLeaderboard()).lines) == 2
        assert len((await ladder.GetLeaderboard(season_id=1)).lines) == 1
        for bot in ("ann", *(f"bot-{number}" for number in range(len(VERSIONS)))):
            assert (await ladder.GetLadderBot(bot=bot)).bot == bot
        await ladder.ListFlags()
        async with httpx.AsyncClient(timeout=LIMIT, base_url=server.web or "") as client:
            shown = {path: (await client.get(path)).status_code for path in PAGES}
        assert set(shown.values()) == {200}, shown
    assert "failed" not in capfd.readouterr().err
