"""Games of disqualified bots: stored like all others, but not rated."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.games import finished, fixtures_of, with_endings
from tests.tournament.standings.test_standings import BOTS

from happycity import Config, Ending, FailurePolicy
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.play.progress import load_status
from happycity_tournament.ratings.disqualifications import Disqualifications
from happycity_tournament.standings.standings import Standings
from happycity_tournament.storage import AsyncStore

POLICY = FailurePolicy(disqualify_share=0.5, disqualify_games=4)
CONFIG = TournamentConfig(
    bots=BOTS, game=Config(players=3), format=RandomRounds(rounds=20), seed=1, policy=POLICY
)
SCHEDULE = fixtures_of(CONFIG)


def played(fixture: Fixture, number: int, *, ending: Ending = Ending.RESIGNED) -> FinishedGame:
    """Make a game that eva forfeits."""
    rng = random.Random(repr(fixture))
    points = [10 * BOTS.index(bot) + rng.randrange(60) for bot in fixture.bots]
    places = [1 + sum(other > own for other in points) for own in points]
    return finished(
        fixture,
        points=points,
        places=[3 if bot == "eva" else place for bot, place in zip(fixture.bots, places, strict=True)],
        endings=[ending if bot == "eva" else Ending.FINISHED for bot in fixture.bots],
        match_id=number + 1,
    )


OWN = [number for number, fixture in enumerate(SCHEDULE) if "eva" in fixture.bots]
LAST = OWN[POLICY.disqualify_games - 1]
"""The game by which eva is disqualified."""


def games(finished_early: int = 0) -> list[FinishedGame]:
    """Return all games; eva has finished so many of those after her last one before it was known."""
    early = OWN[POLICY.disqualify_games :][:finished_early]
    return [
        played(
            fixture,
            number,
            ending=Ending.RESIGNED if number <= LAST or number in early else Ending.DISQUALIFIED,
        )
        for number, fixture in enumerate(SCHEDULE)
    ]


def standings(results: list[FinishedGame], policy: FailurePolicy = POLICY) -> Standings:
    table = Standings(bots=BOTS, policy=policy)
    for fixture in SCHEDULE:
        table.expect(fixture)
    for result in results:
        table.add(result.result)
    table.flush()
    return table


RATED = [game for number, game in enumerate(games()) if number <= LAST or number not in OWN]
UNRATED = len(SCHEDULE) - len(RATED)


def test_unrated_games_count_in_no_other_column() -> None:
    """All columns but one are those of the rated games, for eva and for the others at her tables."""
    table = standings(games())
    assert (table.games, table.games_unrated, table.disqualified) == (len(SCHEDULE), UNRATED, ("eva",))
    lines = {line.bot: line for line in table.lines()}
    without = {line.bot: line for line in standings(RATED, FailurePolicy()).lines()}
    assert {bot: replace(line, games_unrated=0) for bot, line in lines.items()} == without
    assert lines["eva"].games == lines["eva"].forfeits == POLICY.disqualify_games
    assert lines["eva"].games_unrated == UNRATED
    assert sum(line.games_unrated for line in lines.values()) == 3 * UNRATED


@pytest.mark.thorough
@few_examples
@given(st.integers(0, len(OWN)), st.randoms(use_true_random=False))
def test_it_does_not_matter_what_ended_first(finished_early: int, rng: random.Random) -> None:
    """The standings are the same however many games eva had finished when it was known."""
    arrived = games(finished_early)
    rng.shuffle(arrived)
    assert standings(arrived).lines() == standings(games()).lines()


def test_forfeits_are_rated_while_nobody_is_disqualified() -> None:
    """Otherwise failing would pay."""
    disqualifications = Disqualifications(FailurePolicy(disqualify_share=0))
    assert all(disqualifications.admit(played(fixture, 0)) for fixture in SCHEDULE)
    assert disqualifications.bots == ()


def test_a_seat_that_was_forfeited_for_a_bot_is_never_rated() -> None:
    """Also where the bot isn't disqualified now, as when games that were given up are played later."""
    disqualifications = Disqualifications(FailurePolicy())
    game = played(SCHEDULE[OWN[0]], 0, ending=Ending.DISQUALIFIED)
    assert not disqualifications.admit(game)
    assert disqualifications.admit(with_endings(game, *[Ending.RESIGNED] * 3))


async def test_stored_games_give_the_same_standings(store: AsyncStore) -> None:
    """The standings of a stored tournament are those of its run."""
    store.store.create_tournament(CONFIG.json(), games_total=len(SCHEDULE), created_at=0.0)
    store.store.add_games([(game, None) for game in games()])
    status = load_status(store.store, store.store.require_tournament(1))
    assert status.standings.lines() == standings(games()).lines()
    assert (status.troubles.games_unrated, status.troubles.disqualified) == (UNRATED, ("eva",))
    assert status.progress.games == len(SCHEDULE)
