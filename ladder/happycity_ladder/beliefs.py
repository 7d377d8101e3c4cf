"""Ratings that follow time: what is known of the strengths on one board after each deal.

Strengths are hidden and move: a guest's by a random walk, those of the house not at all. What is known of all
of them together is a normal distribution. A deal changes it by the mode of its likelihood times what was
known before, and by the squared scores of its games (close to the posterior mode filter of Fahrmeir 1992, and
Glickman 1999 without covariances). Whole-history rating (Coulom 2008) also corrects the past by what comes
later, but has to count all deals again after each one.

The games of a deal share its cards and are not independent: the likelihood of a deal has an exponent, the
inverse of the dispersion that earlier deals have shown (quasi-likelihood: Wedderburn 1974; McCullagh 1983).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from typing import NamedTuple, Self

import numpy as np

from happycity_ladder.drift import WEEK, Drift, DriftTrace
from happycity_ladder.entries import UNANCHORED_GAP, RatedDeal, Rating
from happycity_ladder.gaussian_state import DealLikelihood, GaussianState
from happycity_ladder.ladder_config import LadderConfig
from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.likelihood import Derivatives
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

NEW_ERROR = 450.0
"""Standard deviation, in Elo, of the strengths of new bots, and of what is known at first of their mean."""
SEASON_ERROR = 30.0
"""Standard deviation, in Elo, of what the end of a season adds to each guest's strength."""
PRESENT_DAYS = 7.0
"""The time without a deal after which only the rating of a version is kept, without its covariances."""
MAX_PRESENT = 512
"""Versions with covariances at most: time and memory grow with the square."""
DISPERSION_DEALS = 10_000
"""About how many deals the dispersion is a mean of."""

_FORMAT = 1
_NEW_BOTS = 0  # the key of their mean; those of versions are positive
_NEIGHBOUR_ERROR = 75.0  # a version with a larger error, in Elo, closes no gap
_EVEN = 500.0  # the information of deals without dispersion with which its mean begins
_MOST_DISPERSION = 10.0
_MAX_KNOWN = 1.0  # the dispersion is measured where the ratings were known better than the deal can show


@dataclass(slots=True)
class _Version:
    before: int | None
    house: bool
    anchor: bool
    anchored: bool
    """Whether it has won and lost against the anchor, or against versions that were anchored."""
    has_won: bool = False
    has_lost: bool = False
    deals: int = 0
    last_at: float = 0.0
    """When its last deal finished, or it came."""
    mean: float = 0.0
    """In logits from the anchor; this and what follows hold while the version has no covariances."""
    variance: float = 0.0
    common: float = 0.0
    """Its share in the error that all guests have in common: the slope of its strength by their mean."""
    at: float = 0.0
    """When the variance was that."""
    trace: DriftTrace = field(default_factory=DriftTrace)


_NEW_BOT = _Version(before=None, house=False, anchor=False, anchored=False)


class Joint(NamedTuple):
    """What is known of some versions together, in Elo."""

    elos: Floats
    """[version]."""
    covariance: Floats
    """[version, version], in Elo squared."""


