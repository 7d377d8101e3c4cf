"""`tournament run --workers`: more processes play, and the games are the same."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import pytest
from tests.commands import programs
from tests.commands.programs import ALL_GAMES, STORE, Gate, Records, Start, Undisturbed, records
from tests.waiting import PATIENT

from happycity.records.record import Json
from happycity_tournament.games import Position
from happycity_tournament.storage.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes as Linux has it")


def match_ids(url: str) -> Mapping[Position | None, int]:
    with Store.existing(url) as store:
        return {game.position: game.match_id for game in store.games(ALL_GAMES, tournament_id=1)}


@dataclass(frozen=True)
class End:
    records: Records
    match_ids: Mapping[Position | None, int]
    standings: list[Json]


def end_of(*arguments: str) -> End:
    standings = programs.played(*arguments, "--seed", "5", "--no-web", "--store", STORE)["standings"]
    return End(records(STORE), match_ids(STORE), standings)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., End]:

    @cache
    def played_once(*arguments: str) -> End:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path_factory.mktemp("alone"))
            return end_of(*arguments)

    return played_once


@pytest.mark.level(3)
@pytest.mark.parametrize(
    ("workers", "arguments"),
    [
        (2, ("run", "--rounds", "6")),
        pytest.param(2, ("run", "--rounds", "10", "--mode", "expert"), marks=pytest.mark.nightly),
        pytest.param(
            2,
            ("run", "--rounds", "8", "--seats", "2", "--format", "swiss", "--concurrency", "3"),
            marks=pytest.mark.nightly,
        ),
        (2, ("sprt", "--candidate", "greedy", "--base", "random", "--seats", "2", "--elo1", "100")),
    ],
    ids=["family", "expert", "swiss", "sprt"],
)
def test_results_do_not_depend_on_workers(
    alone: Callable[..., End], arguments: tuple[str, ...], workers: int
) -> None:
    without, shared = alone(*arguments), end_of(*arguments, "--workers", str(workers))
    assert shared.standings == without.standings
    # A test that has decided lets games end that were begun, of which there are more with more places.
    common = without.records.keys() & shared.records.keys()
    assert common == without.records.keys()
    assert arguments[0] == "sprt" or common == shared.records.keys()
    assert {place: shared.records[place] for place in common} == without.records
    assert {place: shared.match_ids[place] for place in common} == without.match_ids


@pytest.mark.level(3)
def test_results_do_not_depend_on_killed_workers(
    start: Start, gate: Gate, url: str, undisturbed: Callable[[int], Undisturbed]
) -> None:
    """Each game of a killed worker begins again elsewhere; at the end all is as if nothing had happened."""
    kills, games = 2, 24
    arguments = (*programs.gated_run(games, at_once=2, store=url), "--workers", "1", "--json")
    run = start("happycity_tournament", *arguments, stderr=subprocess.PIPE)
    for kill in range(1, kills + 1):
        programs.wait_for_line(run, " play")  # the worker, at first and after each kill
        gate.let_through(games // (2 * kills))
        server = programs.own_server(programs.own_folder())
        programs.follow(server, until_games=kill * games // (3 * kills))
        kill_worker()
    gate.let_through(ALL_GAMES)
    output, errors = run.communicate()
    assert run.returncode == 0, errors
    assert records(url) == undisturbed(games).records
    with Store.existing(url) as store:
        assert store.require_tournament(1).problems.games_voided == 0
    standings = programs.standings_of(json.loads(output))
    assert standings == programs.standings_of(undisturbed(games).result)


@pytest.mark.level(3)
def test_restarts_beside_workers_are_counted() -> None:
    """A bot that dies beside a worker is started again there, and the line after the table says how often.

    When it has died for good its games are forfeited, and wait neither for a decision nor for its return.
    """
    run = programs.tournament(
        "run", "--bots", "random", "--bot", programs.command_of("mortal"), "--seats", "2", "--rounds", "8",
        "--workers", "1", "--restarts", "1", *PATIENT, "--no-web",
        *programs.settings_file(disqualify_share=0),
    )  # fmt: skip
    assert "worker 1: mortal ended, and is started again" in run.errors, run
    assert "mortal was started again 1 time beside workers" in run.output


def kill_worker() -> None:
    (worker,) = workers()
    handle = os.pidfd_open(worker)
    os.kill(worker, signal.SIGKILL)
    select.select([handle], [], [])
    os.close(handle)


def workers() -> list[int]:
    return [pid for pid, command in programs.processes().items() if " -m happycity worker " in command]


def test_worker_ends_with_its_server(start: Start) -> None:
    server = programs.serve(start, "--workers", "2", listen="127.0.0.1:0", stderr=subprocess.PIPE)
    for _ in range(2):
        programs.wait_for_line(server, '"worker_joined"')
    handles = [os.pidfd_open(pid) for pid in workers()]
    assert len(handles) == 2
    server.kill()
    for handle in handles:
        select.select([handle], [], [])
        os.close(handle)
