"""Which deals are those of practice matches, whose games never count."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import League

from happycity_tournament.games import FinishedGame, is_practice, practice_seed
from happycity_tournament.standings.counted import CountingRules, Uncounted

FIRST = 2**63
"""The lowest seed of a practice deal; the highest is that of any deal."""
LAST = 2**64 - 1


@pytest.fixture
def game() -> FinishedGame:
    """Return a game of no tournament."""
    found, _ = next(League(("ann", "bob"), seats=2, rounds=1).games(1))
    return replace(found, tournament_id=None, position=None)


def test_seeds_from_2_to_the_63_on_are_those_of_practice() -> None:
    assert [is_practice(seed) for seed in (0, 2**53, FIRST - 1, FIRST, FIRST + 1, LAST)] == [False] * 3 + [
        True
    ] * 3


def test_each_number_has_a_practice_seed_of_its_own() -> None:
    numbers = (0, 1, 2**32 - 1, FIRST - 1)
    assert [practice_seed(number) for number in numbers] == [FIRST, FIRST + 1, FIRST + 2**32 - 1, LAST]
    assert all(is_practice(practice_seed(number)) for number in numbers)


@pytest.mark.parametrize(
    ("seed", "reason"), [(FIRST - 1, None), (FIRST, Uncounted.PRACTICE), (LAST, Uncounted.PRACTICE)]
)
def test_practice_is_not_counted(game: FinishedGame, seed: int, reason: Uncounted | None) -> None:
    """Neither one by one nor many at once."""
    practised = replace(game, deal_seed=seed)
    assert CountingRules().reason(practised) is reason
    rules = CountingRules()
    counted, _ = rules.rule(None).divide([game, practised])
    assert [one.deal_seed for one in counted] == [game.deal_seed, *([seed] if reason is None else [])]
    assert rules.uncounted == ({} if reason is None else {reason: 1})


@pytest.mark.level(1)
def test_practice_is_not_rated(run: Run, tmp_path: Path) -> None:
    """Of records with the seeds around the first of practice, `rate` takes those below it."""
    records = []
    for number, (_, text) in enumerate(League(("ann", "bob"), seats=2, rounds=6).games(1), start=-6):
        record = json.loads(text or "")
        record["deal"]["seed"] = FIRST + number
        records.append(json.dumps({**record, "bots": ["ann", "bob"]}))
    Path("games.jsonl").write_text("\n".join(records))
    rated = json_of(run, "rate", "games.jsonl")
    assert (len(records), rated["games"]) == (12, 6)
