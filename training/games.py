"""Games between bots of a league, as rows to learn from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happycity import Config, Deal, Game, Mode, Move, Scoring
from happycity_bots.features import RAW, position_rows
from happycity_client import Bot, Decision, GameStarted

MAX_SEATS = 5
EXPLORED = 0.06
"""Share of the decisions that are made at random, so that other choices are known too."""

KEPT = 0.4
"""Share of the positions before turns that are kept to learn from: neighbours are much alike."""


class Positions(NamedTuple):
    """Positions between two turns, and how their games ended."""

    rows: NDArray[np.float32]
    """Raw rows: positions x 5 seats x columns; seats that don't play are 0."""
    points: NDArray[np.float32]
    """Final points of each seat, a thousandth of its coins added; -1 for a seat that doesn't play."""

    @classmethod
    def joined(cls, parts: Sequence[Positions]) -> Positions:
        """Return all positions of the parts."""
        return cls(
            np.concatenate([part.rows for part in parts]), np.concatenate([part.points for part in parts])
        )


BotFactory = Callable[[GameStarted], Bot]


def seated(bot: BotFactory, config: Config, seat: int, *, seed: int) -> Bot:
    """Return a bot for a local game."""
    return bot(GameStarted(match_id=0, config=config, seat=seat, bots=("",) * config.players, seed=seed))


def chosen(bot: Bot, game: Game) -> Move:
    """Return what a bot chooses in a local game."""
    move = bot.choose(Decision.of(game))
    assert isinstance(move, Move)
    return move


def play(deal: Deal, lineup: Sequence[BotFactory], *, explored: float = EXPLORED) -> Positions:
    """Play a game and keep some of its positions."""
    config, rng = deal.config, random.Random(f"happycity training {deal.seed}")
    game = Game(deal)
    bots = [seated(bot, config, seat, seed=deal.seed) for seat, bot in enumerate(lineup)]
    kept: list[list[list[float]]] = []
    turn = (0, 0)
    while game.outcome is None:
        if turn != (game.round, game.seat):
            turn = (game.round, game.seat)
            if game.round > 0 and rng.random() < KEPT:
                kept.append(position_rows(game.view()))
        moves = game.legal_moves
        explore = rng.random() < explored
        game.apply(moves[int(rng.random() * len(moves))] if explore else chosen(bots[game.seat], game))
    rows = np.zeros((len(kept), MAX_SEATS, len(RAW)), np.float32)
    rows[:, : config.players] = kept
    points = np.full((len(kept), MAX_SEATS), -1, np.float32)
    ends = [a + b / 1000 for a, b in zip(game.outcome.points, game.outcome.coins, strict=True)]
    points[:, : config.players] = ends
    return Positions(rows, points)


CONFIGS = tuple(Config(players=players, mode=mode) for mode in Mode for players in (4, 3, 2, 5))
SUMS = tuple(
    Config(players=players, mode=mode, scoring=Scoring.SUM) for mode in Mode for players in (2, 3, 4, 5)
)


def play_many(league: Sequence[tuple[float, BotFactory]], *, seed: int, games: int) -> Positions:
    """Play games of all kinds between bots of a league, drawn by their shares."""
    rng = random.Random(f"happycity league {seed}")
    bots = [bot for _, bot in league]
    shares = [share for share, _ in league]
    parts = []
    for number in range(games):
        config = rng.choice(SUMS) if rng.random() < 0.04 else CONFIGS[number % len(CONFIGS)]
        lineup = rng.choices(bots, shares, k=config.players)
        parts.append(play(Deal.shuffle(config, seed=seed * 1_000_000 + number), lineup))
    return Positions.joined(parts)
