"""The full screen of `happycity show`, as a person sees it: keys are sent to a pseudo-terminal."""

from pathlib import Path

import pytest
from tests.game.records.test_playback import RECORD
from tests.terminal.terminal import Key, Terminal
from tests.terminal.test_show import open_gate, record_file, start_patient_game
from tests.tournament.servers import arena

from happycity.records.playback import Playback

TOTAL = len(RECORD["moves"])


def first_of_round(number: int) -> int:
    return next(step.decision_id for step in Playback.of_record(RECORD).steps if step.view.round == number)


@pytest.mark.level(2)
@pytest.mark.parametrize("columns", [80, 120])
def test_keys_step_through_a_game(columns: int) -> None:
    """Arrows, pages, Home, End, numbers, a seat's decisions and incidents are each one key away; q leaves."""
    bob = [number for number, line in enumerate(RECORD["moves"], start=1) if line["seat"] == 1]
    with Terminal("show", record_file(RECORD), "--bot", "bob", columns=columns) as terminal:

        def press(keys: str, decision: int) -> str:
            terminal.send(keys)
            return terminal.wait_for(f"Game 1, decision {decision} of {TOTAL}")

        terminal.wait_for("n/p bob", "decision 1 of")
        press(Key.RIGHT, 2)
        press(" ", 3)
        press(Key.LEFT, 2)
        press("n", bob[0] if bob[0] > 2 else bob[1])
        press("57" + Key.ENTER, 57)
        press("p", max(number for number in bob if number < 57))
        press(Key.HOME, 1)
        press("!", 4)
        press(Key.PAGE_DOWN, first_of_round(2))
        press(Key.PAGE_DOWN, first_of_round(3))
        press(Key.PAGE_UP, first_of_round(2))
        terminal.send(Key.END)
        terminal.wait_for(f"the end after {TOTAL} decisions", "crashed: ValueError")
        terminal.send(Key.RIGHT)
        terminal.wait_for("this is the end")
        press(Key.LEFT, TOTAL)
        terminal.send("q")
        assert terminal.wait() == 0
        assert "Traceback" not in terminal.raw.decode(errors="replace")


@pytest.mark.level(2)
def test_a_small_screen_scrolls() -> None:
    """In 24 rows the arrows show the rest, and a mark says that there is more; 50 rows need neither."""
    with Terminal("show", record_file(RECORD), rows=24) as terminal:
        text = terminal.wait_for("↓ more below", "Round 1, ")
        assert "Y yellow" not in text
        terminal.send(Key.DOWN * 30)
        assert "↓ more below" not in terminal.wait_for("Y yellow")
        terminal.send(Key.UP * 30)
        terminal.wait_for("Round 1, ", "↓ more below")
        terminal.resize(columns=100, rows=50)
        assert "↓ more below" not in terminal.wait_for("Y yellow")


@pytest.mark.level(2)
def test_texts_and_colours() -> None:
    # The screen has the whole decision.
    with Terminal("show", record_file(RECORD), "--from", 4) as terminal:
        text = terminal.wait_for("q quit")
        parts = ("Round 1, ", "Centre", "Dwellings", "Specials (family game)", "▶  ", "Y yellow", "share 0.5")
        for part in (*parts, "no answer from"):
            assert part in text, part
        assert max(map(len, text.splitlines())) <= 80

        # Text has the terminal's own colour; what has a background has a foreground too.
        terminal.send("40" + Key.ENTER)
        terminal.wait_for("decision 40 of ", "q quit")
        cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
    backgrounds = {cell.bg for cell in cells}
    assert {"brown", "blue", "green"} <= backgrounds  # pyte's name of yellow is brown
    for cell in cells:
        assert (cell.bg == "default") == (cell.fg == "default"), cell

    # With NO_COLOR no cell has a colour, and the letters still tell the colours of the cards.
    # Where a terminal has no symbols, letters are in their place.
    plain = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    with Terminal("show", record_file(RECORD), "--from", 40, env={**plain, "NO_COLOR": "1"}) as terminal:
        text = terminal.wait_for("q quit", "h hearts")
        cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
    assert {(cell.fg, cell.bg) for cell in cells} == {("default", "default")}
    assert "Y yellow" in text
    assert text.isascii()


@pytest.mark.level(2)
def test_a_game_is_watched_live(tmp_path: Path) -> None:
    """Who looks at the newest decision goes on with the game; Ctrl-C leaves it, and the game goes on."""
    with arena(tmp_path, {}) as server:
        match_id = start_patient_game(server)
        with Terminal("show", f"grpc://{server.address}", match_id, "--follow") as terminal:
            terminal.wait_for(f"Game {match_id}, decision ", ", live", "has not answered yet")
            server.call(open_gate())
            terminal.wait_for("the end after", "finished")
            terminal.send(Key.CTRL_C)
            assert terminal.wait() == 0
