"""`tournament list`, `show`, `stop` and `resume` without a server: what they read, and what they refuse."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from happycity import Config, ConfigError
from happycity.cli import run_cli
from happycity_tournament.access import Access
from happycity_tournament.config import TournamentConfig
from happycity_tournament.online_cli import register
from happycity_tournament.plan import Plan
from happycity_tournament.store import Store

Call = Callable[..., tuple[int, str, str]]

CONFIG = TournamentConfig(bots=("ann", "bob"), game=Config(players=2), rounds=3, seed=5)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Return a function that runs a command in an empty folder; it returns status, output and errors."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    register(app)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("happycity_tournament.access.REACH_SECONDS", 0.1)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tournament", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run_cli(app)
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return run


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Make a store with a tournament that was killed, one that was stopped, and one of another version."""
    with Store(f"sqlite:///{tmp_path}/games.sqlite") as opened:
        for state in ("running", "stopped"):
            opened.set_state(opened.create_tournament(CONFIG.json(), 0.0), state)
        opened.create_tournament({"bots": ["ann"]}, 0.0)
    return "games.sqlite"


def test_list_tells_all_tournaments_of_a_store(call: Call, store: str) -> None:
    """Newest first; without a server nothing runs, and what can't be read is listed with the reason."""
    status, output, errors = call("list", "--store", store, "--json")
    assert (status, errors) == (0, "")
    told = json.loads(output)
    assert [(one["tournament"], one["state"]) for one in told] == [
        (3, "unspecified"), (2, "stopped"), (1, "interrupted")
    ]  # fmt: skip
    assert "can't be read" in told[0]["remarks"][0]
    assert (told[1]["bots"], told[1]["games"], told[1]["games_total"]) == (["ann", "bob"], 0, 6)
    assert told[1]["created"] == "1970-01-01T00:00:00+00:00"
    assert "interrupted" in call("list", "--store", store)[1]


def test_a_tournament_that_a_server_has_is_running(call: Call, store: str, tmp_path: Path) -> None:
    """Where a server has claimed the store, the state that it stored holds."""
    with Store(f"sqlite:///{tmp_path}/{store}") as opened:
        opened.claim()
        told = json.loads(call("list", "--store", store, "--json")[1])
    assert told[2]["state"] == "running"


def test_show_tells_what_a_tournament_consists_of(call: Call, store: str) -> None:
    """The seed is told once the deals are out of play; there are no ratings without games."""
    stopped = json.loads(call("show", "2", "--store", store, "--json")[1])
    assert stopped["config"] == CONFIG.json()
    assert stopped["final"] is None
    interrupted = json.loads(call("show", "1", "--store", store, "--json")[1])
    assert interrupted["config"]["seed"] is None
    status, output, _ = call("show", "1", "--store", store)
    assert status == 0
    for text in ("tournament 1, interrupted", "ann, bob", "2 seats, family rules", "0 of 6 games"):
        assert text in output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("list",), "say by one of them where to look"),
        (("list", "--store", "x", "--server", "y:1"), "say by one of them where to look"),
        (("list", "--store", "none.sqlite"), "none.sqlite: there is no such file"),
        (("list", "--store", "nosuch://x"), "is of an unknown kind"),
        (("list", "--server", "127.0.0.1:9"), "no server answers at 127.0.0.1:9"),
        (("show", "7", "--store", "games.sqlite"), "knows no tournament 7"),
        (("show", "3", "--store", "games.sqlite"), "can't be read"),
        (("show", "one", "--store", "games.sqlite"), "'one' is no tournament's id"),
        (("show", "7"), "an id needs its place"),
        (("show", "nowhere"), "nowhere is no folder of a run"),
        (("show", "1", "--store", "x", "--server", "y:1"), "say by one of them where to look"),
        (("stop", "1", "--server", "127.0.0.1:9"), "no server answers"),
        (("resume", "nowhere"), "nowhere is no folder of a run"),
        (("resume", "1", "--server", "y:1", "--store", "x"), "leave one of --store and --server away"),
        (("resume", "runs", "--server", "y:1"), "'runs' is no tournament's id"),
        (("resume", "1", "--server", "y:1", "--json", "no/such/x.json"), "there is no folder no/such"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("store")
def test_bad_input_costs_one_line_and_status_2(call: Call, arguments: tuple[str, ...], told: str) -> None:
    """What is wrong, where, and nothing else."""
    status, _, errors = call(*arguments)
    assert status == 2
    (line,) = errors.splitlines()
    assert line.startswith("error: ")
    assert told in line


# Plans ---------------------------------------------------------------------------------------------------


def plan(folder: Path, **changes: object) -> Plan:
    fields = {"config": CONFIG, "store": f"sqlite:///{folder}/games.sqlite", "logs": folder, **changes}
    return Plan(**fields)  # type: ignore[arg-type]  # whatever a test changes


def test_a_plan_outlives_its_process(tmp_path: Path) -> None:
    """What was saved is what is loaded, with what it takes to go on in place of what there was to set up."""
    saved = plan(
        tmp_path, builtin=("greedy", "random2=random"), commands=(("mine", "python 'my bot.py'"),),
        join=("guest",), processes=2, directory=tmp_path / "bots",
    )  # fmt: skip
    saved.save(3)
    loaded = Plan.load(tmp_path)
    assert (loaded.config, loaded.tournament_id) == (None, 3)
    for name in ("builtin", "commands", "join", "processes", "directory", "server", "store"):
        assert getattr(loaded, name) == getattr(saved, name), name
    assert loaded.resume_command == f"tournament resume {tmp_path}"


def test_a_folder_that_was_moved_has_its_store_with_it(tmp_path: Path) -> None:
    """The store that a run makes for itself is looked for in its folder."""
    first = tmp_path / "first"
    first.mkdir()
    plan(first).save(1)
    second = first.rename(tmp_path / "second")
    assert Plan.load(second).store == f"sqlite:///{second}/games.sqlite"


def test_a_store_of_ones_own_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is kept as an absolute one."""
    monkeypatch.chdir(tmp_path)
    plan(tmp_path, store="sqlite:///shared/games.sqlite").save(1)
    assert Plan.load(tmp_path).store == f"sqlite:///{tmp_path}/shared/games.sqlite"


def test_neither_tokens_nor_passwords_are_kept(tmp_path: Path) -> None:
    """They are given again; what isn't secret stays."""
    plan(tmp_path, store="postgresql+psycopg://me:secret@host/games?password=secret").save(1)
    assert "secret" not in (tmp_path / "plan.json").read_text()
    loaded = Plan.load(tmp_path)
    assert loaded.store == "postgresql+psycopg://me@host/games"
    again = loaded.at(store="postgresql+psycopg://me:secret@host/games", access=Access())
    assert "secret" in again.store
    assert "secret" not in again.where

    access = Access(token="hc_secret", tls=True, ca=tmp_path / "ca.pem")
    plan(tmp_path, server="host:1", access=access).save(1)
    assert "hc_secret" not in (tmp_path / "plan.json").read_text()
    assert Plan.load(tmp_path).at(store=None, access=Access(token="hc_secret")).access == access


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "happycity-plan/9"}', '{"format": 1}'])
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    """In one line that names it."""
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ConfigError, match=r"plan\.json"):
        Plan.load(tmp_path)
