"""The numbers that the viewer draws are those that `happycity show` prints."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from happycity import Config, Deal, Mode
from happycity.records.playback import Playback
from happycity.records.random_games import record_random_game
from happycity.records.record import Json, loads
from happycity_terminal.frames import frame
from happycity_viewer.languages import language
from happycity_viewer.plies import playback_json
from happycity_viewer.templates import environment, game_values

GOLDEN = Path(__file__).parents[1] / "game" / "rules" / "golden"
GAMES = 50
ROW = re.compile(r"[▶ ] \d bot\d +(-?\d+) +([+-]?\d+) +(-?\d+) +(-?\d+) +(-?\d+) ")
BOARD: Any = environment(language("en")).get_template("board.html").module
FIELDS = ("coins", "income", "inhabitants", "hearts", "points")


NAMES = sorted(path.stem for path in GOLDEN.glob("*.jsonl"))
SEEDS = range(GAMES - len(NAMES))


def record_of(game: str | int) -> Json:
    if isinstance(game, str):
        return loads((GOLDEN / f"{game}.jsonl").read_text(encoding="utf-8").splitlines()[0])
    config = Config(players=2 + game % 4, mode=list(Mode)[game // 4 % 2])
    return record_random_game(Deal.shuffle(config, seed=game), random.Random(game))


def printed(playback: Playback, index: int) -> list[list[int]]:
    """Return by seat the numbers that `happycity show` prints of a position."""
    lines = ("".join(text for text, _ in line) for line in frame(playback, index, 80))
    rows = filter(None, map(ROW.match, lines))
    return [[int(number) for number in row.groups()] for row in rows]


def drawn(game: Json, index: int) -> list[list[int]]:
    values = game_values(game, ply=index, seat=1)
    is_last = values["ply"]["ply"] == values["last"]
    results = game["end"]["results"] if is_last else None
    html = BOARD.board(values["ply"], game["bots"], values["seats"], (1, 2, 3), values["dwellings"], results)
    panels = re.split(r'data-seat="\d"', html)[1:]
    found = [
        dict(re.findall(r'data-field="([a-z]+)">(-?\d+)(?: \(\u2212\d+\))?<', panel)) for panel in panels
    ]
    return [[int(numbers[name]) for name in FIELDS] for numbers in found]


@pytest.mark.thorough
@pytest.mark.parametrize("game", [*NAMES, *SEEDS])
def test_drawn_numbers_are_printed_ones(game: str | int) -> None:
    record = record_of(game)
    bots = [f"bot{seat}" for seat in range(len(record["outcome"]["points"]))]
    playback = Playback.of_record(record, bots=bots)
    shown = playback_json(playback)
    assert len(shown["plies"]) == len(playback.steps) > 30
    for index in range(len(playback.steps)):
        assert drawn(shown, index) == printed(playback, index), f"after {index} decisions"
