"""Whether games fit the model: first places, last places, and halves."""

import numpy as np
import pytest
from tests.tournament.ratings.tables import columns
from tools.benchmarks.models import League

from happycity_tournament.ratings.checks import Deviation, check_lines, check_model
from happycity_tournament.ratings.columns import Games, TableColumns
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

LEAGUE = League([-150, -50, 50, 150])


def checked(games: Games) -> dict[tuple[str, str], Deviation]:
    return {(one.subject, one.bot): one for one in check_model(estimate_of(games))}


def test_firsts_and_lasts_are_counted_by_hand() -> None:
    """Equal bots expect a third of all at tables of three; shared places count in parts."""
    rows = [((0, 1, 2), places, deal) for deal, places in enumerate([(1, 2, 3), (2, 3, 1), (3, 1, 2)] * 4)]
    found = checked(columns([*rows, ((0, 1, 2), (1, 1, 1), 50)], "abc"))
    for bot in "abc":
        for subject in ("first places", "last places"):
            assert found[subject, bot].actual == pytest.approx(13 / 3)
            assert found[subject, bot].expected == pytest.approx(13 / 3)


@pytest.mark.level(2)
def test_a_true_model_is_left_alone() -> None:
    """The z has the standard deviation 1, so that 5% of the tournaments get a sentence at most."""
    rng = np.random.default_rng(1)
    found = [check_model(estimate_of(LEAGUE.games({4: 60}, rng))) for _ in range(80)]
    assert np.std([one.z for each in found for one in each]) == pytest.approx(1, abs=0.08)
    assert sum(bool(check_lines(each)) for each in found) <= 9


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("seats", "deals", "logits"),
    [
        (2, 10, (1, 0)),
        (3, 10, (1, 0, -1.6)),
        (3, 20, (1, 0, -1.6)),
        (3, 10, (2.5, 0, -2)),
        (3, 100, (2.5, 0, -2)),
        (4, 10, (3, 0, 0, -3)),
        (4, 10, (0.8, 0.3, -0.2, -0.9)),
        (5, 20, (3, 1, 0, 0, -3)),
    ],
    ids=str,
)
def test_few_bots_and_deals_raise_no_false_alarm(seats: int, deals: int, logits: tuple[float, ...]) -> None:
    """At most 5% of the tournaments get a sentence, all deviations together, however far apart bots are."""
    league, rng = League([ELO_PER_LOGIT * each for each in logits]), np.random.default_rng(5)
    found = [check_lines(check_model(estimate_of(league.games({seats: deals}, rng)))) for _ in range(40)]
    assert sum(map(bool, found)) <= 2


def test_first_places_that_dont_fit_are_said() -> None:
    """A bot that never wins, but is second more often than the others, is pointed out."""
    games = LEAGUE.games({4: 100}, np.random.default_rng(2)).tables[4]
    first = (games.bots == 1) & (games.places == 1)
    swapped = np.where(first.any(axis=1)[:, None] & (games.places == 2), 1, games.places)
    found = check_model(
        estimate_of(
            Games(LEAGUE.bots, {4: TableColumns(games.bots, np.where(first, 2, swapped), games.deals)})
        )
    )
    (line,) = [line for line in check_lines(found) if "bot-1" in line]
    assert line.startswith("first places don't fit the model for bot-1: 0 of ")


def test_a_bot_that_changed_halfway_is_said() -> None:
    """Halves are those of the bot's deals in their order."""
    rng = np.random.default_rng(3)
    before, after = (League([0, 0, 0, change]).games({2: 200}, rng).tables[2] for change in (-150, 150))
    bots, places, deals = (
        np.concatenate(pair)
        for pair in (
            (before.bots, after.bots),
            (before.places, after.places),
            (before.deals, 1000 + after.deals),
        )
    )
    both = TableColumns(bots, places, deals)
    lines = check_lines(check_model(estimate_of(Games(LEAGUE.bots, {2: both}))))
    (line,) = [line for line in lines if line.startswith("bot-3 was ")]
    assert line.endswith(" Elo stronger in the second half of its deals than in the first")


def test_too_few_deals_tell_nothing() -> None:
    assert check_model(estimate_of(LEAGUE.games({4: 9}, np.random.default_rng(4)))) == ()
