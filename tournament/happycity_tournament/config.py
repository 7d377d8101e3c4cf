"""What a tournament consists of, and how that is written down."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Self

from happycity import Config, ConfigError, Mode, Scoring
from happycity.records import Json
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity_tournament.schedule import total_games

DEFAULT_CONCURRENCY = 128
"""Many, so that messages carry many games' decisions; a bot sets its own limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentConfig:
    """What a tournament consists of."""

    bots: tuple[str, ...]
    game: Config
    """The kind of game; its players are the seats at a table."""
    rounds: int
    seed: int
    time: TimeControl = field(default_factory=TimeControl)
    """How long things may take; `connect_seconds` is how long the tournament waits for its bots."""
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    """What happens to a bot that fails."""
    concurrency: int = DEFAULT_CONCURRENCY
    """Games at once."""

    @property
    def games(self) -> int:
        """How many games there are in all."""
        return total_games(bots=self.bots, seats=self.game.players, rounds=self.rounds)

    def check(self) -> None:
        """Refuse what no tournament can be made of.

        Raises:
            ConfigError: the number of bots, seats or rounds, or a name, makes no sense.
        """
        total_games(bots=self.bots, seats=self.game.players, rounds=self.rounds)

    def json(self) -> Json:
        """Return the configuration as a JSON object."""
        return {
            "bots": list(self.bots),
            "players": self.game.players,
            "mode": self.game.mode.value,
            "scoring": self.game.scoring.value,
            "rounds": self.rounds,
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
