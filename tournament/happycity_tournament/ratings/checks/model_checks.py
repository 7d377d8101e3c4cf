"""What the checks of the rating model have found, in numbers and in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from statistics import NormalDist

import numpy as np

from happycity_tournament.ratings.checks.moments import Conditions, Residuals, Tested, pairwise
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.results import Burst
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

SIGNIFICANCE = 0.01
"""A check with a smaller p-value, corrected for the number of checks, is pointed out."""
MIN_ELO = 10
"""A smaller largest deviation is not pointed out: in many games anything is significant."""
MIN_CORRELATION = 0.05
"""The same for correlations."""
MAX_LARGEST = 3
"""The largest deviations of each check that are kept."""


class Subject(Enum):
    """What a check looks at."""

    PAIRS = "pairs"
    """Whether the odds between any two bots are those of their ratings."""
    TABLE_SIZES = "table sizes"
    """Whether bots are equally strong at tables of all sizes."""
    HALVES = "halves"
    """Whether bots were equally strong in the first and the second half of the deals."""
    CONSECUTIVE_DEALS = "consecutive deals"
    """Whether a bot's results in its consecutive deals are independent."""
    BURSTS = "bursts"
    """Whether a bot played much better or worse in some of its deals in a row than in the others."""
    SOURCES = "sources"
    """Whether bots are equally strong in all sources."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far one bot's games are from what the model says."""

    bot: str
    versus: str | None
    """The opponent, table size, half or source; of bursts the deals; None for consecutive deals."""
    value: float
    """How much stronger the bot is there, in Elo; for consecutive deals their correlation."""
    margin: float
    """Half of the 95% interval of the value, as if the deviation hadn't been picked out of several."""
    p_value: float
    """Corrected for all deviations of the check (Holm 1979)."""


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """The result of one check."""

    subject: Subject
    tested: int
    """How many deviations were tested."""
    p_value: float
    """The probability of deviations like these if the model holds."""
    p_adjusted: float
    """The same, corrected for the number of checks (Holm 1979)."""
    largest: tuple[Deviation, ...]
    """The most significant deviations, at most `MAX_LARGEST`."""

    @property
    def failed(self) -> bool:
        """Whether the games contradict the model so much that it should be known."""
        least = MIN_CORRELATION if self.subject is Subject.CONSECUTIVE_DEALS else MIN_ELO
        return self.p_adjusted < SIGNIFICANCE and abs(self.largest[0].value) >= least


def check_model(
    estimate: Fit, bursts: Sequence[Burst], sources: Sequence[str] = ()
) -> tuple[ModelCheck, ...]:
    """Check whether the games look as they would if the model held.

    Checks for which there aren't enough games are left out. `bursts` are those of the ratings, `sources` the
    names of the sources by the numbers that the games have.
    """
    if not estimate.games.tables:
        return ()
    found = [
        ModelCheck(
            subject=subject,
            tested=len(tested.subjects),
            p_value=tested.result.p_value,
            p_adjusted=1.0,
            largest=_largest(estimate.games.bots, subject, names, tested),
        )
        for subject, names, tested in _tests(estimate, sources)
        if tested
    ]
    if bursts:
        found.append(_check_of_bursts(estimate, bursts))
    adjusted = holm([check.p_value for check in found])
    return tuple(
        replace(check, p_adjusted=p_adjusted) for check, p_adjusted in zip(found, adjusted, strict=True)
    )


def _check_of_bursts(estimate: Fit, bursts: Sequence[Burst]) -> ModelCheck:
    """Return what the scan for bursts has found; sizes are those of one Newton step from the rating."""
    largest = []
    for burst in bursts[:MAX_LARGEST]:
        in_a_deal = 1 / estimate.inverse[burst.bot, burst.bot] / estimate.deals_played[burst.bot]
        value, error = (ELO_PER_LOGIT * number / in_a_deal for number in (burst.score, burst.error))
        deals = f"deals {burst.first + 1:,} to {burst.first + burst.deals:,} of its own"
        margin = NormalDist().inv_cdf(0.975) * error
        largest.append(
            Deviation(estimate.games.bots[burst.bot], deals, float(value), float(margin), burst.p_value)
        )
    return ModelCheck(
        subject=Subject.BURSTS,
        tested=len(bursts),
        p_value=bursts[0].p_value,
        p_adjusted=1.0,
        largest=tuple(largest),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979), in their order."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def check_lines(checks: Sequence[ModelCheck]) -> list[str]:
    """Return what people should know, a sentence for each check that failed; one line if all is well."""
    if not checks:
        return ["checks of the model: not enough data"]
    failed = [
        f"{_heading(check)}: {_SENTENCES[check.subject](check.largest[0])}"
        for check in checks
        if check.failed
    ]
    if failed:
        return failed
    subjects = [check.subject.value for check in checks]
    listed = " and ".join(filter(None, (", ".join(subjects[:-1]), subjects[-1])))
    least = min(check.p_adjusted for check in checks)
    return [f"checks of the model: nothing unusual in {listed} (corrected p {_p(least)})"]


