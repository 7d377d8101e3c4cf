"""Whole games kept as files: the rules and the format may not change unnoticed.

The records are made by these commands, and made again by them after a change that is meant:

    happycity simulate --trace --players 2 --seed 1253 --out tests/game/golden/players_2.jsonl
    happycity simulate --trace --players 3 --seed 62 --scoring sum --out tests/game/golden/players_3.jsonl
    happycity simulate --trace --players 4 --seed 106 --out tests/game/golden/players_4.jsonl
    happycity simulate --trace --players 5 --seed 1294 --out tests/game/golden/players_5.jsonl

In each of them a deck is rebuilt; in the last one two seats share a place.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.game.positions import play, stacked_deal

from happycity import Config, Game, Scoring
from happycity.records import deal_of, dumps, loads, replay, trace
from happycity.simulation import movers_rng, random_deal, record_random_game

GOLDEN = Path(__file__).with_name("golden")
GAMES = pytest.mark.parametrize(
    ("config", "seed"),
    [
        (Config(players=2), 1253),
        (Config(players=3, scoring=Scoring.SUM), 62),
        (Config(players=4), 106),
        (Config(players=5), 1294),
    ],
    ids=lambda value: f"{value.players} players" if isinstance(value, Config) else str(value),
)


def golden_line(config: Config) -> str:
    return (GOLDEN / f"players_{config.players}.jsonl").read_text(encoding="utf-8")


@GAMES
def test_a_golden_record_replays(config: Config, seed: int) -> None:
    """The kept record, move by move with legal moves and states, is what the rules tell."""
    record = loads(golden_line(config))
    game = replay(record)
    assert record["deal"]["seed"] == seed
    assert game.config == config
    assert game.reshuffles


@GAMES
def test_a_golden_record_is_made_again(config: Config, seed: int) -> None:
    """The same command makes the kept record again, byte for byte."""
    deal = random_deal(config, seed=seed, game=0)
    record = record_random_game(deal, movers_rng(deal.seed), trace=trace)
    assert dumps(record) + "\n" == golden_line(config)


def test_golden_records_share_a_place() -> None:
    """The kept five-player game ends with a shared place."""
    ranks = json.loads(golden_line(Config(players=5)))["outcome"]["ranks"]
    assert sorted(ranks) == [1, 2, 3, 3, 5]


def sequences(game: Game, depth: int) -> int:
    """Count the sequences of `depth` legal moves, shorter ones if the game ends before."""
    if depth == 0 or game.outcome is not None:
        return 1
    count = 0
    for move in game.legal_moves:
        twin = game.copy()
        twin.apply(move)
        count += sequences(twin, depth - 1)
    return count


def near_the_end(config: Config, *, left: int) -> Game:
    """Return the golden game of this configuration when `left` of its decisions are still to come."""
    record = loads(golden_line(config))
    return play(Game(deal_of(record)), *[line["move"] for line in record["moves"][:-left]])


@pytest.mark.parametrize(
    ("start", "counts"),
    [
        (lambda: Game(stacked_deal()), [3, 9, 27, 101, 314, 948, 2971, 9537]),
        (lambda: Game.deal(Config(players=4), seed=7), [3, 9, 27, 108, 381, 1224, 4605, 16224]),
        (lambda: near_the_end(Config(players=4), left=6), [3, 15, 45, 144, 465, 1322, 3086, 7650]),
    ],
    ids=["stacked", "seed 7", "near the end"],
)
def test_the_number_of_sequences_is_known(start: Callable[[], Game], counts: list[int]) -> None:
    """From a fixed position there are as many sequences of 1, 2, 3, ... moves as were counted once."""
    assert [sequences(start(), depth) for depth in range(1, len(counts) + 1)] == counts
