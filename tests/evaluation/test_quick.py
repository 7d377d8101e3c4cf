"""The quick policy, with which playouts are played."""

import random
from itertools import product

import pytest
from tests.game.rules.positions import position

from happycity import Config, Game, Mode, Phase, Scoring
from happycity.records.random_games import random_move
from happycity_evaluation.quick import quick_move


def test_quick_plays_legally_to_the_end() -> None:
    for players, mode, scoring in product(range(2, 6), Mode, Scoring):
        config = Config(players=players, mode=mode, scoring=scoring)
        games = [Game.deal(config, seed=7) for _ in range(2)]
        for game in games:
            while game.outcome is None:
                game.apply(quick_move(game))
        assert games[0].outcome == games[1].outcome


@pytest.mark.level(1)
def test_quick_looks_at_nothing_hidden() -> None:
    rng = random.Random(5)
    for seed in range(20):
        game = Game.deal(Config(players=3, mode=Mode.EXPERT), seed=seed)
        while game.outcome is None:
            twin = Game.from_view(game.view(), rng)
            assert quick_move(twin) is quick_move(game)
            game.apply(random_move(game, rng))


def test_random_plays_every_move() -> None:
    game = position(Phase.DRAW)
    counts = [0, 0, 0]
    rng = random.Random(1)
    for _ in range(300):
        counts[game.legal_moves.index(random_move(game, rng))] += 1
    assert min(counts) > 70


def test_quick_takes_the_market_whose_colour_the_most_specials_need() -> None:
    for seed in range(10):
        game = Game.deal(Config(players=2, mode=Mode.EXPERT), seed=seed)
        wanted = [
            sum(move.card.colour in special.condition for special in game.view().specials)
            for move in game.legal_moves
            if move.card is not None
        ]
        assert game.legal_moves.index(quick_move(game)) == wanted.index(max(wanted))


def test_quick_is_better_than_random() -> None:
    rng = random.Random(2)
    wins = 0
    for number in range(40):
        game = Game.deal(Config(players=2), seed=number // 2)
        quick = number % 2
        while game.outcome is None:
            game.apply(quick_move(game) if game.seat == quick else random_move(game, rng))
        wins += game.outcome.ranks[quick] < game.outcome.ranks[1 - quick]
    assert wins >= 36
