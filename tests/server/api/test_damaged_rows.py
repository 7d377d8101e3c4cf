"""A row of the store that can't be shown hides no other: not in a list, nor on a page, nor in the feed."""

from pathlib import Path

import httpx
import pytest
from tests.server.harness import matches_at, serving, tournaments_at
from tests.tournament.games import BOTS, stored_games, with_records
from tests.waiting import LIMIT

from happycity import Config
from happycity_tournament.config import RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.storage.store import Store

CONFIG = TournamentConfig(bots=BOTS, game=Config(players=4), format=RandomRounds(rounds=1), seed=1)
OF_GAMES = {
    "started_at = 1e308": True,
    "started_at = -1e308, finished_at = 9e999": True,
    "finished_at = -9e999": True,
    "created_at = 1e300, started_at = 1e300, finished_at = 1e301": True,
    "created_at = 253402300799, started_at = 0, finished_at = 253402300799": True,
    "started_at = 'noon'": False,
    "points = '[1000000, 5, 5, 5]'": True,
    "points = '[1e40, 5, 5, 5]'": False,
    "points = '[1, 2, 3, 10000000000000]'": False,
    "places = '[-1, 2, 2, 4]'": False,
    "places = '[\"first\", 2, 2, 4]'": False,
    "ranks = '[77, 77, 77]'": False,
    "hearts = 'null'": False,
    "coins = 'no JSON'": False,
    "bots = '5'": False,
    "bots = '[1, 2, 3, 4]'": False,
    'bots = \'["\\ud800", "b", "c", "d"]\'': False,
    'endings = \'["won", "won", "won", "won"]\'': False,
    "reasons = '[5]'": False,
    "decisions = 9000000000000000": False,
    "decisions = -1": False,
    "players = 77": False,
    "mode = 'of a later version'": False,
    "deal_seed = 'x'": False,
}
"""Damages of a game, and whether it is still shown."""
OF_TOURNAMENTS = (
    "created_at = 1e308",
    "created_at = -9e999",
    "created_at = 'noon'",
    "games_total = 'many'",
    "games_voided = 'few'",
    "games_unrated = 1.5",
    "config = '{\"bots\": 5}'",
    "config = replace(config, '\"seed\": 1', '\"seed\": 1e400')",
    "config = replace(config, '\"seed\": 1', '\"seed\": 123456789012345678901234567890')",
    "config = replace(config, '\"ann\"', '\"\\ud800\"')",
    "remarks = '[\"\\ud800\"]'",
    "disqualified = '[[1], {}]'",
)
PAGES = ("/", "/index.json", "/matches", "/matches.json", "/tournaments", "/tournaments.json", "/feed.atom")


def filled(folder: Path, tournaments: int) -> Store:
    """Return a store of finished tournaments of four games each."""
    store = Store.create(f"sqlite:///{folder}/games.sqlite")
    for number in range(tournaments):
        made = store.create_tournament(CONFIG.json(), games_total=4, created_at=5.0)
        store.add_games(with_records(stored_games(made, 1 + 4 * number, rounds=1)))
        store.set_state(made, TournamentState.FINISHED)
    return store


async def looked_at(folder: Path) -> tuple[list[int], list[int], list[str]]:
    """Return the matches and tournaments that are listed, and the pages that failed."""
    async with serving(folder, web="127.0.0.1:0", resume_tournaments=False) as (server, channel):
        tournaments, matches = tournaments_at(channel), matches_at(channel)
        listed, token, is_last = list[int](), "", False
        while not is_last:
            page = await matches.ListMatches(page_size=7, page_token=token)
            listed += [one.match_id for one in page.matches]
            token, is_last = page.next_page_token, not page.next_page_token
        found = [one.tournament_id for one in (await tournaments.ListTournaments()).tournaments]
        for number in found:
            assert (await tournaments.GetTournament(tournament_id=number)).tournament_id == number
            await matches.ListMatches(tournament_id=number)
        async with httpx.AsyncClient(timeout=LIMIT, base_url=server.web or "") as client:
            shown = [(path, (await client.get(path)).status_code) for path in (*PAGES, "/tournaments/1")]
        return listed, found, [path for path, status in shown if status != 200]


@pytest.mark.level(2)
async def test_damaged_games_hide_no_others(tmp_path: Path) -> None:
    """Each tournament but the first has one, and its own page says so."""
    with filled(tmp_path, 1 + len(OF_GAMES)) as store, store.writing() as connection:
        for number, damage in enumerate(OF_GAMES, 1):
            connection.exec_driver_sql(f"UPDATE games SET {damage} WHERE id = {4 * number + 2}")
    hidden = {4 * number + 2 for number, is_shown in enumerate(OF_GAMES.values(), 1) if not is_shown}
    listed, found, failed = await looked_at(tmp_path)
    assert listed == [number for number in range(4 + 4 * len(OF_GAMES), 0, -1) if number not in hidden]
    assert (found, failed) == (list(range(1 + len(OF_GAMES), 0, -1)), [])


@pytest.mark.level(2)
async def test_damaged_tournaments_hide_no_others(tmp_path: Path) -> None:
    """All but the first are damaged; they are listed as far as they can be read."""
    with filled(tmp_path, 1 + len(OF_TOURNAMENTS)) as store, store.writing() as connection:
        for number, damage in enumerate(OF_TOURNAMENTS, 2):
            connection.exec_driver_sql(f"UPDATE tournaments SET {damage} WHERE id = {number}")
    listed, found, failed = await looked_at(tmp_path)
    assert listed == list(range(4 + 4 * len(OF_TOURNAMENTS), 0, -1))
    assert (found, failed) == (list(range(1 + len(OF_TOURNAMENTS), 0, -1)), [])
