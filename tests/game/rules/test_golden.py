"""Whole games kept as files: the rules and the format may not change unnoticed.

Each record is made by `Golden.command`, and made again by it after a change that is
meant, such as

    happycity simulate --trace --seats 2 --seed 1253 --out tests/game/rules/golden/players_2.jsonl

In each family game a deck is rebuilt, and in the last one two seats share a place. In the expert games
specials gain and steal coins, replace a card, and are copied.
"""

import json
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.game.rules.examples import FILES, made_again
from tests.game.rules.positions import play

from happycity import EventKind, Game, Mode, Move
from happycity.records.record import Json, loads
from happycity.records.replay import deal_of
from happycity_entry.cli import app

GOLDEN = Path(__file__).with_name("golden")


class Golden(NamedTuple):
    name: str
    options: str

    @property
    def command(self) -> list[str]:
        return ["simulate", "--trace", *shlex.split(self.options)]

    @property
    def record(self) -> Json:
        return loads(self.line)

    @property
    def line(self) -> str:
        return (GOLDEN / f"{self.name}.jsonl").read_text(encoding="utf-8")


GAMES = {
    golden.name: golden
    for golden in (
        Golden("players_2", "--seats 2 --seed 1253"),
        Golden("players_3", "--seats 3 --seed 62 --scoring sum"),
        Golden("players_4", "--seats 4 --seed 106"),
        Golden("players_5", "--seats 5 --seed 1294"),
        Golden("expert_2", "--mode expert --seats 2 --seed 1624"),
        Golden("expert_2_sum", "--mode expert --seats 2 --seed 1601 --scoring sum"),
        Golden("expert_3", "--mode expert --seats 3 --seed 2313"),
        Golden("expert_3_arena", "--mode expert --seats 3 --seed 2925"),
        Golden("expert_4", "--mode expert --seats 4 --seed 1018"),
        Golden("expert_5", "--mode expert --seats 5 --seed 3431"),
    )
}
ALL = pytest.mark.parametrize("golden", GAMES.values(), ids=GAMES.keys())


def events_of(record: Json) -> set[EventKind]:
    game = Game(deal_of(record))
    kinds = {event.kind for event in game.events}
    for line in record["moves"]:
        game.apply(Move.parse(line["move"]))
        kinds |= {event.kind for event in game.events}
    return kinds


@ALL
def test_a_golden_record_is_made_again(golden: Golden, tmp_path: Path) -> None:
    again = tmp_path / "again.jsonl"
    app([*golden.command, "--out", str(again)], standalone_mode=False)
    assert again.read_text(encoding="utf-8") == golden.line


def test_golden_records_are_various() -> None:
    # The kept five-player game ends with a shared place.
    ranks = json.loads(GAMES["players_5"].line)["outcome"]["ranks"]
    assert sorted(ranks) == [1, 2, 3, 3, 5]
    # In every kept family game a deck is rebuilt, and in some of the expert games.
    rebuilt = {name for name, golden in GAMES.items() if golden.record["deal"]["reshuffles"]}
    assert rebuilt == {name for name in GAMES if name not in {"expert_3_arena"}}

    # Whatever can happen in a game happens in some kept record, for 2 to 5 players in both modes.
    kinds = {kind for golden in GAMES.values() for kind in events_of(golden.record)}
    assert kinds == set(EventKind)
    configs = {
        (golden.record["config"]["mode"], golden.record["config"]["players"]) for golden in GAMES.values()
    }
    assert configs == {(mode.value, players) for mode in Mode for players in range(2, 6)}


def sequences(game: Game, depth: int) -> int:
    if depth == 0 or game.outcome is not None:
        return 1
    count = 0
    for move in game.legal_moves:
        twin = game.copy()
        twin.apply(move)
        count += sequences(twin, depth - 1)
    return count


def start_of(count: Json) -> Game:
    record = GAMES[count["game"]].record
    return play(Game(deal_of(record)), *[line["move"] for line in record["moves"][: count["after"]]])


COUNTS: list[Json] = json.loads((GOLDEN / "perft.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("count", COUNTS, ids=lambda count: f"{count['game']} after {count['after']}")
def test_the_number_of_sequences_is_known(count: Json) -> None:
    """From a kept position there are as many sequences of 1, 2, 3, ... moves as were counted once."""
    start = start_of(count)
    found = [sequences(start, depth) for depth in range(1, len(count["sequences"]) + 1)]
    assert found == count["sequences"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_examples_come_out_as_they_are_written(file: Path) -> None:
    text = file.read_text("utf-8")
    assert text.count("\nposition ") + text.count("\ndeal ") > 5
    assert made_again(text) == text
