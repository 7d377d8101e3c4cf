"""The programs of a run: their names, logs and environments; a program that prints these stands for them."""

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
    assert await process.wait() == 1
    arguments, environment, directory = json.loads(process.log.read_text().splitlines()[-2])
    await process.stop()
    return arguments, environment, directory


def bots_of(
    folder: Path, names: list[str], processes: int = 1, tokens: Mapping[str, str] | None = None
) -> Sequence[Process]:
    """Start reference bots, for which the program stands."""
    bots = tuple(BotEntry(name=name, builtin="greedy") for name in names)
    lineup = Lineup(bots=bots, processes=processes)
    return start_all_reference_bots(lineup, tokens=tokens or {}, environment=ENVIRONMENT, folder=folder)


def command_in(folder: Path, command: object, **options: Any) -> Process:
    given = {"tokens": {}, "environment": {}, "directory": folder, **options}
    return start_command("ann", str(command), folder=folder, **given)


@pytest.fixture
def as_python(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program stand for the reference bots."""
    monkeypatch.setattr(sys, "executable", str(program))


@pytest.mark.usefixtures("as_python")
async def test_many_reference_bots_share_a_process(tmp_path: Path) -> None:
    """64 of them with long names have one log, and a line about them names only the first.

    Other bots' tokens stay out of their environment.
    """
    names = [f"{number:02}-{'x' * 61}" for number in range(64)]
    (process,) = bots_of(tmp_path, names)
    arguments, environment, _ = await printed(process)
    assert arguments == ["-m", "happycity_bots", *(f"{name}=greedy" for name in names)]
    assert process.log == tmp_path / "bots.log"
    assert process.name == f"the reference bots ({', '.join(names[:4])} and 60 more)"
    assert "HAPPYCITY_TOKENS" not in environment
    tokens = {"ann": "1", "bob": "2", "dee": "hidden"}
    one, other = bots_of(tmp_path, ["cem", "ann", "fay", "bob"], 2, tokens)
    await printed(one)
    assert (await printed(other))[1]["HAPPYCITY_TOKENS"] == "ann=1,bob=2"
    assert (other.log, other.name) == (tmp_path / "bots-2.log", "the reference bots (ann, bob)")


async def test_a_command_gets_no_secret_but_its_token(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the organiser's access nor the store's, but its name, its token and the server."""
    for name, value in {**SECRETS, "LANGUAGE": "en"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "bots").mkdir()
    tokens = {"ann": "hc_1_x", "bob": "hidden"}
    process = command_in(
        tmp_path,
        f"{program} --level '1 2'",
        tokens=tokens,
        environment=ENVIRONMENT,
        directory=tmp_path / "bots",
    )
    arguments, environment, directory = await printed(process)
    assert (arguments, directory) == (["--level", "1 2"], str(tmp_path / "bots"))
    assert "hidden" not in json.dumps(environment)
    own = {name: value for name, value in environment.items() if name.startswith("HAPPYCITY_")}
    assert own == {**ENVIRONMENT, "HAPPYCITY_NAME": "ann", "HAPPYCITY_TOKEN": "hc_1_x"}
    assert environment["LANGUAGE"] == "en"
    assert process.log == tmp_path / "bot-ann.log"


@pytest.mark.parametrize(
    ("script", "summary"),
    [
        ("echo 'error: no more'; exit 1", "status 1: no more"),
        ("echo 'INFO ann: connected'; exit 3", "status 3: there is no error in its output"),
        ("echo '2026-11-22T15:23:03Z INFO ann: connected'", "status 0: there is no error in its output"),
        ("true", "status 0: there is no error in its output"),
    ],
)
async def test_the_end_of_a_program_is_one_line(tmp_path: Path, script: str, summary: str) -> None:
    """The line has the status, the last line of the output, and where the output is.

    The SDK's last remark is no error, nor is a line from before. A program that never let its bot play may
    not call run.
    """
    (tmp_path / "bot-ann.log").write_text("old error\n")
    process = command_in(tmp_path, f'sh -c "{script}"')
    await process.wait()
    ending, output = f"bot ann ended with {summary}", f"(output: {tmp_path}/bot-ann.log)"
    assert process.exit_summary() == f"{ending} {output}"
    if script == "true":
        assert (
            process.exit_summary(has_played=False)
            == f"bot ann ended without connecting; does it end with run(MyBot)? {output}"
        )


@pytest.mark.level(2)
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
