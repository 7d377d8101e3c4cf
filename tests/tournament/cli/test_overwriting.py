"""What is written never replaces the games that it is made of."""

from pathlib import Path

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League


@pytest.mark.parametrize("out", ["games.sqlite", "./games.sqlite", "link"])
@pytest.mark.parametrize("command", ["export", "report"])
def test_a_source_is_not_overwritten(run: Run, command: str, out: str) -> None:
    """Under no other name of the file either."""
    League(("ann", "bob"), seats=2, rounds=1).store(Path("games.sqlite"))
    Path("link").symlink_to("games.sqlite")
    before = Path("games.sqlite").read_bytes()
    how = ("--format", "csv") if command == "export" else ()
    status, _, errors = run(command, "games.sqlite", *how, "--out", out)
    assert (status, errors) == (2, f"error: --out: {Path(out)} is the source itself\n")
    assert Path("games.sqlite").read_bytes() == before


@pytest.mark.parametrize("command", ["export", "report"])
def test_a_dash_is_the_standard_output(run: Run, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """It gets what a file would; what was written is said on the standard error, and no file is made."""
    League(("ann", "bob"), seats=2, rounds=1).store(Path("games.sqlite"))
    before = {*Path().iterdir()}
    how = ("--format", "csv") if command == "export" else ()
    status, _, errors = run(command, "games.sqlite", *how, "--out", "-")
    output = capfd.readouterr().out
    assert (status, {*Path().iterdir()}) == (0, before)
    assert errors.startswith("-: ")
    assert output.startswith("tournament,round," if command == "export" else "<!DOCTYPE html>")
