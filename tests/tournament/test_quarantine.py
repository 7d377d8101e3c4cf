"""Games of disqualified bots: stored and typed like all others, but counted apart and rated nowhere."""

from __future__ import annotations

import csv
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tournament.conftest import Run

from happycity import Config
from happycity.terms import FailurePolicy
from happycity_tournament.config import TournamentConfig
from happycity_tournament.messages import rated
from happycity_tournament.quarantine import Quarantine
from happycity_tournament.report_facts import counted
from happycity_tournament.results import DISQUALIFIED, Fixture, GameResult
from happycity_tournament.sources import gather, open_sources
from happycity_tournament.standings import Standings
from happycity_tournament.status import load_status
from happycity_tournament.store import Store, StoredGame

BOTS = ("ann", "bob", "cem", "dee", "eva", "fay", "gus")
POLICY = FailurePolicy(disqualify_share=0.5, disqualify_games=4)
CONFIG = TournamentConfig(bots=BOTS, game=Config(players=3), rounds=20, seed=1, policy=POLICY)
SCHEDULE = [fixture for stage in CONFIG.schedule().stages() for fixture in stage]


def play(fixture: Fixture, *, forfeited: str = "resigned") -> GameResult:
    """Make a result in which chance favours the late in the alphabet; eva forfeits all her games."""
    rng = random.Random(repr(fixture))
    points = tuple(10 * BOTS.index(bot) + rng.randrange(60) for bot in fixture.bots)
    places = tuple(1 + sum(other > own for other in points) for own in points)
    return GameResult(
        fixture=fixture,
        points=points,
        coins=(0, 0, 0),
        places=tuple(3 if bot == "eva" else place for bot, place in zip(fixture.bots, places, strict=True)),
        endings=tuple(f"forfeit:{forfeited}" if bot == "eva" else "finished" for bot in fixture.bots),
        decisions=60,
        seconds=0.1,
    )


HERS = [number for number, fixture in enumerate(SCHEDULE) if "eva" in fixture.bots]
LAST = HERS[POLICY.disqualify_games - 1]
"""The game by which she is disqualified."""


def results(finished_early: int = 0) -> list[GameResult]:
    """Return all games; of those behind the last one that counts for her she has finished so many before."""
    early = HERS[POLICY.disqualify_games :][:finished_early]
    return [
        play(fixture, forfeited="resigned" if number <= LAST or number in early else "disqualified")
        for number, fixture in enumerate(SCHEDULE)
    ]


def standings(played: list[GameResult], policy: FailurePolicy = POLICY) -> Standings:
    table = Standings(bots=BOTS, policy=policy)
    for fixture in SCHEDULE:
        table.expect(fixture)
    for result in played:
        table.add(result)
    table.flush()
    return table


def stored(tmp_path: Path) -> Path:
    """Store the tournament."""
    path = tmp_path / "games.sqlite"
    with Store(f"sqlite:///{path}") as store:
        tournament_id = store.create_tournament(CONFIG.json(), 0.0)
        store.add_games(
            [
                StoredGame.of(
                    result, id=number, tournament_id=tournament_id, finished_at=100.0 + number, record=None
                )
                for number, result in enumerate(results(), start=1)
            ]
        )
    return path


RATED = [result for number, result in enumerate(results()) if number <= LAST or number not in HERS]
APART = len(SCHEDULE) - len(RATED)


def test_games_in_quarantine_count_in_no_other_column() -> None:
    """All columns but one are those of the games that are rated, for her and for the others at her tables."""
    table = standings(results())
    assert (table.games, table.games_quarantined, table.disqualified) == (len(SCHEDULE), APART, ("eva",))
    lines = {line.bot: line for line in table.lines()}
    without = {line.bot: line for line in standings(RATED, FailurePolicy()).lines()}
    assert {bot: replace(line, games_quarantined=0) for bot, line in lines.items()} == without
    assert lines["eva"].games == lines["eva"].forfeits == POLICY.disqualify_games
    assert lines["eva"].games_quarantined == APART
    assert sum(line.games_quarantined for line in lines.values()) == 3 * APART


@given(st.integers(0, len(HERS)), st.randoms(use_true_random=False))
def test_it_does_not_matter_what_ended_first(finished_early: int, rng: random.Random) -> None:
    """The standings are the same however many games she had finished when it was known."""
    arrived = results(finished_early)
    rng.shuffle(arrived)
    assert standings(arrived).lines() == standings(results()).lines()


def test_final_ratings_count_the_same_games() -> None:
    """What the last message tells is rated by the games of the standings."""
    for finished_early in (0, 3):
        final = rated(CONFIG, results(finished_early))
        assert final is not None
        games = {line.bot: line.games for line in final.ratings}
        assert games == {line.bot: line.games for line in standings(results()).lines()}
    assert rated(CONFIG, results()) == rated(replace(CONFIG, policy=FailurePolicy()), RATED)


