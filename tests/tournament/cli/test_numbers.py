"""The number in an address such as runs/X#2: it wins over the tournament that the run played."""

from pathlib import Path

import pytest
from tests.tournament.cli.conftest import LATEST
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import League
from tests.tournament.runs import BOTS

from happycity_tournament.cli.addresses import (
    find_run,
    find_tournament,
    location_at,
    open_sources,
    with_tournament,
)
from happycity_tournament.client.run_folder import Run as RunFolder
from happycity_tournament.client.run_folder import own_store
from happycity_tournament.config import TournamentState
from happycity_tournament.storage.store import Store

RUN = f"runs/{LATEST}"


@pytest.fixture
def two(finished_run: RunFolder) -> RunFolder:
    """Return a run with 12 games, in whose store a second tournament has 4, and waits to go on."""
    with Store.create(own_store(finished_run.folder)) as store:
        League(BOTS, rounds=2).add_to(store, state=TournamentState.STOPPED, games=4)
    return finished_run


@pytest.mark.parametrize(
    ("address", "number"), [(RUN, 1), (f"{RUN}#1", 1), (f"{RUN}#2", 2), ("#2", 2), ("", 1)]
)
@pytest.mark.usefixtures("two")
def test_the_number_of_an_address_wins_over_that_of_the_run(run: Run, address: str, number: int) -> None:
    """For what is shown, read and named."""
    assert location_at(address).tournament_id == number
    assert find_tournament(address).tournament_id == number
    assert with_tournament(address) == f"{address}#{number}" if "#" not in address else True
    games = {1: 12, 2: 4}[number]
    arguments = (address,) if address else ()
    shown = json_of(run, "show", *arguments)
    assert (shown["tournament"], shown["games"]) == (number, games)
    assert json_of(run, "rate", *arguments)["games"] == games
    with open_sources([address]) as (source,):
        assert len([*source.games(with_records=False)]) == games


@pytest.mark.parametrize("address", [RUN, f"{RUN}#1", f"{RUN}#2"])
@pytest.mark.usefixtures("two")
def test_the_address_of_a_tournament_names_it(address: str) -> None:
    """A command that is to be copied from a message must not mean another tournament."""
    named = find_tournament(address)
    assert find_tournament(named.address).tournament_id == named.tournament_id
    assert Path(named.address.partition("#")[0]) == Path(RUN)
    assert ("#" in named.address) == (named.tournament_id != 1)


@pytest.mark.usefixtures("two")
def test_a_number_that_no_tournament_has_is_refused(run: Run) -> None:
    for command in ("show", "rate"):
        status, _, errors = run(command, f"{RUN}#3")
        assert (status, "3" in errors) == (2, True), errors


@pytest.mark.usefixtures("two")
def test_the_run_of_an_address_is_of_its_tournament() -> None:
    """So `resume` plays no other one."""
    found = [
        find_run(address) for address in ("", RUN, f"{RUN}#1", f"{RUN}#2", "#2", f"{RUN}/games.sqlite#2")
    ]
    assert [run and run.tournament_id for run in found] == [1, 1, 1, 2, 2, None]


@pytest.mark.usefixtures("two")
def test_what_stop_says_to_continue_is_what_was_stopped(run: Run) -> None:
    for number, address in {1: RUN, 2: f"{RUN}#2"}.items():
        with Store.create(own_store(Path(RUN))) as store:
            store.set_state(number, TournamentState.RUNNING)
        errors = run("stop", f"{RUN}#{number}")[2]
        assert errors.splitlines()[-1] == f"continue with: tournament resume {address}"


@pytest.mark.parametrize("address", [RUN, f"{RUN}#2"])
@pytest.mark.usefixtures("two")
def test_what_is_resumed_is_continued_by_its_own_number(
    run: Run, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    async def abort(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("happycity_tournament.client.session.resume_run", abort)
    status, _, errors = run("resume", address)
    assert (status, f"; continue with: tournament resume {address}\n" in errors) == (130, True), errors
