"""Bots that try moves in sampled worlds: sequential halving, budgets, and the champion's network."""

import random
from collections.abc import Sequence
from fractions import Fraction
from importlib.resources import files
from itertools import count
from math import floor

import numpy as np
import pytest

from happycity import Config, ConfigError, Game, Move, View
from happycity_bots import BOTS, ChampionBot, SearchBot
from happycity_bots.catalogue import factory_of
from happycity_bots.halving import Candidate, TrialBudget, halve, prune
from happycity_client import Decision, GameStarted
from happycity_evaluation.features import position_rows
from happycity_evaluation.network import UNIT, inputs_of
from happycity_evaluation.turn_strengths import WEIGHTS, champions_network

SMALL = TrialBudget(playouts=6)


def at_purchase(*, seed: int = 3, options: int = 4) -> Game:
    game = Game.deal(Config(), seed=seed)
    rng = random.Random(seed)
    while len(game.legal_moves) < options or game.legal_moves[0].text != "coin":
        game.apply(rng.choice(game.legal_moves))
    return game


def candidates(game: Game, *priors: float) -> list[Candidate]:
    return [Candidate(move, prior) for move, prior in zip(game.legal_moves, priors, strict=False)]


class Trials:
    """Notes the worlds and the moves of trials; each move is worth what `values` says."""

    def __init__(self, *values: float) -> None:
        self.values = values
        self.moves: list[tuple[Move, ...]] = []
        self.worlds: list[Game] = []

    def __call__(self, world: Game, moves: Sequence[Move]) -> list[float]:
        self.moves.append(tuple(moves))
        self.worlds.append(world)
        return [self.values[world.legal_moves.index(move)] for move in moves]


def choose(view: View, options: Sequence[Candidate], trials: Trials, **changes: object) -> Move:
    usual: dict[str, object] = {"budget": TrialBudget(playouts=32), "confidence": 1}
    worlds = Game.worlds(view, random.Random(1))
    return halve(worlds, options, trials, **{**usual, **changes})  # type: ignore[arg-type]


def test_halving_keeps_the_better_half_in_the_same_worlds() -> None:
    game = at_purchase()
    trials = Trials(0.1, 0.3, 0.2, -0.5)
    options = candidates(game, 0, 0, 0, 0)
    assert choose(game.view(), options, trials) is game.legal_moves[1]
    assert [len(moves) for moves in trials.moves] == [4] * 4 + [2] * 8
    assert set(trials.moves[-1]) == {game.legal_moves[1], game.legal_moves[2]}


def test_trials_stay_within_the_budget() -> None:
    # The playouts of all candidates together are counted.
    game = at_purchase()
    for playouts in (8, 20, 33):
        trials = Trials(0, 0, 0, 0)
        choose(game.view(), candidates(game, 0, 0, 0, 0), trials, budget=TrialBudget(playouts=playouts))
        assert sum(map(len, trials.moves)) <= playouts

    # Nothing is tried then.
    game, trials = at_purchase(), Trials()
    assert (
        choose(game.view(), candidates(game, 0.2, 0.1), trials, budget=TrialBudget()) is game.legal_moves[0]
    )
    assert not trials.moves

    # They stop when the time is over, after one world at least.
    for seconds, worlds in [(0.0005, 1), (4.0, 4)]:
        game, trials = at_purchase(), Trials(0.0, 1.0)
        clock = map(float, count()).__next__  # one of whole seconds
        budget = TrialBudget(seconds=seconds)
        move = choose(game.view(), candidates(game, 0.1, 0.0), trials, budget=budget, clock=clock)
        assert move is game.legal_moves[1]
        assert len(trials.moves) == worlds


def test_a_prior_counts_as_many_trials() -> None:
    """A small lead in few trials doesn't overcome a prior of great confidence, and many trials do."""
    game = at_purchase()
    options, trials = candidates(game, 0.1, 0.0), Trials(0.0, 0.05)
    few, many = TrialBudget(playouts=8), TrialBudget(playouts=64)
    assert choose(game.view(), options, trials, confidence=8, budget=few) is game.legal_moves[0]
    assert choose(game.view(), options, trials, confidence=8, budget=many) is game.legal_moves[1]


