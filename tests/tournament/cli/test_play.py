"""What `tournament run` and `sprt` print of a session, and how they end; the session is made up."""

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import START
from tests.tournament.runs import LEAGUE

from happycity import Config
from happycity.compiled import is_compiled
from happycity_tournament.cli.session_view import PURE
from happycity_tournament.client.connection import ServerError
from happycity_tournament.client.run_folder import OwnServer
from happycity_tournament.client.run_folder import Run as RunFolder
from happycity_tournament.client.session import ProgressView, ServerEndedError
from happycity_tournament.config import SprtTest, TournamentConfig, TournamentState
from happycity_tournament.lineup import Lineup
from happycity_tournament.play.snapshot import Snapshot, load_snapshot
from happycity_tournament.ratings.sprt import SprtState, Verdict
from happycity_tournament.storage.store import Store

Play = Callable[[TournamentConfig, Path], Snapshot]


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets up how the next session goes.

    It stores `stored` games of a tournament and returns its snapshot, changed by `end`, which may raise.
    """

    def set_up(
        end: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot,
        *,
        stored: int = 12,
        state: TournamentState = TournamentState.FINISHED,
    ) -> None:
        async def play_new(
            config: TournamentConfig,
            *,
            folder: Path,
            venue: OwnServer,
            lineup: Lineup,
            view: ProgressView,
            web: bool,
        ) -> Snapshot:
            with Store.create(venue.store) as store:
                tournament_id = LEAGUE.add_to(store, state=state, games=stored)
                snapshot = load_snapshot(store, tournament_id)
            RunFolder(
                folder=folder, tournament_id=tournament_id, created_at=START, venue=venue, lineup=lineup
            ).save()
            for progress in (TournamentState.WAITING, TournamentState.RUNNING):
                missing = ("guest",) if progress is TournamentState.WAITING else ()
                view.update(replace(snapshot, state=progress, missing_bots=missing))
            return end(snapshot)

        monkeypatch.setattr("happycity_tournament.client.session.play_new", play_new)

    return set_up


def only_run() -> Path:
    (folder,) = Path("runs").iterdir()
    return folder


def test_a_result_is_printed_with_its_place(run: Run, session: Callable[..., None]) -> None:
    session()
    status, output, errors = run("run")
    folder = only_run()
    assert status == 0
    assert output.splitlines()[-4:] == [
        f"games and output: {folder}/",
        f"details of the ratings: tournament show {folder}",
        f"single games: tournament games {folder}",
        f"report as a web page: tournament report {folder} --out report.html",
    ]
    assert (PURE in errors) is not is_compiled()
    assert "Davidson-Luce" not in output
    assert "12 of 12 games (3 rounds, 4 seats, seed 7), 480 decisions in " in output
    assert errors.splitlines()[0] == "waiting for guest, at most 10 s (Ctrl-C stops it)"

    status, output, errors = run("run", "--json")
    result = json.loads(output)
    assert (status, result["tournament"], result["state"]) == (0, 1, "finished")
    assert {line["bot"] for line in result["standings"]} == set(LEAGUE.bots)
    assert "games and output: runs/" in errors
    assert (PURE in errors) is not is_compiled()


def test_a_stopped_tournament_can_be_continued(run: Run, session: Callable[..., None]) -> None:
    session(stored=5, state=TournamentState.STOPPED)
    status, output, errors = run("run")
    assert status == 130
    assert "stopped: 5 of 12 games" in output
    assert errors.splitlines()[-1] == f"continue with: tournament resume {only_run()}"


@pytest.mark.parametrize(("verdict", "expected"), [(Verdict.H1, 0), (Verdict.UNDECIDED, 3)])
def test_the_status_says_whether_a_test_decided(
    run: Run, session: Callable[..., None], verdict: Verdict, expected: int
) -> None:
    def end(snapshot: Snapshot) -> Snapshot:
        test = SprtState(blocks=30, llr=1.5, lower=-2.9, upper=2.9, elo=12.0, verdict=verdict)
        chosen = SprtTest(candidate="new", base="random")
        config = TournamentConfig(bots=("new", "random"), game=Config(players=2), format=chosen, seed=1)
        return replace(snapshot, test=test, config=config)

    session(end)
    status, output, _ = run("sprt", "--candidate", "new=planner", "--base", "random", "--json")
    assert status == expected
    assert json.loads(output)["sprt"]["verdict"] == verdict.value


@pytest.mark.parametrize("how", ["removed", "cut", "games missing"])
def test_a_result_that_is_not_stored_is_not_said_to_be(
    run: Run, session: Callable[..., None], how: str
) -> None:
    """Result and JSON are there, but the command fails and names no place of the games."""

    def end(snapshot: Snapshot) -> Snapshot:
        store = only_run() / "games.sqlite"
        if how == "removed":
            store.unlink()
        if how == "cut":
            store.write_bytes(store.read_bytes()[:5000])
        return replace(snapshot, games=snapshot.games + (how == "games missing"))

    session(end)
    status, output, errors = run("run", "--json")
    assert status == 2
    assert "games and output: " not in errors
    assert "tournament report" not in errors
    assert len(json.loads(output)["standings"]) == 4
    assert errors.splitlines()[-1].startswith("error: this result is not stored: database sqlite:///runs/")


@pytest.mark.parametrize("is_there", [True, False])
def test_the_end_of_a_server_says_what_is_left(
    run: Run, session: Callable[..., None], *, is_there: bool
) -> None:
    for error, status, text in [
        (ServerEndedError("the server ended with status 1"), 2, "error: the server ended with status 1; "),
        (asyncio.CancelledError(), 130, "aborted; "),
    ]:

        def end(snapshot: Snapshot, error: BaseException = error) -> Snapshot:
            if not is_there:
                (only_run() / "games.sqlite").unlink()
            raise error

        session(end, stored=5)
        ended, output, errors = run("run")
        folder = only_run()
        left = f"finished games are in sqlite:///{folder}/games.sqlite; "
        left += f"continue with: tournament resume {folder}"
        lost = f"database sqlite:///{folder}/games.sqlite can't be opened: there is no such file"
        assert (ended, output) == (status, "")
        assert errors.splitlines()[-1] == text + (left if is_there else lost)
        shutil.rmtree(folder)


def test_a_refusal_leaves_no_empty_folder(
    run: Run, session: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:

    async def play_new(*_: object, **__: object) -> Snapshot:
        raise ServerError("no server answers")

    monkeypatch.setattr("happycity_tournament.client.session.play_new", play_new)
    assert run("run", "--server", "h:1")[::2] == (2, "error: no server answers\n")
    assert list(Path("runs").iterdir()) == []
