"""The one rule of which games count gives every reader the same games, and so the same ratings."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.games import finished, fixtures_of, with_endings
from tests.tournament.servers import arena
from tests.waiting import LIMIT

from happycity import Config, Ending, FailurePolicy
from happycity_tournament.config import RandomRounds, SprtTest, TournamentConfig, TournamentState
from happycity_tournament.games import FinishedGame, practice_seed
from happycity_tournament.schedule import SprtSchedule, schedule_of
from happycity_tournament.standings.counted import CountingRules, Uncounted
from happycity_tournament.storage.store import Store
from happycity_tournament.storage.stored import StoredTournament

BOTS = ("ann", "bob", "cem", "flaky")
CONFIG = TournamentConfig(
    bots=BOTS,
    game=Config(players=2),
    format=RandomRounds(rounds=40),
    seed=3,
    policy=FailurePolicy(disqualify_share=0.3, disqualify_games=20),
)


def stored(config: TournamentConfig, number: int = 1) -> StoredTournament:
    with Store.create("sqlite://") as store:
        store.create_tournament(config.json(), games_total=1, created_at=1.0)
        return replace(store.require_tournament(1), id=number)


def games_with_a_flaky_bot() -> Iterator[FinishedGame]:
    """Yield games of which a bot forfeits each second one; four had ended when it was disqualified."""
    flaky, out_at = 0, CONFIG.policy.disqualify_games
    for number, fixture in enumerate(fixtures_of(CONFIG), start=1):
        points = [(3 * number + 7 * BOTS.index(bot)) % 23 for bot in fixture.bots]
        game = finished(fixture, points=points, match_id=number, decisions=1)
        seats = [Ending.FINISHED] * 2
        if "flaky" in fixture.bots:
            flaky += 1
            late = Ending.DISQUALIFIED if flaky > out_at + 4 else Ending.CRASHED if flaky % 2 else None
            seats[fixture.bots.index("flaky")] = late or Ending.FINISHED
        yield with_endings(game, *seats)


@pytest.fixture
def run_with_disqualified(tmp_path: Path) -> Path:
    path = tmp_path / "games.sqlite"
    games = list(games_with_a_flaky_bot())
    with Store.create(f"sqlite:///{path}") as store:
        store.create_tournament(CONFIG.json(), games_total=len(games), created_at=1.0)
        store.add_games([(game, None) for game in games])
        store.set_state(1, TournamentState.FINISHED)
    return path


def by_bot(lines: list[dict[str, Any]]) -> dict[str, tuple[int, float]]:
    return {line["bot"]: (int(line["games"]), round(line["elo"], 4)) for line in lines}


@pytest.mark.level(2)
def test_every_reader_counts_the_same_games(run_with_disqualified: Path, tmp_path: Path, run: Run) -> None:
    path = run_with_disqualified
    shown, rated = json_of(run, "show", path), json_of(run, "rate", path)
    unrated = shown["games_unrated"]
    assert unrated > 4
    counted = len(fixtures_of(CONFIG)) - unrated
    assert (rated["games"], rated["games_unrated"]) == (counted, unrated)
    assert by_bot(shown["standings"]) == by_bot(rated["standings"])

    with arena(tmp_path, {}, web="127.0.0.1:0") as server:
        page = json.load(urlopen(f"{server.web}/tournaments/1.json", timeout=LIMIT))
    on_page = [{**line, "elo": line["rating"]["elo"]} for line in page["standings"]]
    assert by_bot(on_page) == by_bot(rated["standings"])

    table = tmp_path / "games.jsonl"
    assert run("export", path, "--format", "jsonl", "--out", table)[0] == 0
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    assert len({row["game"] for row in rows if not row["unrated"]}) == counted

    report = tmp_path / "report.html"
    assert run("report", path, "--out", report)[0] == 0
    text = re.sub(r"<[^>]*>", " ", report.read_text())
    games, elo = by_bot(rated["standings"])["flaky"]
    assert re.search(rf"flaky\s+{elo:,.0f}\s[^a-z]*\s{games}\s", text)
    assert f"Another {unrated} games with a disqualified bot are not rated" in " ".join(text.split())


@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_it_does_not_matter_how_many_come_at_once(at_once: int) -> None:
    games = list(games_with_a_flaky_bot())
    one_by_one = CountingRules([stored(CONFIG)])
    expected = [game.match_id for game in games if one_by_one.reason(game) is None]
    rules, found = CountingRules([stored(CONFIG)]), []
    for first in range(0, len(games), at_once):
        found += [game.match_id for game in rules.rule(1).divide(games[first : first + at_once])[0]]
    assert found == expected
    assert rules.uncounted == one_by_one.uncounted == {Uncounted.UNRATED: len(games) - len(expected)}
    assert rules.disqualified == ("flaky",)


def test_practice_is_not_counted_and_other_games_are() -> None:
    """Games of no tournament count unless a seat was forfeited for a disqualified bot."""
    (game, *_) = games_with_a_flaky_bot()
    free = replace(game, tournament_id=None, position=None)
    rules = CountingRules()
    assert rules.reason(free) is None
    assert rules.reason(replace(free, deal_seed=practice_seed(7))) is Uncounted.PRACTICE
    assert rules.reason(with_endings(free, Ending.DISQUALIFIED, Ending.FINISHED)) is Uncounted.UNRATED


@pytest.mark.level(1)
def test_games_after_the_decision_of_a_test_are_not_counted(run: Run) -> None:
    """Games after the decision are left out, however many are read at once, and `rate` says so."""
    chosen = SprtTest(candidate="new", base="old", elo0=0, elo1=50, max_blocks=200)
    config = TournamentConfig(bots=("new", "old"), game=Config(players=2), format=chosen, seed=1)
    schedule = schedule_of(config)
    assert isinstance(schedule, SprtSchedule)
    games: list[FinishedGame] = []
    for stage in schedule.stages():
        for fixture in stage:
            won = fixture.round % 5 != 0
            places = [1 + ((bot == "new") != won) for bot in fixture.bots]
            games.append(finished(fixture, places=places, match_id=len(games) + 1))
            schedule.add(games[-1])
    last = schedule.last_round
    assert last is not None
    counted = [game for game in games if game.round <= last]
    late = [
        replace(game, position=(last + number, 1, game.fixture.rotation), match_id=1000 + number)
        for number, game in enumerate(games[:4], start=1)
    ]
    for at_once in (1, 50, 10_000):
        rules = CountingRules([stored(config)])
        parts = [[*counted, *late][first:][:at_once] for first in range(0, len(counted) + 4, at_once)]
        assert [game for part in parts for game in rules.rule(1).divide(part)[0]] == counted
        assert rules.uncounted[Uncounted.AFTER_DECISION] == 4
    with Store.create("sqlite:///games.sqlite") as store:
        store.create_tournament(config.json(), games_total=400, created_at=1.0)
        store.add_games([(game, None) for game in (*counted, *late)])
    rated = json_of(run, "rate", "games.sqlite")
    assert (rated["games"], rated["games_after_decision"]) == (len(counted), 4)
    assert "4 games after the decision of a test left out" in run("rate", "games.sqlite")[1]