def test_moves_far_behind_the_best_are_not_tried() -> None:
    game = at_purchase()
    kept = prune(game.legal_moves[:4], [0.0, 0.5, 0.45, 0.48], near=0.1, most=2)
    assert [candidate.move for candidate in kept] == [game.legal_moves[1], game.legal_moves[3]]
    assert len(prune(game.legal_moves[:4], [0.0, 0.5, 0.45, 0.48], near=0.01, most=4)) == 1


def test_budgets_are_read() -> None:
    # A time has its unit.
    for text, budget in [
        ("200", TrialBudget(playouts=200)),
        ("50ms", TrialBudget(seconds=0.05)),
        ("1", TrialBudget(1)),
    ]:
        assert TrialBudget.parse(text) == budget
    # The message says what to give.
    for text in ["", "0", "-5", "50 ms", "2s", "ten", "9" * 8]:
        with pytest.raises(ConfigError, match="give a number of playouts, as 200, or a time, as 50ms"):
            TrialBudget.parse(text)
    # The message names those that do.
    with pytest.raises(ConfigError, match="no effect on planner: search, learner and champion take it"):
        factory_of("planner", SMALL)


def test_mistakes_go_from_the_planner_to_random_moves() -> None:
    games = [Game.deal(Config(players=3), seed=seed) for seed in range(200)]

    def share_of_plans(mistakes: float) -> float:
        same = 0
        for seed, game in enumerate(games):
            start = GameStarted(match_id=0, config=Config(), seat=0, bots=("",) * 3, seed=seed)
            chosen, plan = (
                factory_of(name, mistakes=share)(start).choose(Decision.of(game, game.events))
                for name, share in (("careless", mistakes), ("planner", None))
            )
            same += chosen == plan
        return same / len(games)

    assert share_of_plans(0) == 1
    # Of three decks, a random one is the planner's in a third of the cases.
    assert 0.55 < share_of_plans(0.5) < 0.8
    assert 0.2 < share_of_plans(1) < 0.5
    with pytest.raises(ConfigError, match="--mistakes has no effect on greedy: careless takes it"):
        factory_of("greedy", mistakes=0.5)


@pytest.mark.parametrize("name", ["search", "champion"])
def test_a_budget_reaches_the_bot(name: str) -> None:
    start = GameStarted(match_id=0, config=Config(), seat=0, bots=("",) * 4, seed=0)
    bot = factory_of(name, SMALL)(start)
    assert isinstance(bot, SearchBot | ChampionBot)
    assert bot.budget == SMALL
    assert BOTS[name](start).budget.playouts > 0  # type: ignore[attr-defined]


def test_the_weights_come_with_the_package() -> None:
    weights = files("happycity_evaluation") / WEIGHTS
    assert 0 < len(weights.read_bytes()) < 2_000_000
    game = Game.deal(Config(players=3), seed=1)
    assert len(champions_network().strengths(position_rows(game.view()))) == 3


def test_the_network_is_computed_exactly() -> None:
    with np.load(files("happycity_evaluation") / WEIGHTS) as arrays:  # type: ignore[arg-type]
        first, b1, second, b2, last, b3 = [arrays[name].tolist() for name in arrays.files]
    game = at_purchase(seed=8)
    rows = position_rows(game.view())
    expected = []
    for row in np.rint(inputs_of(np.array(rows, dtype=np.float64)) * UNIT).astype(int).tolist():
        values = row
        for weights, bias in ((first, b1), (second, b2)):
            sums = [
                UNIT * bias[to] + sum(value * weights[by][to] for by, value in enumerate(values))
                for to in range(len(bias))
            ]
            values = [floor(Fraction(max(0, total), UNIT)) for total in sums]
        out = UNIT * b3[0] + sum(value * last[by][0] for by, value in enumerate(values))
        expected.append(float(Fraction(out, UNIT * UNIT)))
    assert champions_network().strengths(rows) == expected


def test_a_seat_sees_itself_first() -> None:
    """A row tells of its own seat, and of the others by what doesn't depend on their order."""
    game = at_purchase(seed=5)
    view = game.view()._replace(seat=0)
    swapped = view._replace(
        coins=(view.coins[0], view.coins[2], view.coins[1], view.coins[3]),
        incomes=(view.incomes[0], view.incomes[2], view.incomes[1], view.incomes[3]),
        cities=(view.cities[0], view.cities[2], view.cities[1], view.cities[3]),
    )
    assert position_rows(view)[0] == position_rows(swapped)[0]
