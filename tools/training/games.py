"""Games between bots of a league, as rows to learn from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happycity import Config, Deal, Event, Game, Mode, Move, Scoring
from happycity_client import Bot, Decision, GameStarted
from happycity_evaluation.features import RAW, position_rows

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


def play(deal: Deal, lineup: Sequence[BotFactory]) -> Positions:
    """Play a game and keep the positions before its turns."""
    config, rng = deal.config, random.Random(f"happycity training {deal.seed}")
    explored = rng.choice(EXPLORED)
    game = Game(deal)
    bots = [seated(bot, config, seat, seed=deal.seed) for seat, bot in enumerate(lineup)]
    kept: list[list[list[float]]] = []
    turn = (0, 0)
    while game.outcome is None:
        if turn != (game.round, game.seat):
            turn = (game.round, game.seat)
            if game.round > 0:
                kept.append(position_rows(game.view()))
        moves = game.legal_moves
        explore = rng.random() < explored
        game.apply(moves[int(rng.random() * len(moves))] if explore else chosen(bots[game.seat], game))
    rows = np.zeros((len(kept), MAX_SEATS, len(RAW)), np.float16)
    rows[:, : config.players] = kept
    points = np.full((len(kept), MAX_SEATS), -1, np.float32)
    ends = [a + b / 1000 for a, b in zip(game.outcome.points, game.outcome.coins, strict=True)]
    points[:, : config.players] = ends
    return Positions(rows, points, np.arange(len(kept) - 1, -1, -1, dtype=np.int32))


PLAYERS = (4, 4, 4, 4, 4, 3, 2, 5)
"""The numbers of seats of the games, by their shares."""
MODES = (Mode.FAMILY, Mode.FAMILY, Mode.FAMILY, Mode.EXPERT, Mode.EXPERT)
"""The modes of the games, by their shares."""


def play_many(league: Sequence[tuple[float, BotFactory]], *, seed: int, games: int) -> Positions:
    """Play games of all kinds between bots of a league, drawn by their shares."""
    rng = random.Random(f"happycity league {seed}")
    bots = [bot for _, bot in league]
    shares = [share for share, _ in league]
    parts = []
    for number in range(games):
        scoring = Scoring.SUM if rng.random() < SUM_SHARE else Scoring.PRODUCT
        config = Config(players=rng.choice(PLAYERS), mode=MODES[number % len(MODES)], scoring=scoring)
        lineup = rng.choices(bots, shares, k=config.players)
        parts.append(play(Deal.shuffle(config, seed=seed * 1_000_000 + number), lineup))
    return Positions.joined(parts)