def _tests(estimate: Fit, sources: Sequence[str]) -> Iterator[tuple[Subject, Sequence[str], Tested | None]]:
    """Yield the tests with the names of what they compare."""
    residuals, bots, tables = Residuals(estimate), estimate.games.bots, estimate.games.tables
    by_source: Conditions | None = None
    if len(sources) > 1:
        by_source = {size: table.sources for size, table in tables.items() if table.sources is not None}
    yield Subject.PAIRS, bots, Residuals(_by_pairs(estimate)).by_pair()
    if len(tables) > 1:
        sizes = {
            size: np.full(len(table.deals), number) for number, (size, table) in enumerate(tables.items())
        }
        names = [f"tables of {size}" for size in tables]
        yield Subject.TABLE_SIZES, names, residuals.by_condition(sizes, _without_mirror(len(names)))
    halves = residuals.by_condition(residuals.halves(by_source), [1])
    yield Subject.HALVES, ("the first half", "the second half"), halves
    yield Subject.CONSECUTIVE_DEALS, bots, residuals.of_consecutive_deals()
    if by_source is not None:
        by_name = residuals.by_condition(by_source, _without_mirror(len(sources)))
        yield Subject.SOURCES, sources, by_name


def _by_pairs(estimate: Fit) -> Fit:
    """Return the estimate from the games as games of two, which is the same if they are."""
    games = pairwise(estimate.games)
    same = set(estimate.games.tables) == {2} and len(games.tables[2].deals) == len(
        estimate.games.tables[2].deals
    )
    return estimate if same else fit(games)


def _without_mirror(count: int) -> list[int]:
    """Return the conditions to test: of two, the other one says the same."""
    return [1] if count == 2 else list(range(count))


def _largest(
    bots: Sequence[str], subject: Subject, names: Sequence[str], tested: Tested
) -> tuple[Deviation, ...]:
    result, p_values = tested.result, holm(tested.result.p_values)
    correlated = subject is Subject.CONSECUTIVE_DEALS
    unit = 1.0 if correlated else ELO_PER_LOGIT
    deviations = []
    for index in np.argsort(-np.abs(result.scores), kind="stable")[:MAX_LARGEST].tolist():
        pair, value = tested.subjects[index], float(result.estimates[index]) * unit
        bot, versus = bots[pair.bot], None if correlated else names[pair.other]
        if subject is Subject.PAIRS and value < 0:
            bot, versus, value = names[pair.other], bot, -value
        margin = float(result.margins[index]) * unit
        deviations.append(Deviation(bot, versus, value, margin, p_values[index]))
    return tuple(deviations)


def _heading(check: ModelCheck) -> str:
    return f"check of {check.subject.value} (p {_p(check.p_adjusted)})"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}" if value < 0.1 else f"= {value:.2f}"


def _pair(largest: Deviation) -> str:
    return (
        f"{largest.bot} is {_size(largest)} Elo stronger against {largest.versus} than the ratings say; who "
        "beats whom depends on the pair, so look at the pairs in the report"
    )


def _table_size(largest: Deviation) -> str:
    return (
        f"{largest.bot} is {_size(largest)} Elo {_stronger(largest)} at {largest.versus} than at others; "
        "rate the tournaments of each table size on their own"
    )


def _half(largest: Deviation) -> str:
    return (
        f"{largest.bot} played {_size(largest)} Elo {_stronger(largest)} in the second half; find out what "
        "changed, and play again with bots that stay as they are"
    )


def _consecutive(largest: Deviation) -> str:
    how, width = ("similar", "narrow") if largest.value > 0 else ("opposite", "wide")
    return (
        f"{largest.bot} has {how} results in consecutive deals (correlation {largest.value:.2f} "
        f"±{largest.margin:.2f}), so its interval is too {width}; look for "
        f"a cause that lasts for several deals, such as load: tournament games --forfeits"
    )


def _burst(largest: Deviation) -> str:
    return (
        f"{largest.bot} was {_size(largest)} Elo {_stronger(largest)} in {largest.versus} than in others, so "
        "errors rest on blocks; look for a cause such as crashes or load: tournament games --forfeits"
    )


def _source(largest: Deviation) -> str:
    return (
        f"{largest.bot} is {_size(largest)} Elo {_stronger(largest)} in {largest.versus} than elsewhere; "
        f"if these are different programs, rate them apart with --by-source {largest.bot}"
    )


def _size(deviation: Deviation) -> str:
    return f"{abs(deviation.value):.0f} ±{deviation.margin:.0f}"


def _stronger(deviation: Deviation) -> str:
    return "stronger" if deviation.value > 0 else "weaker"


_SENTENCES: dict[Subject, Callable[[Deviation], str]] = {
    Subject.PAIRS: _pair,
    Subject.TABLE_SIZES: _table_size,
    Subject.HALVES: _half,
    Subject.CONSECUTIVE_DEALS: _consecutive,
    Subject.BURSTS: _burst,
    Subject.SOURCES: _source,
}
