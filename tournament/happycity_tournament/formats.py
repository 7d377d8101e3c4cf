"""The formats of a tournament: which schedule each of them makes, of which numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from happycity.errors import ConfigError
from happycity_tournament.quarantine import Quarantine
from happycity_tournament.ratings import LiveElo
from happycity_tournament.results import GameResult
from happycity_tournament.schedule import (
    Adaptive,
    Duel,
    Estimates,
    Field,
    Gauntlet,
    RandomRounds,
    RoundRobin,
    Schedule,
    Swiss,
)
from happycity_tournament.schedule.duel import copies, seatings

if TYPE_CHECKING:  # the configuration makes its schedule here
    from happycity_tournament.config import TournamentConfig

_ESTIMATE_DIGITS = 6
"""Of an Elo: what rounding errors make of an estimate must not change a draw."""


class Format(Enum):
    """How the games of a tournament are chosen."""

    RANDOM_ROUNDS = "random-rounds"
    """Everybody plays in every round, with those whom it met least."""
    ROUND_ROBIN = "round-robin"
    """Everybody meets everybody equally often."""
    SWISS = "swiss"
    """In every round bots of about equal scores meet."""
    GAUNTLET = "gauntlet"
    """Challengers against all others."""
    ADAPTIVE = "adaptive"
    """A minimum for everybody, then where the order is most in doubt."""
    SPRT = "sprt"
    """Two bots until a sequential test has decided between them."""


class LiveEstimator:
    """An `Estimator` that rates bots as the standings do, but by their games in quarantine too.

    Or else the order of a disqualified bot would stay in doubt, and get all the games.
    """

    def __init__(self, bots: tuple[str, ...]) -> None:
        self._bots = bots
        self._elo = LiveElo(bots)

    def add(self, result: GameResult) -> None:
        """Count a game; they come in the order of the schedule."""
        self._elo.add(result)

    def estimates(self) -> Estimates:
        """Return ratings, and the errors of their differences by the bootstrap over deals."""
        errors = self._elo.difference_errors().round(_ESTIMATE_DIGITS)
        return Estimates(
            bots=self._bots,
            elos=tuple(round(rating.elo, _ESTIMATE_DIGITS) for rating in self._elo.ratings()),
            errors=tuple(map(tuple, errors.tolist())),
        )


def schedule_of(config: TournamentConfig) -> Schedule:
    """Make the schedule of a tournament, before its first game.

    Raises:
        ConfigError: the bots, or the numbers of its format, make no schedule.
    """
    if config.roster and config.format not in OPEN:
        raise ConfigError(f"roster: {config.format.value} has the same bots from beginning to end")
    return SCHEDULES[config.format](config)


def counted(config: TournamentConfig, results: Iterable[GameResult]) -> list[GameResult]:
    """Return the results that are rated, of those given in the order of the schedule.

    In a test these are the ones up to its decision. Games of disqualified bots are left out.
    """
    played, schedule = list(results), schedule_of(config)
    if isinstance(schedule, Duel):
        for result in played:
            schedule.add(result)
        last = schedule.last_round
        played = [result for result in played if last is None or result.fixture.round <= last]
    quarantine = Quarantine(config.policy)
    return [result for result in played if quarantine.admits(result)]


def _field(config: TournamentConfig) -> Field:
    return Field(
        bots=config.bots,
        seats=config.game.players,
        seed=config.seed,
        orders=config.orders,
        roster=config.roster,
    )


def _random_rounds(config: TournamentConfig) -> Schedule:
    return RandomRounds(_field(config), rounds=config.rounds)


def _round_robin(config: TournamentConfig) -> Schedule:
    return RoundRobin(_field(config), cycles=config.cycles)


def _swiss(config: TournamentConfig) -> Schedule:
    return Swiss(_field(config), rounds=config.rounds)


def _gauntlet(config: TournamentConfig) -> Schedule:
    return Gauntlet(_field(config), challengers=config.challengers, cycles=config.cycles)


def _adaptive(config: TournamentConfig) -> Schedule:
    field = _field(config)
    if config.rounds < 1:
        raise ConfigError(f"rounds: {config.rounds} is less than 1")
    return Adaptive(
        field,
        minimum=config.minimum,
        deals=config.rounds * field.tables,
        estimator=LiveEstimator(config.bots),
    )


def _sprt(config: TournamentConfig) -> Schedule:
    seats, bots = config.game.players, config.bots
    if len(bots) < len(("candidate", "base")):
        raise ConfigError("bots: a test needs two, the candidate first")
    duel = Duel(
        candidate=bots[0],
        base=bots[len(bots) // 2],
        seats=seats,
        seed=config.seed,
        sprt=config.sprt.test(games_per_block=len(seatings(seats))),
    )
    if duel.bots != bots:
        expected = [*copies("A", seats), *copies("B", seats)]
        raise ConfigError(
            f"bots: for a test of A against B at tables of {seats} they are {', '.join(expected)}"
        )
    return duel


SCHEDULES: Mapping[Format, Callable[[TournamentConfig], Schedule]] = {
    Format.RANDOM_ROUNDS: _random_rounds,
    Format.ROUND_ROBIN: _round_robin,
    Format.SWISS: _swiss,
    Format.GAUNTLET: _gauntlet,
    Format.ADAPTIVE: _adaptive,
    Format.SPRT: _sprt,
}

OPEN = frozenset({Format.RANDOM_ROUNDS, Format.ROUND_ROBIN, Format.SWISS})
"""The formats in which bots may join late and leave early."""

USES: Mapping[Format, frozenset[str]] = {
    Format.RANDOM_ROUNDS: frozenset({"rounds", "orders"}),
    Format.ROUND_ROBIN: frozenset({"cycles", "orders"}),
    Format.SWISS: frozenset({"rounds", "orders"}),
    Format.GAUNTLET: frozenset({"cycles", "orders", "challengers"}),
    Format.ADAPTIVE: frozenset({"rounds", "orders", "minimum"}),
    Format.SPRT: frozenset({"sprt"}),
}
"""Which numbers of a configuration each format reads."""
