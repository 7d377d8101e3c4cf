"""`happycity show --browser`: a game as a page, in a file and in a browser."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.commands.programs import happycity
from tests.terminal.conftest import FOLDER
from tests.terminal.test_show import stored_record
from tests.tournament.servers import arena

BROWSER = """\
import sys
from pathlib import Path

Path("opened").write_text(sys.argv[1])
"""


def page_at(address: str) -> str:
    """Return the page that a file's address leads to."""
    return Path(unquote(urlsplit(address.strip()).path)).read_text()


def start_of(page: str) -> tuple[str, str]:
    position, seat = re.search(r'id="board" data-ply="(\d+)"', page), re.search(r'data-look="(\d)"', page)
    assert position is not None
    assert seat is not None
    return position[1], seat[1]


def test_a_game_opens_in_the_browser(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("browser.py").write_text(BROWSER)
    monkeypatch.setenv("BROWSER", f"{sys.executable} browser.py %s")
    assert happycity("show", 1, "--browser").status == 0
    address = Path("opened").read_text()
    assert address == (run_folder.resolve() / "replays" / "game-0000001.html").as_uri()
    assert page_at(address).startswith("<!DOCTYPE html>")


def test_a_game_is_written_from_wherever_it_is(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run, a store, a record file and a server make the same page; what isn't a run's is temporary."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    store = run_folder / "games.sqlite"
    Path("game.jsonl").write_text(stored_record(store, 1) + "\n")

    def moves_of(*arguments: object) -> list[str]:
        done = happycity("show", *arguments, "--browser")
        assert (done.status, done.errors) == (0, "")
        return re.findall(r'class="what">([^<]*)', page_at(done.output))

    moves = moves_of(1)
    assert len(moves) > 50
    for arguments in ((FOLDER, 1), (store, 1), (f"{store}#1", 1), ("game.jsonl",)):
        assert moves_of(*arguments) == moves, arguments
    with arena(run_folder, {}) as server:
        assert moves_of(f"grpc://{server.address}", 1) == moves


@pytest.mark.usefixtures("run_folder")
def test_a_page_begins_where_it_is_asked_to() -> None:
    """--from names the decision, --bot the bot that is shown first; the end and seat 1 are usual."""
    assert happycity("show", 1, "--out", "a.html").status == 0
    last, seat = start_of(Path("a.html").read_text())
    assert seat == "1"
    assert happycity("show", 1, "--from", 12, "--bot", 2, "--out", "b.html").status == 0
    assert start_of(Path("b.html").read_text()) == ("11", "2")
    assert happycity("show", 1, "--from", last, "--out", "c.html").status == 0
    assert start_of(Path("c.html").read_text()) == (str(int(last) - 1), "1")


@pytest.mark.usefixtures("run_folder")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("99",), "it has no game 99; this lists its games: tournament games"),
        (("1", "--from", "5000"), "--from: 5000: the game has "),
        (("1", "--bot", "gredy"), "--bot: no bot 'gredy' plays; did you mean greedy?"),
        (("1", "--out", "none/a.html"), "--out: none/a.html can't be written: "),
    ],
)
def test_what_cannot_be_viewed_is_named_in_one_line(arguments: tuple[str, ...], problem: str) -> None:
    """A wrong argument is refused with what is wrong."""
    assert problem in happycity("show", *arguments, *(() if "--out" in arguments else ("--browser",))).error
