"""Odd results: chance makes few flags, and planted cheats are found."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tools.benchmarks.ladder_year import draw_deals

from happycity import BotInfo
from happycity_ladder.entries import DealLuck, RatedDeal, Version
from happycity_ladder.flags import Flag, FlagKind, find_flags
from happycity_tournament.games import BotProfile
from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.mean_luck import MIN_DEALS, MOST_ERRORS
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

BOTS = 12
Cheat = Callable[[int, list[int], Floats], None]


def version(number: int, *, house: bool = False) -> Version:
    profile = BotProfile(BotInfo())
    return Version(
        id=number, bot=f"bot{number}", profile=profile, owner="", house=house, first_at=0.0, last_at=0.0
    )


VERSIONS = {number: version(number) for number in range(1, BOTS + 1)}


def played(*, deals: int, seed: int, players: int = 4, cheat: Cheat | None = None) -> list[RatedDeal]:
    """Draw deals by lot; `cheat` changes the strengths, in Elo, of a deal's bots in place."""
    rng = np.random.default_rng(seed)
    elos = rng.normal(0, 200, BOTS)
    lineups: Ints = np.array([rng.permutation(BOTS)[:players] for _ in range(deals)])
    strengths = elos[lineups]
    if cheat is not None:
        for number, lineup in enumerate(lineups.tolist()):
            cheat(number, [bot + 1 for bot in lineup], strengths[number])
    rankings = draw_deals(strengths / ELO_PER_LOGIT, 0.75, rng).tolist()
    return [
        RatedDeal(
            finished=number,
            finished_at=float(number),
            versions=tuple(bot + 1 for bot in lineup),
            places=tuple(map(tuple, places)),
        )
        for number, (lineup, places) in enumerate(zip(lineups.tolist(), rankings, strict=True), start=1)
    ]


def luck_of(deals: list[RatedDeal], *, cheat: int = 0) -> list[DealLuck]:
    """Draw luck for deals; a bot that cheats, by its number, wins a third of a place a game by it."""
    rng = np.random.default_rng(7)
    return [
        DealLuck(
            deal.finished,
            deal.versions,
            tuple(rng.normal((np.array(deal.versions) == cheat) / 3, 0.5).tolist()),
        )
        for deal in deals
    ]


def flags_of(deals: list[RatedDeal]) -> list[Flag]:
    return find_flags("4-family", deals, VERSIONS, {})


@pytest.mark.parametrize("players", [2, 3, 5])
def test_chance_makes_hardly_any_flags(players: int) -> None:
    assert flags_of(played(deals=400, seed=players, players=players)) == []


@pytest.mark.level(1)
def test_the_size_of_the_tests_is_kept() -> None:
    """Of 25 fields of honest bots, none has a flag at all: at most 2 in 100 should."""
    flagged = sum(bool(flags_of(played(deals=600, seed=seed))) for seed in range(25))
    assert flagged == 0


def test_a_helper_is_found_with_whom_it_helps() -> None:
    """Bot 1 gives way to bot 2 against the others, and bot 2 gains by it."""

    def help_two(number: int, lineup: list[int], strengths: Floats) -> None:
        if 1 in lineup and 2 in lineup:
            strengths[lineup.index(1)] -= 350
            strengths[lineup.index(2)] += 200

    first, *others = flags_of(played(deals=1200, seed=1, cheat=help_two))
    assert (first.kind, first.bot, first.beneficiary) == (FlagKind.HELPING, "bot1", "bot2")
    assert first.p_value < 0.01
    assert first.deviation > 4
    assert 60 < first.deals < 150
    assert len(first.deal_ids) == 10
    assert not [flag for flag in others if flag.kind is FlagKind.HELPING]


def test_a_bot_that_only_loses_to_another_is_no_helper() -> None:
    """If bot 1 is weak against bot 2 alone, third bots notice nothing, and there is no flag."""
    swapped = []
    for deal in played(deals=1200, seed=2):
        places = [list(ranking) for ranking in deal.places]
        if {1, 2} <= set(deal.versions):
            one, two = deal.versions.index(1), deal.versions.index(2)
            for ranking in places:
                if ranking[two] - ranking[one] == 1:
                    ranking[one], ranking[two] = ranking[two], ranking[one]
        swapped.append(replace(deal, places=tuple(map(tuple, places))))
    assert flags_of(swapped) == []


def test_forfeits_are_compared_with_those_of_the_others() -> None:
    """A bot that forfeits a fifth of its games is flagged, unless all do so or it is one of the house."""
    many, few = (200, 40), (200, 2)
    (flag,) = find_flags("b", [], VERSIONS, {1: many, 2: few, 3: few, 4: few})
    assert (flag.kind, flag.bot, flag.text) == (FlagKind.FORFEITING, "bot1", "bot1 forfeited 40 of 200 games")
    assert find_flags("b", [], VERSIONS, dict.fromkeys((1, 2, 3, 4), many)) == []
    assert find_flags("b", [], VERSIONS, {1: (10, 10), 2: few}) == []
    house = VERSIONS | {1: version(1, house=True)}
    assert find_flags("b", [], house, {1: (200, 100), 2: (200, 0), 3: (200, 0)}) == []


def test_a_bot_that_knows_the_deck_is_flagged() -> None:
    """In the words of `tournament rate --luck-adjusted`; honest bots, and bots of the house, are not."""
    deals = played(deals=300, seed=3)
    assert find_flags("4-family", deals, VERSIONS, {}, luck_of(deals)) == []
    luck = luck_of(deals, cheat=2)
    (flag,) = find_flags("4-family", deals, VERSIONS, {}, luck)
    assert (flag.kind, flag.bot, flag.deals) == (
        FlagKind.TOO_LUCKY,
        "bot2",
        sum(2 in deal.versions for deal in luck),
    )
    assert flag.deviation > MOST_ERRORS
    assert flag.p_value < 1e-3
    assert flag.text.endswith("more than chance allows, as if it knew which cards come")
    best = max(
        (deal for deal in luck if 2 in deal.versions), key=lambda deal: deal[2][deal.versions.index(2)]
    )
    assert flag.deal_ids[0] == best.deal_id
    assert find_flags("4-family", deals, {**VERSIONS, 2: version(2, house=True)}, {}, luck) == []
    few = [deal for deal in luck if 2 in deal.versions][: MIN_DEALS - 1]
    assert find_flags("4-family", deals, VERSIONS, {}, few) == []
