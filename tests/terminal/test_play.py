"""`happycity play`: a person at the table, by lines of a script and at a terminal."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from tests.commands.programs import Done, happycity
from tests.terminal.terminal import Key, Terminal
from tests.tournament.servers import arena

from happycity import Config, Game, Move
from happycity.text.board import Line, plain
from happycity_client import Decision, GameStarted
from happycity_terminal.person import PersonBot, moves_named

TAKEN = [Move.parse(text) for text in ("coin", "build grocery", "build grand_hotel", "dwell house")]
OPTIONS = list(zip(TAKEN, (1, -2, -5, -1), strict=True))


def played_by(lines: str, *arguments: object) -> Done:
    """Play with a script's lines on the standard input."""
    with TemporaryFile() as script:
        script.write(lines.encode())
        script.seek(0)
        before = os.dup(0)
        os.dup2(script.fileno(), 0)
        try:
            return happycity("play", *arguments)
        finally:
            os.dup2(before, 0)
            os.close(before)


def kept_store() -> Path:
    (store,) = Path().glob("runs/*/games.sqlite")
    return store


@pytest.mark.level(2)
def test_a_whole_game_is_played_by_a_script() -> None:
    done = played_by("1\n" * 500, "--against", "greedy,random", "--seed", "4")
    assert done.status == 0, done
    for text in ("Game 1 begins. Seats: ", "your move (1-", "greedy", "The game is over.", "finished"):
        assert text in done.output, text
    store = kept_store()
    assert done.output.endswith(f"look at the game again with: happycity show {store}\n")
    shown = happycity("show", store, "--bot", "you")
    assert shown.status == 0
    assert shown.output.count("you chose: ") == done.output.count("your move (1-")


@pytest.mark.level(2)
def test_who_leaves_sees_how_it_ends() -> None:
    """`q` asks first; the seat is forfeited, and the others play on."""
    done = played_by("q\nn\n?\nbuild it\nq\ny\n", "--against", "greedy", "--seed", "4")
    assert done.status == 0, done
    assert done.output.count("leave the game to the others? your seat is forfeited (y/n): ") == 2
    assert "Points are inhabitants times hearts" in done.output
    assert "'build it' is not a move here; type a number from 1 to " in done.output
    assert "The game is over." in done.output
    assert "disconnected" in done.output


@pytest.mark.level(2)
def test_a_person_plays_on_a_server_of_others(tmp_path: Path) -> None:
    """The opponents are bots that are connected there, and the game is in that server's store."""
    with arena(tmp_path, {"champion": "greedy"}) as server:
        arguments = ("--server", server.address, "--against", "champion", "--name", "ann")
        done = played_by("1\n" * 500, *arguments)
        assert done.status == 0, done
        assert f"happycity show grpc://{server.address} 1" in done.output
        assert "ann chose: " in happycity("show", f"grpc://{server.address}", 1).output
    assert not Path("runs").exists()


@pytest.mark.level(2)
def test_a_person_plays_at_a_terminal() -> None:
    """Lines are typed at a prompt, in words too; Ctrl-C ends server, bots and command."""
    with Terminal("play", "--against", "greedy", "--mode", "expert", "--seed", "4") as terminal:
        text = terminal.wait_for("your move (1-", "Market draft, you: choose a Happy Market")
        assert "G Happy Market" not in text
        terminal.send("green" + Key.ENTER)
        terminal.wait_for("you chose the green Happy Market", "your move (1-")
        terminal.send("?" + Key.ENTER)
        terminal.wait_for("Points are inhabitants times hearts")
        terminal.send(Key.CTRL_C)
        assert terminal.wait() == 130
        assert "you left before the end" in terminal.text
        assert "Traceback" not in terminal.raw.decode(errors="replace")


def test_moves_are_named_by_number_notation_or_words() -> None:
    """What fits several moves names none; the notation of records always works."""
    for line, positions in [
        ("1", [0]),
        ("4", [3]),
        ("0", []),
        ("5", []),
        ("99999", []),
        ("coin", [0]),
        ("build grand_hotel", [2]),
        ("Grand Hotel", [2]),
        ("house", [3]),
        ("build", [1, 2]),
        ("take", [0]),
        ("gr", [1, 2]),
        ("museum", []),
    ]:
        assert moves_named(line, OPTIONS, []) == [TAKEN[position] for position in positions]


class Lines:
    def __init__(self, *lines: str) -> None:
        self.lines = [*lines]

    async def line(self, prompt: str) -> str | None:
        """Return the next line, None after the last one."""
        return self.lines.pop(0) if self.lines else None


async def test_an_ambiguous_answer_is_asked_again() -> None:
    printed: list[Line] = []
    person = PersonBot(Lines("draw", "", "draw 2").line, printed.extend)
    game = Game.deal(Config(players=2), seed=1)
    person.begin(GameStarted(match_id=1, config=game.config, seat=0, bots=("you", "greedy"), seed=0))
    assert await person.choose(Decision.of(game)) is Move.parse("draw 2")
    text = plain(printed)
    assert "'draw' can mean: draw from deck 1, draw from deck 2, draw from deck 3;" in text
    assert "Seats: 1 you, 2 greedy; you have seat 1." in text


async def test_the_end_of_the_input_breaks_the_game_off() -> None:
    """No move is invented for a script that ends too early."""
    person = PersonBot(Lines().line, lambda lines: None)
    asking = asyncio.create_task(person.choose(Decision.of(Game.deal(Config(players=2), seed=1))))
    await asyncio.wait([person.over])
    assert person.over.exception() is not None
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
