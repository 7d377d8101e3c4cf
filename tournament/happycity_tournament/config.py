"""What a tournament consists of, and how that is written down."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Self

from happycity import Config, ConfigError, Mode, Scoring
from happycity.records import Json
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity_tournament.formats import Format, schedule_of
from happycity_tournament.ratings import MEAN_ELO
from happycity_tournament.schedule import Orders, Schedule, Stay
from happycity_tournament.sprt import EloScale, SprtTerms

DEFAULT_ROUNDS = 100
DEFAULT_MINIMUM = 20
"""Deals after which the differences are known well enough to choose by them."""
DEFAULT_CONCURRENCY = 128
"""Many, so that messages carry many games' decisions; a bot sets its own limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentConfig:
    """What a tournament consists of."""

    bots: tuple[str, ...]
    """All that ever take part, those that join late behind the others."""
    game: Config
    """The kind of game; its players are the seats at a table."""
    rounds: int = DEFAULT_ROUNDS
    """Rounds of random rounds, of a Swiss or of an adaptive tournament, which plays as many deals as random
    rounds would. The other formats don't read it."""
    seed: int
    format: Format = Format.RANDOM_ROUNDS
    """How its games are chosen."""
    cycles: int = 1
    """How often a round robin or a gauntlet is played, on different deals."""
    orders: Orders = Orders.ROTATIONS
    """In which orders each deal is played; a test has seatings of its own."""
    roster: tuple[Stay, ...] = ()
    """The bots that joined late or were withdrawn, with their rounds; all others play from first to last."""
    challengers: tuple[str, ...] = ()
    """In a gauntlet: the bots that the others are there to test."""
    minimum: int = DEFAULT_MINIMUM
    """In an adaptive tournament: deals that everybody plays before games go where the order is in doubt."""
    sprt: SprtTerms = field(default_factory=SprtTerms)
    """In a test: what is tested. The candidate is the first of the bots; see `schedule.Duel.bots`."""
    anchor: str | None = None
    """The bot whose final rating is given; None takes the mean of the bots."""
    anchor_elo: float = MEAN_ELO
    """The final rating of the anchor, or of the mean."""
    time: TimeControl = field(default_factory=TimeControl)
    """How long things may take; `connect_seconds` is how long the tournament waits for its bots."""
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    """What happens to a bot that fails."""
    concurrency: int = DEFAULT_CONCURRENCY
    """Games at once."""

    @property
    def games(self) -> int:
        """How many games there are in all; a test may end with fewer.

        Raises:
            ConfigError: no tournament can be made of the configuration.
        """
        return self.schedule().total_games

    @property
    def remaining(self) -> tuple[str, ...]:
        """The bots that have not been withdrawn."""
        withdrawn = {stay.bot for stay in self.roster if stay.last_round is not None}
        return tuple(bot for bot in self.bots if bot not in withdrawn)

    def schedule(self) -> Schedule:
        """Make the schedule, before its first game.

        Raises:
            ConfigError: no tournament can be made of the configuration.
        """
        return schedule_of(self)

    def check(self) -> None:
        """Refuse what no tournament can be made of.

        Raises:
            ConfigError: the number of bots, seats or rounds, a name, or what the format needs, makes no
                sense.
        """
        if self.anchor is not None and self.anchor not in self.bots:
            raise ConfigError(f"anchor: {self.anchor!r} is none of the bots")
        self.schedule()

    def json(self) -> Json:
        """Return the configuration as a JSON object."""
        return {
            "bots": list(self.bots),
            "players": self.game.players,
            "mode": self.game.mode.value,
            "scoring": self.game.scoring.value,
            "format": self.format.value,
            "rounds": self.rounds,
            "cycles": self.cycles,
            "orders": self.orders.value,
            "roster": [asdict(stay) for stay in self.roster],
            "challengers": list(self.challengers),
            "minimum": self.minimum,
            "sprt": {**asdict(self.sprt), "scale": self.sprt.scale.value},
            "anchor": self.anchor,
            "anchor_elo": self.anchor_elo,
            "seed": self.seed,
            "time": asdict(self.time),
            "policy": {**asdict(self.policy), "fallback": self.policy.fallback.value},
            "concurrency": self.concurrency,
        }

    @classmethod
    def of(cls, stored: Json) -> Self:
        """Read what `json` wrote, in this version or an earlier one.

        Raises:
            ConfigError: it is nothing that this version can read.
        """
        fields = dict(stored)
        try:
            return cls(
                bots=tuple(fields.pop("bots")),
                game=_game_of(fields),
                time=_time_of(fields),
                policy=_policy_of(fields),
                **_format_of(fields),
                **fields,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"the configuration of a tournament can't be read: {error!r}") from error


def _game_of(fields: Json) -> Config:
    """Take the kind of game out of a configuration's `fields`."""
    return Config(
        players=fields.pop("players"),
        mode=Mode(fields.pop("mode")),
        scoring=Scoring(fields.pop("scoring")),
    )


def _format_of(fields: Json) -> Json:
    """Take out of a configuration's `fields` what they tell of the format; before there were any, nothing."""
    read: Json = {}
    if "format" in fields:
        read["format"] = Format(fields.pop("format"))
    if "orders" in fields:
        read["orders"] = Orders(fields.pop("orders"))
    if "roster" in fields:
        read["roster"] = tuple(Stay(**stay) for stay in fields.pop("roster"))
    if "challengers" in fields:
        read["challengers"] = tuple(fields.pop("challengers"))
    if "sprt" in fields:
        terms = fields.pop("sprt")
        read["sprt"] = SprtTerms(**{**terms, "scale": EloScale(terms["scale"])})
    return read


def _time_of(fields: Json) -> TimeControl:
    """Take the time control out of a configuration's `fields`.

    Before there was one, two of its times stood by themselves, and a limit of 0 meant that there was none.
    """
    if "time" in fields:
        return TimeControl(**fields.pop("time"))
    connect, decision = fields.pop("connect_seconds"), fields.pop("decision_seconds")
    if not decision:
        return TimeControl(connect_seconds=connect, no_clock=True)
    return TimeControl(connect_seconds=connect, decision_seconds=decision)


def _policy_of(fields: Json) -> FailurePolicy:
    """Take the failure policy out of a configuration's `fields`.

    Before there was one, the number of strikes stood by itself.
    """
    if "policy" in fields:
        policy = fields.pop("policy")
        return FailurePolicy(**{**policy, "fallback": Fallback(policy["fallback"])})
    return FailurePolicy(max_strikes=fields.pop("max_strikes"))
