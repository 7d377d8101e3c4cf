"""Games between networks and planners, as rows to learn from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from happycity import Config, Event, Game, Mode, Move, Scoring
from happycity.compiled import required
from happycity_client import Bot, Decision, GameStarted
from happycity_evaluation.features import RAW
from happycity_evaluation.network import Network

if TYPE_CHECKING:
    from happycity_engine import Champion

MAX_SEATS = 5
EXPLORED = (0.0, 0.04, 0.08)
"""Shares of random decisions, one of which is drawn for each game: other choices are learnt from, too."""
SUM_SHARE = 0.03
"""Share of the games that are scored by sum."""


class Positions(NamedTuple):
    """Positions before the turns of games, in their order, and how the games ended."""

    rows: NDArray[np.float16]
    """Raw rows: positions x 5 seats x columns; seats that don't play are 0.

    Nearly all of their numbers are small and whole, or known to a few per cent.
    """
    points: NDArray[np.float32]
    """Final points of each seat, a thousandth of its coins added; -1 for a seat that doesn't play."""
    left: NDArray[np.int32]
    """How many positions of the same game come after each one."""

    @classmethod
    def joined(cls, parts: Sequence[Positions]) -> Positions:
        """Return all positions of the parts."""
        return cls(*[np.concatenate(arrays) for arrays in zip(*parts, strict=True)])


BotFactory = Callable[[GameStarted], Bot]


def seated(bot: BotFactory, config: Config, seat: int, *, seed: int) -> Bot:
    """Return a bot for a local game."""
    return bot(GameStarted(match_id=0, config=config, seat=seat, bots=("",) * config.players, seed=seed))


def chosen(bot: Bot, game: Game, events: Sequence[Event] = ()) -> Move:
    """Return what a bot chooses in a local game; a few bots need the events since their last decision."""
    move = bot.choose(Decision.of(game, events or game.events))
    assert isinstance(move, Move)
    return move


PLAYERS = (4, 4, 4, 4, 4, 3, 2, 5)
"""The numbers of seats of the games, by their shares."""
MODES = (Mode.FAMILY, Mode.FAMILY, Mode.FAMILY, Mode.EXPERT, Mode.EXPERT)
"""The modes of the games, by their shares."""


PLANNERS, OLDER = 0.16, 0.12
"""The shares of seats by planners, and by networks of earlier generations; the newest has the others."""


def play_many(networks: Sequence[Network], *, seed: int, games: int) -> Positions:
    """Play games of all kinds between networks, the newest one last, and planners; these alone at first.

    Networks play without trials, as these would take most of the time. The native engine plays the games:
    ImportError where it isn't installed.
    """
    play, champion = required("play"), required("Champion")
    champions: list[Champion] = [champion(network.native) for network in networks]
    rng = random.Random(f"happycity league {seed}")

    def player() -> Champion | None:
        share = rng.random()
        if not champions or share < PLANNERS:
            return None
        return rng.choice(champions) if share < PLANNERS + OLDER else champions[-1]

    parts = []
    for number in range(games):
        scoring = Scoring.SUM if rng.random() < SUM_SHARE else Scoring.PRODUCT
        config = Config(players=rng.choice(PLAYERS), mode=MODES[number % len(MODES)], scoring=scoring)
        lineup = [player() for _ in range(config.players)]
        parts.append(
            _positions(config, *play(config, seed * 1_000_000 + number, lineup, rng.choice(EXPLORED)))
        )
    return Positions.joined(parts)


def _positions(config: Config, played: bytes, outcome: Sequence[Sequence[int]]) -> Positions:
    kept = np.frombuffer(played, np.float32).reshape(-1, config.players, len(RAW))
    rows = np.zeros((len(kept), MAX_SEATS, len(RAW)), np.float16)
    rows[:, : config.players] = kept
    points = np.full((len(kept), MAX_SEATS), -1, np.float32)
    points[:, : config.players] = [a + b / 1000 for a, b in zip(outcome[0], outcome[1], strict=True)]
    return Positions(rows, points, np.arange(len(kept) - 1, -1, -1, dtype=np.int32))