class Beliefs:
    """What is known of the strengths of all versions on one board.

    It is a function of the deals that were added, in their order, of what `enter` said of their versions, and
    of the configuration. Seats have no effects: each bot has each seat once in a deal, so what a seat is
    worth is the same for all.

    Args:
        players: seats at a table.
        config: the ladder's.
    """

    def __init__(self, players: int, config: LadderConfig) -> None:
        self._players = players
        self._config = config
        self._versions: dict[int, _Version] = {}
        self._has_anchor = False
        variance = np.array([[(NEW_ERROR / ELO_PER_LOGIT) ** 2]])
        self._state = GaussianState([_NEW_BOTS], np.zeros(1), variance, [True])
        self._drift = Drift(config.drift)
        self._at = 0.0
        self._squares = self._information = _EVEN
        self.finished = 0
        """The number of the last deal that was added."""

    @property
    def dispersion(self) -> float:
        """How many times as much the sums over a deal's games scatter as those of independent games would.

        At least 1: luck that rotation cancels makes close games count more, but not the upsets that tell how
        far apart two bots are.
        """
        return min(max(self._squares / self._information, 1.0), _MOST_DISPERSION)

    def enter(
        self, version: int, at: float, *, before: int | None = None, house: bool = False, anchor: bool = False
    ) -> None:
        """Say what a version is, before its first deal; what was said first holds.

        Args:
            version: identifies it; positive.
            at: when it came.
            before: the version from whose rating it starts; None for a new bot.
            house: whether its strength doesn't change.
            anchor: whether its rating is given.
        """
        self._has_anchor = self._has_anchor or anchor
        entry = _Version(before, house or anchor, anchor, anchored=anchor, last_at=at)
        self._versions.setdefault(version, entry)

    def add(self, deal: RatedDeal) -> None:
        """Count a deal.

        Raises:
            KeyError: one of its versions was not entered.
            ValueError: it isn't later than the last one, or not of this size.
        """
        if deal.finished <= self.finished:
            raise ValueError(f"deal {deal.finished} is added after deal {self.finished}")
        if len(set(deal.versions)) != self._players:
            raise ValueError(f"deal {deal.finished}: {len(set(deal.versions))} versions, not {self._players}")
        self._advance(deal.finished_at)
        for version in deal.versions:
            self._join(version, deal.versions)
        rows = list(map(self._state.row, deal.versions))
        prior, weight = self._state.covariance[np.ix_(rows, rows)], 1 / self.dispersion
        likelihood = DealLikelihood(deal.places)
        expected = likelihood.derivatives(self._state.mean[rows])
        self._state.observe(rows, likelihood, weight)
        self._learn_drift(deal.versions, weight * expected.gradient, np.diag(prior))
        self._learn_dispersion(prior, expected)
        entries = [self._versions[version] for version in deal.versions]
        _tie(entries, np.array(deal.places))
        for entry in entries:
            entry.deals += 1
            entry.last_at = self._at
        self.finished = deal.finished

    def end_season(self, at: float) -> None:
        """Make the ratings of all guests less certain."""
        self._advance(at)
        variance = (SEASON_ERROR / ELO_PER_LOGIT) ** 2
        self._state.grow(variance)
        for entry in self._versions.values():
            entry.variance += 0.0 if entry.house else variance

    def rating(self, version: int, at: float) -> Rating:
        """Return what is known of a version; one that was never entered is a new bot."""
        entry = self._versions.get(version)
        mean, variance = self._known(version, at)
        return Rating(
            elo=self._config.anchor_elo + ELO_PER_LOGIT * mean,
            error=ELO_PER_LOGIT * math.sqrt(max(0.0, variance)),
            deals=0 if entry is None else entry.deals,
            gap=self._gap(entry, mean),
        )

    def _gap(self, entry: _Version | None, mean: float) -> float:
        """Return the widest gap, in Elo, between neighbours from the anchor to a version's mean."""
        if not self._has_anchor:
            return 0.0  # nothing fixes the scale, and only differences count
        if entry is None or not entry.anchored:
            return UNANCHORED_GAP
        known = self._state.well_known((_NEIGHBOUR_ERROR / ELO_PER_LOGIT) ** 2)
        between = known[(known > min(0.0, mean)) & (known < max(0.0, mean))]
        return float(ELO_PER_LOGIT * np.diff(np.sort(np.concatenate([between, [0.0, mean]]))).max())

    def ratings(self, at: float, versions: Iterable[int] | None = None) -> dict[int, Rating]:
        """Return what is known of each version that was entered; with `versions`, of those among them."""
        chosen = self._versions if versions is None else filter(self._versions.__contains__, versions)
        return {version: self.rating(version, at) for version in chosen}

    def joint(self, versions: Sequence[int], at: float) -> Joint:
        """Return what is known of some versions together, [version] in the order given."""
        ratings = [self.rating(version, at) for version in versions]
        present = [index for index, version in enumerate(versions) if version in self._state]
        chosen = [self._state.row(versions[index]) for index in present]
        covariance = np.zeros((len(versions),) * 2)
        covariance[np.ix_(present, present)] = self._state.covariance[np.ix_(chosen, chosen)]
        covariance *= ELO_PER_LOGIT**2
        np.fill_diagonal(covariance, [rating.error**2 for rating in ratings])
        return Joint(np.array([rating.elo for rating in ratings]), covariance)

    def dump(self) -> bytes:
        """Return the state: a line of JSON, then mean and covariance as doubles."""
        head = {
            "format": _FORMAT,
            "players": self._players,
            "finished": self.finished,
            "at": self._at,
            "dispersion": [self._squares, self._information],
            "drift": astuple(self._drift),
            "present": self._state.keys,
            "versions": [[version, *astuple(entry)] for version, entry in self._versions.items()],
        }
        lower = self._state.covariance[np.tril_indices(len(self._state.keys))]
        numbers = np.concatenate([self._state.mean, lower]).astype("<f8")
        return json.dumps(head, separators=(",", ":")).encode() + b"\n" + numbers.tobytes()

    @classmethod
    def load(cls, players: int, config: LadderConfig, state: bytes) -> Self:
        """Return the beliefs that were dumped. A configuration that has changed holds from now on.

        Raises:
            ValueError: the state can't be read; all deals have to be added again.
        """
        beliefs = cls(players, config)
        try:
            line, _, rest = state.partition(b"\n")
            head = json.loads(line)
            if (head["format"], head["players"]) != (_FORMAT, players):
                raise ValueError(f"format {head['format']} with {head['players']} players")
            beliefs.finished, beliefs._at = head["finished"], head["at"]
            beliefs._squares, beliefs._information = head["dispersion"]
            beliefs._drift = Drift(*head["drift"])
            for version, *fields, trace in head["versions"]:
                beliefs._versions[version] = entry = _Version(*fields)
                entry.trace = DriftTrace(*trace)
            beliefs._has_anchor = any(entry.anchor for entry in beliefs._versions.values())
            keys, numbers = head["present"], np.frombuffer(rest, "<f8").astype(np.float64)
            lower = np.tril_indices(len(keys))
            covariance = np.zeros((len(keys),) * 2)
            covariance[lower] = numbers[len(keys) :]
            covariance.T[lower] = numbers[len(keys) :]
            guests = [key > 0 and not beliefs._versions[key].house for key in keys]
            beliefs._state = GaussianState(keys, numbers[: len(keys)], covariance, guests)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"beliefs: this state can't be read: {error}") from None
        return beliefs

    @property
    def drift(self) -> float:
        """The standard deviation of what a guest's strength changes in a week, in Elo, as learnt so far."""
        return self._drift.elo

    @property
    def _drift_variance(self) -> float:
        """The variance that a guest's strength gains in a second, in logits squared."""
        return (self._drift.elo / ELO_PER_LOGIT) ** 2 / WEEK

    def _advance(self, at: float) -> None:
        """Let time pass; if the clock was set back, none has passed."""
        if self._at:
            self._state.grow(self._drift_variance * max(0.0, at - self._at))
        self._at = max(self._at, at)

    def _join(self, version: int, needed: Sequence[int]) -> None:
        """Make a version part of the state if it isn't: it begins, or comes back."""
        if version not in self._state:
            self._forget_absent(needed)
            mean, variance = self._known(version, self._at)
            drifting, shared = not self._versions[version].house, self._shared(version, variance)
            self._state.append(version, mean=mean, variance=variance, drifting=drifting, shared=shared)

    def _forget_absent(self, needed: Sequence[int]) -> None:
        """Give up the covariances of versions that have been away, and of more if there is no room."""
        versions = [key for key in self._state.keys if key > 0 and key not in needed]
        versions.sort(key=lambda version: (self._versions[version].last_at, version))
        since = self._at - PRESENT_DAYS * 86400
        absent = [version for version in versions if self._versions[version].last_at < since]
        surplus = len(versions) + len(needed) - MAX_PRESENT
        leaving = versions[: max(len(absent), surplus)]
        if not leaving:
            return
        common = self._common()
        for version in leaving:
            entry = self._versions[version]
            entry.common = float(common[self._state.row(version)] / max(common[-1], 1e-12))
            entry.mean, entry.variance = self._known(version, self._at)
            entry.at = self._at
        self._state.remove(leaving)

    def _known(self, version: int, at: float) -> tuple[float, float]:
        """Return mean and variance, in logits from the anchor."""
        entry = self._versions.get(version, _NEW_BOT)
        drift = 0.0 if entry.house else self._drift_variance
        if entry.anchor:
            return 0.0, 0.0
        if version in self._state:
            mean, variance = self._state.marginal(version)
            return mean, variance + drift * max(0.0, at - self._at)
        if entry.deals:
            return entry.mean, entry.variance + drift * max(0.0, at - entry.at)
        before = self._before(entry)
        if before is not None:
            mean, variance = self._known(before, at)
            return mean, variance + (self._config.version_change / ELO_PER_LOGIT) ** 2
        mean, variance = self._state.marginal(_NEW_BOTS)
        return mean, variance + (NEW_ERROR / ELO_PER_LOGIT) ** 2

    def _before(self, entry: _Version) -> int | None:
        """Return the version from whose rating one starts that has no deals yet."""
        before = None if entry.before is None else self._versions.get(entry.before)
        return entry.before if before is not None and before.deals else None

    def _shared(self, version: int, variance: float) -> Floats:
        """Return the covariances of a version with all others when it begins or returns."""
        entry, before = self._versions[version], self._before(self._versions[version])
        if entry.anchor:
            return np.zeros(len(self._state.keys))
        if not entry.deals and (before is None or before in self._state):
            shared: Floats = self._state.covariance[self._state.row(_NEW_BOTS if before is None else before)]
            return shared
        # What it has in common with all is not known again by its return.
        common = self._common()
        slope = entry.common if before is None or entry.deals else self._versions[before].common
        most = math.sqrt(variance / max(common[-1], 1e-12))  # a covariance has bounds
        return max(0.0, min(most, slope)) * common[:-1]

    def _common(self) -> Floats:
        """Return what errors have in common with those of the present guests; see `GaussianState.common`."""
        rows = [row for row, key in enumerate(self._state.keys) if key > 0 and not self._versions[key].house]
        return self._state.common(rows)

    def _learn_drift(self, versions: Sequence[int], scores: Floats, prior: Floats) -> None:
        """Compare what versions scored in a deal with the errors of their deals before.

        Args:
            versions: those of the deal.
            scores: the derivatives of the log-likelihood, dispersion included, at what was expected of them.
            prior: their variances before the deal.
        """
        said = 0.0
        for version, score, before in zip(versions, scores.tolist(), prior.tolist(), strict=True):
            entry = self._versions[version]
            if not entry.house:
                seconds, kept = max(0.0, self._at - entry.last_at), self._state.marginal(version)[1] / before
                said += self._drift.gain(entry.trace, score, seconds=seconds, kept=kept)
        self._drift.learn(said)

    def _learn_dispersion(self, prior: Floats, expected: Derivatives) -> None:
        """Compare the squared scores of a deal with what the model and the doubt about its bots explain.

        Args:
            prior: the covariance of its parameters before it.
            expected: the derivatives at their mean.
        """
        gradient, information = expected.gradient, expected.information
        if float((information * prior).sum()) > _MAX_KNOWN:
            return
        kept = 1 - 1 / DISPERSION_DEALS
        doubt = float((information @ prior * information.T).sum())
        self._squares = kept * self._squares + float(gradient @ gradient) - doubt
        self._information = kept * self._information + float(np.trace(information))


def _tie(entries: Sequence[_Version], places: Ints) -> None:
    """Note by places, [game, bot], who has won or lost against anchored versions, and is anchored."""
    ahead = (places[:, :, None] < places[:, None, :]).sum(axis=0)
    anchored = np.array([entry.anchored for entry in entries])
    for entry, wins, losses in zip(entries, ahead, ahead.T, strict=True):
        entry.has_won = entry.has_won or bool(wins[anchored].any())
        entry.has_lost = entry.has_lost or bool(losses[anchored].any())
        entry.anchored = entry.anchored or (entry.has_won and entry.has_lost)