def test_nobody_is_in_quarantine_by_default() -> None:
    """As long as nobody is disqualified, forfeited games are rated: failing must not pay."""
    quarantine = Quarantine(FailurePolicy())
    assert all(quarantine.admits(play(fixture)) for fixture in SCHEDULE)
    assert quarantine.disqualified == ()


def test_what_was_forfeited_for_a_bot_is_never_rated() -> None:
    """Also where the judgement is another one, as when games that were given up are played later."""
    quarantine = Quarantine(FailurePolicy())
    forfeited = play(SCHEDULE[HERS[0]], forfeited="disqualified")
    assert forfeited.endings.count(DISQUALIFIED) == 1
    assert not quarantine.admits(forfeited)
    assert quarantine.disqualified == ()


def test_whoever_reads_the_store_sees_the_same(tmp_path: Path) -> None:
    """Standings of a stored tournament are those of the run."""
    with Store(f"sqlite:///{stored(tmp_path)}") as store:
        status = load_status(store, 1)
    assert status is not None
    assert status.standings.lines() == standings(results()).lines()
    assert (status.standings.games_quarantined, status.progress.games) == (APART, len(SCHEDULE))


# Offline -------------------------------------------------------------------------------------------------


def test_offline_ratings_go_by_the_endings(tmp_path: Path, run: Run) -> None:
    """`rate` knows no policy, but what was forfeited for a bot is told by each record."""
    path = stored(tmp_path)
    with open_sources([str(path)]) as sources:
        gathered = gather(sources)
    assert (gathered.count, gathered.quarantined) == (len(RATED), APART)
    status, output, errors = run("rate", path)
    assert (status, errors) == (0, "")
    assert f"{len(RATED)} games of {path}, {APART} with a disqualified bot left out" in output


def test_a_source_in_quarantine_has_no_ratings(tmp_path: Path, run: Run) -> None:
    """A source of which nothing is rated says so."""
    with Store(f"sqlite:///{tmp_path}/games.sqlite") as store:
        result = play(SCHEDULE[HERS[0]], forfeited="disqualified")
        tournament_id = store.create_tournament(CONFIG.json(), 0.0)
        store.add_games(
            [StoredGame.of(result, id=1, tournament_id=tournament_id, finished_at=1.0, record=None)]
        )
    status, _, errors = run("rate", tmp_path / "games.sqlite")
    assert (status, errors) == (
        2, f"error: {tmp_path}/games.sqlite: no finished game in it that is rated\n"
    )  # fmt: skip


def test_tables_tell_which_games_are_in_quarantine(tmp_path: Path, run: Run) -> None:
    """A row for each seat says whether its game counts apart, whoever it was."""
    out = tmp_path / "games.csv"
    assert run("export", stored(tmp_path), "--format", "csv", "--out", out)[0] == 0
    with out.open(newline="") as file:
        told = [(int(row["game"]), row["quarantined"]) for row in csv.DictReader(file)]
    assert told == [
        (number, str(int(result.quarantined)))
        for number, result in enumerate(results(), start=1)
        for _ in result.fixture.bots
    ]


def test_a_report_counts_them_apart(tmp_path: Path, run: Run) -> None:
    """Its tables are of the games that are rated; a disqualified bot's others are told by their reason."""
    path = stored(tmp_path)
    with open_sources([str(path)]) as (source,):
        facts = counted(BOTS, source.games(with_records=True))
    assert (facts.games, facts.quarantined) == (len(RATED), APART)
    eva = facts.bots["eva"]
    assert (eva.games, eva.forfeits, eva.quarantined) == (4, 4, APART)
    assert eva.endings == {"forfeit:resigned": 4, DISQUALIFIED: APART}
    out = tmp_path / "report.html"
    status, _, errors = run("report", path, "--out", out)
    assert (status, errors) == (0, f"{out}: a report of {len(SCHEDULE)} games\n")
    text = out.read_text(encoding="utf-8")
    assert f"Another {APART} with a disqualified bot count apart" in text
    assert f"4 of 4 games, and {APART} disqualified" in text


@pytest.mark.parametrize("last_round", [None, 9])
def test_a_report_tells_who_took_part_when(tmp_path: Path, run: Run, last_round: int | None) -> None:
    """A bot that joined late or was withdrawn has its rounds in the standings."""
    path = stored(tmp_path)
    stay = {"bot": "gus", "first_round": 5, "last_round": last_round}
    with Store(f"sqlite:///{path}") as store:
        store.set_config(1, {**CONFIG.json(), "roster": [stay]})
    out = tmp_path / "report.html"
    assert run("report", path, "--out", out)[0] == 0
    text = out.read_text(encoding="utf-8")
    assert ("from round 5" if last_round is None else "rounds 5 to 9, withdrawn") in text
    assert text.count('<td class="text">throughout</td>') == len(BOTS) - 1
