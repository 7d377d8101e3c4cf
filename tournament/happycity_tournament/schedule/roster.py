"""Who takes part when: bots that join a tournament late, and bots that leave it before its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from happycity.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """The rounds in which a bot takes part, if those are not all rounds.

    Raises:
        ConfigError: there is no such stretch of rounds.
    """

    bot: str
    """The bot's name."""
    first_round: int = 1
    """From 1; later than that, the bot joined late."""
    last_round: int | None = None
    """None stays to the end. Else the bot was withdrawn; if its first round is later, it never played."""

    def __post_init__(self) -> None:
        """Refuse rounds that there can't be."""
        if self.first_round < 1:
            raise ConfigError(
                f"roster: {self.bot!r} joins in round {self.first_round}, and the first one is 1"
            )
        if self.last_round is not None and self.last_round < self.first_round - 1:
            raise ConfigError(
                f"roster: {self.bot!r} leaves after round {self.last_round}, but joins in {self.first_round}"
            )

    def covers(self, number: int) -> bool:
        """Tell whether the bot takes part in a round."""
        return self.first_round <= number and (self.last_round is None or number <= self.last_round)


def check_roster(bots: Sequence[str], roster: Sequence[Stay], *, seats: int) -> None:
    """Refuse a roster that doesn't fit the bots.

    Raises:
        ConfigError: a name makes no sense, bots are not in the order in which they joined, or there are too
            few of them at some time.
    """
    stays = {stay.bot: stay for stay in roster}
    for stay in roster:
        if stay.bot not in bots:
            raise ConfigError(f"roster: {stay.bot!r} is none of the bots")
        if stays[stay.bot] is not stay:
            raise ConfigError(f"roster: {stay.bot!r} is there more than once")
    joined = [stays[bot].first_round if bot in stays else 1 for bot in bots]
    if joined != sorted(joined):
        raise ConfigError("roster: bots that join later have to be listed later")
    for number in changes(roster):
        present = len(present_in(bots, roster, number))
        if present < seats:
            raise ConfigError(f"bots: {present} from round {number} on can't fill a table of {seats} seats")


def changes(roster: Sequence[Stay]) -> list[int]:
    """Return the rounds from which other bots take part than before, the first round among them."""
    left = {stay.last_round + 1 for stay in roster if stay.last_round is not None}
    return sorted({1, *(stay.first_round for stay in roster), *left})


def present_in(bots: Sequence[str], roster: Sequence[Stay], number: int) -> tuple[str, ...]:
    """Return those of `bots` that take part in a round, in their order."""
    absent = {stay.bot for stay in roster if not stay.covers(number)}
    return tuple(bot for bot in bots if bot not in absent)
