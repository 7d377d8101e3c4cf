"""The programs of a run: their names, logs and environments; a program that prints these stands for them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from happycity_tournament.client.processes import (
    Process,
    ProcessError,
    start_all_reference_bots,
    start_command,
    start_server,
)
from happycity_tournament.client.run_folder import OwnServer
from happycity_tournament.lineup import BotEntry, Lineup

ENVIRONMENT = {"HAPPYCITY_SERVER": "127.0.0.1:5"}
SECRETS = {
    "HAPPYCITY_TOKEN": "hidden",
    "HAPPYCITY_TOKENS": "ann=hidden,bob=hidden",
    "HAPPYCITY_KEY": "hidden.pem",
    "HAPPYCITY_SERVE_STORE": "postgresql+psycopg://me:hidden@host/games",
    "HAPPYCITY_SERVE_TLS_KEY": "hidden.pem",
    "PGPASSWORD": "hidden",
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a program that prints its arguments and its environment, and fails."""
    path = tmp_path / "program.py"
    path.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]), flush=True)\n"
        "sys.exit('error: no more')\n"
    )
    path.chmod(0o700)
    return path


async def printed(process: Process) -> tuple[list[str], Mapping[str, str], str]:
    """Return what a program has printed: arguments, environment, working directory."""
    assert await process.wait() == 1
    arguments, environment, directory = json.loads(process.log.read_text().splitlines()[-2])
    await process.stop()
    return arguments, environment, directory


@pytest.fixture
def reference_bots(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that starts reference bots, for which the program stands."""
    monkeypatch.setattr(sys, "executable", str(program))

    def start(
        names: list[str], processes: int = 1, tokens: Mapping[str, str] | None = None
    ) -> Sequence[Process]:
        lineup = Lineup(
            bots=tuple(BotEntry(name=name, builtin="greedy") for name in names), processes=processes
        )
        return start_all_reference_bots(lineup, tokens=tokens or {}, environment=ENVIRONMENT, folder=tmp_path)

    return start


async def test_many_reference_bots_share_a_process(reference_bots: Any, tmp_path: Path) -> None:
    """64 of them with long names have one log, and a line about them names only the first."""
    names = [f"{number:02}-{'x' * 61}" for number in range(64)]
    (process,) = reference_bots(names)
    arguments, _, _ = await printed(process)
    assert arguments == ["-m", "happycity_bots", *(f"{name}=greedy" for name in names)]
    assert process.log == tmp_path / "bots.log"
    assert process.name == f"the reference bots ({', '.join(names[:4])} and 60 more)"
    one, other = reference_bots(["bob", "ann"], processes=3)
    await printed(one)
    await printed(other)
    assert (other.log, other.name) == (tmp_path / "bots-2.log", "the reference bots (ann)")


async def test_reference_bots_get_their_own_tokens(reference_bots: Any) -> None:
    """Other bots' tokens stay out of their environment."""
    (process,) = reference_bots(["ann", "bob", "cem"], tokens={"ann": "1", "bob": "2", "dee": "hidden"})
    _, environment, _ = await printed(process)
    assert environment["HAPPYCITY_TOKENS"] == "ann=1,bob=2"
    (process,) = reference_bots(["cem"], tokens={"ann": "1"})
    assert "HAPPYCITY_TOKENS" not in (await printed(process))[1]


async def test_a_command_gets_no_secret_but_its_token(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the organiser's access nor the store's, but its name, its token and the server."""
    for name, value in {**SECRETS, "LANGUAGE": "en"}.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "bots"
    folder.mkdir()
    process = start_command(
        "ann",
        f"{program} --level '1 2'",
        tokens={"ann": "hc_1_x", "bob": "hidden"},
        environment=ENVIRONMENT,
        folder=tmp_path,
        directory=folder,
    )
    arguments, environment, directory = await printed(process)
    assert (arguments, directory) == (["--level", "1 2"], str(folder))
    assert "hidden" not in json.dumps(environment)
    own = {name: value for name, value in environment.items() if name.startswith("HAPPYCITY_")}
    assert own == {**ENVIRONMENT, "HAPPYCITY_NAME": "ann", "HAPPYCITY_TOKEN": "hc_1_x"}
    assert environment["LANGUAGE"] == "en"
    assert process.log == tmp_path / "bot-ann.log"


async def test_the_end_of_a_program_is_one_line(program: Path, tmp_path: Path) -> None:
    """The line has the status, the last line of the output, and where the output is."""
    process = start_command(
        "ann", str(program), tokens={}, environment={}, folder=tmp_path, directory=tmp_path
    )
    await process.wait()
    assert process.exit_summary() == f"bot ann ended with status 1: no more (output: {tmp_path}/bot-ann.log)"


@pytest.mark.parametrize("line", ["INFO ann: connected", "2026-11-22T15:23:03Z INFO ann: connected"])
async def test_information_is_not_taken_for_the_cause_of_an_end(line: str, tmp_path: Path) -> None:
    """A bot that ends without a word has the SDK's last remark in its output, which is no error.

    Earlier lines in its log, of the program before or of the run, aren't either.
    """
    (tmp_path / "bot-ann.log").write_text("old error\n")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho '{line}'\nexit 3\n")
    program.chmod(0o700)
    process = start_command(
        "ann", str(program), tokens={}, environment={}, folder=tmp_path, directory=tmp_path
    )
    await process.wait()
    expected = "bot ann ended with status 3: there is no error in its output"
    assert process.exit_summary() == f"{expected} (output: {tmp_path}/bot-ann.log)"


async def test_a_bot_that_ends_well_before_it_plays_is_explained(tmp_path: Path) -> None:
    """A program that defines a bot and never lets it play ends with status 0 and without a word."""
    process = start_command("ann", "true", tokens={}, environment={}, folder=tmp_path, directory=tmp_path)
    await process.wait()
    ending = "bot ann ended with status 0: there is no error in its output"
    assert process.exit_summary() == f"{ending} (output: {tmp_path}/bot-ann.log)"
    assert process.exit_summary(has_played=False) == (
        f"bot ann ended without connecting; does it end with run(MyBot)? (output: {tmp_path}/bot-ann.log)"
    )


async def test_a_server_that_ends_is_explained(tmp_path: Path) -> None:
    """Its own last line says what is wrong; the store is named without its password."""
    with pytest.raises(ProcessError) as refused:
        await start_server(
            OwnServer(store="postgresql+nothing://me:hidden@host/games"),
            Lineup(),
            tokens=tmp_path / "tokens.json",
            folder=tmp_path,
        ).address()
    text = str(refused.value)
    assert text.startswith("the server ended with status 2: ")
    assert text.endswith(f"(output: {tmp_path}/server.log)")
    assert "hidden" not in text + (tmp_path / "server.log").read_text()


async def test_programs_that_are_missing_are_named(tmp_path: Path) -> None:
    """The line names bot and program."""
    with pytest.raises(ProcessError, match=r"bot ann: '\./missing' can't be started in "):
        start_command("ann", "./missing", tokens={}, environment={}, folder=tmp_path, directory=tmp_path)
