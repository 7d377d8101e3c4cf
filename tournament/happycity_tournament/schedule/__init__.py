"""Who plays whom, in which seat and on which deal: all of it fixed by the bots, the seats and one seed.

Every format is a `Schedule`: it says how many games there are and gives them in stages. A table plays one
deal in several orders of its bots, so that each of them holds each seat's cards and the luck of the cards
cancels (duplicate deals).
"""

# ruff: noqa: PLC0415 - a run waits for what its own format imports, such as numpy, and for no more

from __future__ import annotations

from typing import assert_never

from happycity.errors import FieldError
from happycity_tournament.config import (
    MAX_GAMES,
    Format,
    Gauntlet,
    RandomRounds,
    RoundRobin,
    SprtTest,
    Swiss,
    TournamentConfig,
)
from happycity_tournament.schedule.gauntlet import GauntletSchedule
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule
from happycity_tournament.schedule.round_robin import RoundRobinSchedule
from happycity_tournament.schedule.schedule import Field, Schedule, bot_seeds, game_seeds
from happycity_tournament.schedule.sequential import SprtSchedule

__all__ = ["Field", "Schedule", "SprtSchedule", "bot_seeds", "game_seeds", "schedule_of"]


def schedule_of(config: TournamentConfig) -> Schedule:
    """Make the schedule of a tournament, before its first game.

    It may take some tenths of a second for hundreds of bots. ConfigError if no tournament can be made of the
    configuration.
    """
    schedule = _schedule(config, config.format)
    if schedule.total_games > MAX_GAMES:
        raise FieldError("format", f"it has {schedule.total_games} games, more than {MAX_GAMES}")
    return schedule


def _schedule(config: TournamentConfig, chosen: Format) -> Schedule:
    if isinstance(chosen, SprtTest):
        return SprtSchedule(chosen, seats=config.game.players, seed=config.seed)
    field = Field(
        bots=config.bots, seats=config.game.players, seed=config.seed, seat_orders=chosen.seat_orders
    )
    match chosen:
        case RandomRounds():
            return _random_rounds(field, chosen, config)
        case RoundRobin():
            return RoundRobinSchedule(field, cycles=chosen.cycles)
        case Swiss():
            from happycity_tournament.schedule.swiss import SwissSchedule

            return SwissSchedule(field, rounds=chosen.rounds)
        case Gauntlet():
            return GauntletSchedule(field, challengers=chosen.challengers, cycles=chosen.cycles)
        case _:
            assert_never(chosen)


def _random_rounds(field: Field, chosen: RandomRounds, config: TournamentConfig) -> Schedule:
    if chosen.until_error is None:
        return RandomRoundsSchedule(field, rounds=chosen.rounds)
    from happycity_tournament.schedule.until_error import UntilErrorSchedule

    return UntilErrorSchedule(
        field, rounds=chosen.rounds, error=chosen.until_error, anchor=config.anchor, policy=config.policy
    )
