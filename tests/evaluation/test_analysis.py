"""What decisions cost: a weakness that was planted in a good player is found."""

import random
from collections.abc import Callable

import pytest

from happycity import Config, Deal, Game, Mode, Move, MoveKind, Phase
from happycity.records.record import Json, Recorder
from happycity.rules.scoring import shared_places
from happycity_evaluation.analysis import analyse
from happycity_evaluation.evaluator import Evaluator
from happycity_evaluation.quick import quick_move

Weakness = Callable[[Game, random.Random], Move | None]
"""Returns what the weak player chooses; None: what the good one does."""


def recorded(config: Config, seed: int, weakness: Weakness) -> Json:
    """Play a game of which seat 0 is played by the evaluator, but for its weakness."""
    deal, evaluator, rng = Deal.shuffle(config, seed=seed), Evaluator(), random.Random(seed)
    game, recorder = Game(deal), Recorder(deal)
    while game.outcome is None:
        move = quick_move(game)
        if game.seat == 0:
            best = min(evaluator.moves(game), key=lambda value: value.places[0]).move
            move = weakness(game, rng) or best
        recorder.add(game, move)
        game.apply(move)
    return recorder.record(game)


def discards_at_random(game: Game, rng: random.Random) -> Move | None:
    return rng.choice(game.legal_moves) if game.phase is Phase.DISCARD else None


def never_takes_specials(game: Game, _: random.Random) -> Move | None:
    return game.neutral_move if game.phase is Phase.SPECIAL else None


def takes_coins(game: Game, rng: random.Random) -> Move | None:
    return game.neutral_move if game.phase is Phase.BUY and rng.random() < 0.3 else None


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("weakness", "phase"),
    [
        (discards_at_random, Phase.DISCARD),
        (never_takes_specials, Phase.SPECIAL),
        (takes_coins, Phase.BUY),
    ],
)
def test_a_planted_weakness_costs_most(weakness: Weakness, phase: Phase) -> None:
    """In two games together, as in one of them a weakness may be without consequence."""
    for mode in Mode:
        records = [recorded(Config(players=2, mode=mode), seed, weakness) for seed in (4, 6)]
        analyses = [analyse(record, [0], Evaluator())[0] for record in records]
        assert all(next(iter(analysis.loss_by_phase())) is phase for analysis in analyses)
        lost = sum(analysis.loss_by_phase()[phase] for analysis in analyses)
        assert lost > 2 * 0.05
        assert sum(analysis.loss for analysis in analyses) == pytest.approx(lost, abs=1e-6)  # no other fault


@pytest.mark.level(1)
def test_the_costliest_decision_comes_first_and_each_one_once() -> None:
    record = recorded(Config(players=2), 6, discards_at_random)
    (analysis,) = analyse(record, [0], Evaluator(playouts=8))
    losses = [decision.loss for decision in analysis.decisions]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] >= 0
    own = [number for number, line in enumerate(record["moves"], start=1) if line["seat"] == 0]
    assert sorted(decision.decision_id for decision in analysis.decisions) == own
    assert all(decision.best is decision.move for decision in analysis.decisions if not decision.loss)


@pytest.mark.level(2)
def test_an_analysis_repeats() -> None:
    record = recorded(Config(players=2, mode=Mode.EXPERT), 7, takes_coins)
    first, second = (analyse(record, [1], Evaluator(playouts=4, seed=3)) for _ in range(2))
    assert first == second


def test_the_digest_tells_settings_apart() -> None:
    settings = ((0, 0), (8, 0), (8, 1))
    assert len({Evaluator(playouts=playouts, seed=seed).digest for playouts, seed in settings}) == 3
    assert Evaluator(playouts=8).digest == Evaluator(playouts=8).digest


@pytest.mark.level(1)
@pytest.mark.parametrize("mode", Mode)
def test_expected_places_add_up_in_every_position(mode: Mode) -> None:
    """The places of n seats are 1 + 2 + ... + n."""
    game, evaluator = Game.deal(Config(players=3, mode=mode), seed=3), Evaluator()
    while game.outcome is None:
        for places in ([value.place for value in evaluator.values(game)], *_after_moves(evaluator, game)):
            assert sum(places) == pytest.approx(6)
            assert all(1 <= place <= 3 for place in places)
        game.apply(quick_move(game))
    assert shared_places(game.outcome.ranks) == tuple(value.place for value in evaluator.values(game))


def _after_moves(evaluator: Evaluator, game: Game) -> list[tuple[float, ...]]:
    return [value.places for value in evaluator.moves(game)]


def test_a_decisive_last_purchase_is_seen() -> None:
    """At the very last decision the places after each move are those of the rules."""
    game, last = Game.deal(Config(players=2), seed=9), None
    while game.outcome is None:
        if game.phase is Phase.BUY:
            last = game.copy()
        game.apply(quick_move(game))
    assert last is not None
    for value in Evaluator().moves(last):
        after = last.copy()
        after.apply(value.move)
        if after.outcome is not None and value.move.kind is not MoveKind.COIN:
            assert value.places == shared_places(after.outcome.ranks)
