"""Bots that join a tournament after it has begun, and bots that leave it: from the first round not begun yet.

A change of the roster is a change of the stored configuration and of nothing else. The schedule follows from
that, and its rounds before stay as they are; so the tournament that is read from the store is the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from happycity import ConfigError, HappyCityError
from happycity.errors import suggestion
from happycity_tournament.config import (
    OPEN_FORMATS,
    Participation,
    RandomRounds,
    Swiss,
    TournamentConfig,
    TournamentState,
    check_bots,
)
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage import Store

Change = Callable[[TournamentConfig, int], TournamentConfig]
"""Makes the new configuration from the old one and the first round that hasn't begun."""


class RosterError(HappyCityError):
    """The bots of a tournament can't be changed."""


def joining(bots: Sequence[str]) -> Change:
    """Return the change that lets bots join; ConfigError if one is there already or malformed."""

    def change(config: TournamentConfig, first_round: int) -> TournamentConfig:
        check_bots(bots)
        for bot in bots:
            if bot not in config.bots:
                continue
            if bot not in config.remaining:
                raise ConfigError(f"bots: {bot!r} was withdrawn, and can't come back under that name")
            raise ConfigError(f"bots: {bot!r} takes part already")
        late = tuple(Participation(bot=bot, first_round=first_round) for bot in bots if first_round > 1)
        return replace(config, bots=(*config.bots, *bots), participations=(*config.participations, *late))

    return change


def leaving(bot: str) -> Change:
    """Return the change that withdraws a bot; ConfigError for one that doesn't take part."""

    def change(config: TournamentConfig, first_round: int) -> TournamentConfig:
        if bot not in config.remaining:
            hint = suggestion(bot[:80], config.remaining)
            problem = "was withdrawn already" if bot in config.bots else f"doesn't take part; {hint}"
            raise ConfigError(f"bot: {bot[:80]!r} {problem}")
        own = next((entry for entry in config.participations if entry.bot == bot), Participation(bot=bot))
        others = tuple(entry for entry in config.participations if entry.bot != bot)
        return replace(config, participations=(*others, replace(own, last_round=first_round - 1)))

    return change


def changed(config: TournamentConfig, change: Change, *, first_round: int) -> TournamentConfig:
    """Return the configuration after a change of the roster.

    Raises:
        RosterError: the format has fixed bots, or all rounds have begun.
        ConfigError: there is no such bot, it is there already, or no tournament can be made of the rest.
    """
    chosen = config.format
    if not isinstance(chosen, OPEN_FORMATS):
        kinds = ", ".join(sorted(kind().kind for kind in OPEN_FORMATS))
        raise RosterError(
            f"{chosen.kind} has the same bots from beginning to end; only {kinds} let bots join or leave"
        )
    if isinstance(chosen, RandomRounds | Swiss) and first_round > chosen.rounds:
        raise RosterError(
            f"the last of its {chosen.rounds} rounds has begun: nothing is left to join or to leave"
        )
    new = change(config, first_round)
    schedule_of(new)
    return new


def change_roster(store: Store, tournament_id: int, change: Change) -> None:
    """Change the roster of a stored tournament of which no game is being played.

    Raises:
        RosterError: it is over, or its bots can't be changed.
        ConfigError: the change is impossible.
        StoreError: there is no such tournament, or it can't be stored.
    """
    stored = store.require_tournament(tournament_id)
    if stored.state is TournamentState.FINISHED:
        raise RosterError(f"tournament {tournament_id} is finished")
    config = TournamentConfig.of(stored.config)
    new = changed(config, change, first_round=store.last_round(tournament_id) + 1)
    store.set_config(tournament_id, new.json(), games_total=schedule_of(new).total_games)
