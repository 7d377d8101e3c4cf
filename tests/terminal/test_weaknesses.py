"""Where a bot loses more than elsewhere: phases, rounds and opponents, by one test."""

import random
from collections.abc import Callable

import pytest

from happycity_terminal.weaknesses import (
    LEAST_EXCESS,
    CostlyDecision,
    Excess,
    SeatDecisions,
    Weaknesses,
    diagnosis,
)

PHASES = ("discard", "draw", "buy")
OTHERS = ("ann", "ben", "cem", "dee", "eve")
IsWeak = Callable[[str, int, frozenset[str]], bool]


def seats(is_weak: IsWeak, *, games: int = 80, seed: int = 1) -> list[SeatDecisions]:
    """Make games of twelve rounds, whose decisions lose a fifth of what they do at random, or all."""
    rng, made = random.Random(seed), []
    for game in range(games):
        opponents = frozenset(rng.sample(OTHERS, 2))
        decisions = []
        for number in range(1, 13):
            for phase in PHASES:
                at_random = rng.expovariate(4) * (3 if phase == "buy" else 1)
                loss = at_random * (1.0 if is_weak(phase, number, opponents) else 0.2) * rng.uniform(0, 2)
                decisions.append(
                    CostlyDecision(
                        game=game, decision=1, seat=0, round=number, phase=phase, move="a", best="b",
                        why=(), loss=loss, loss_at_random=at_random,
                    )
                )  # fmt: skip
        made.append(SeatDecisions(opponents, decisions))
    return made


@pytest.mark.parametrize(
    ("is_weak", "kind", "words"),
    [
        (lambda phase, *_: phase == "draw", "phase", "more than elsewhere in draws, "),
        (lambda _, number, __: number >= 8, "round", "more than elsewhere in rounds 8-12, "),
        (lambda _, number, __: number in (2, 5), "round", "more than elsewhere in rounds 2, 5, "),
        (lambda _, __, others: "ann" in others, "opponent", "more than elsewhere with ann at the table, "),
    ],
)
def test_a_planted_weakness_is_named(is_weak: IsWeak, kind: str, words: str) -> None:
    found = Weaknesses.of(seats(is_weak))
    assert {excess.kind for excess in found.excesses} == {kind}
    sentence = diagnosis("mine loses", found.loss_by_phase, found.loss_at_random, found.excesses)
    assert words in sentence
    assert all(excess.share - excess.share_elsewhere >= LEAST_EXCESS for excess in found.excesses)


def test_a_bot_that_is_as_weak_everywhere_is_blamed_for_nothing() -> None:
    """Of 20 runs none names anything, for a bot that loses little and for one that moves at random."""
    for is_weak in (lambda *_: False, lambda *_: True):
        assert not any(Weaknesses.of(seats(is_weak, games=30, seed=seed)).excesses for seed in range(10))


def test_few_games_and_cells_without_contrast_say_nothing() -> None:
    """An opponent at every table can't be compared with others."""
    assert Weaknesses.of(seats(lambda *_: False, games=3)).excesses == []
    always = [SeatDecisions(frozenset({"ann"}), own.decisions) for own in seats(lambda *_: True)]
    assert Weaknesses.of(always).excesses == []
    assert Weaknesses.of([]).excesses == []


def test_the_largest_loss_comes_first() -> None:
    """A phase without any idea follows, although it costs less."""
    sentence = diagnosis("mine loses", {"buy": 1.31, "discard": 0.15}, {"buy": 5.0, "discard": 0.15})
    assert sentence == (
        "mine loses 1.31 places a game in purchases, of 1.46 in all its decisions; "
        "0.15 in discards, no better than at random"
    )
    excess = Excess(kind="round", cell="8", share=0.9, share_elsewhere=0.2, p_value=0.001)
    assert diagnosis("mine loses", {"buy": 1.0}, None, [excess]).endswith(
        "; more than elsewhere in round 8, 0.9 of the loss at random instead of 0.2"
    )
