"""Bots that join a tournament after it has begun, and bots that leave it: from the first round not begun yet.

A change of the roster is a change of the stored configuration and of nothing else. The schedule follows from
that, and its rounds before stay as they are; so whoever reads the store sees the same tournament.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from happycity import ConfigError, HappyCityError
from happycity.terms import BOT_NAME
from happycity_tournament.config import TournamentConfig
from happycity_tournament.formats import OPEN, USES
from happycity_tournament.schedule import Stay
from happycity_tournament.status import TournamentState
from happycity_tournament.store import Store, StoreError

Change = Callable[[TournamentConfig, int], TournamentConfig]
"""Makes the new configuration from the old one and the first round that hasn't begun."""


class RosterError(HappyCityError):
    """The bots of a tournament can't be changed, or not any more."""


def joining(bots: Sequence[str]) -> Change:
    """Return the change that lets bots join.

    It raises ConfigError for a name that is in already, or that no bot can have.
    """

    def change(config: TournamentConfig, first_round: int) -> TournamentConfig:
        for bot in bots:
            if not BOT_NAME.fullmatch(bot):
                raise ConfigError(f"bots: {bot[:80]!r} is no bot's name")
            if bot not in config.bots:
                continue
            if bot not in config.remaining:
                raise ConfigError(f"bots: {bot!r} was withdrawn, and can't come back under that name")
            raise ConfigError(f"bots: {bot!r} takes part already")
        stays = tuple(Stay(bot=bot, first_round=first_round) for bot in bots if first_round > 1)
        return replace(config, bots=(*config.bots, *bots), roster=(*config.roster, *stays))

    return change


def leaving(bot: str) -> Change:
    """Return the change that withdraws a bot.

    It raises ConfigError for a name that isn't in.
    """

    def change(config: TournamentConfig, first_round: int) -> TournamentConfig:
        if bot not in config.remaining:
            known = "was withdrawn already" if bot in config.bots else "doesn't take part"
            raise ConfigError(f"bot: {bot!r} {known}")
        stay = next((stay for stay in config.roster if stay.bot == bot), Stay(bot=bot))
        others = tuple(other for other in config.roster if other.bot != bot)
        return replace(config, roster=(*others, replace(stay, last_round=first_round - 1)))

    return change


def changed(config: TournamentConfig, change: Change, *, first_round: int) -> TournamentConfig:
    """Return the configuration after a change of the roster.

    Raises:
        RosterError: the format has fixed bots, or all rounds have begun.
        ConfigError: there is no such bot, it is there already, or no tournament can be made of the rest.
    """
    if config.format not in OPEN:
        raise RosterError(
            f"{config.format.value} has the same bots from beginning to end; "
            f"only {', '.join(sorted(kind.value for kind in OPEN))} let bots join or leave"
        )
    if "rounds" in USES[config.format] and first_round > config.rounds:
        raise RosterError(
            f"the last of its {config.rounds} rounds has begun: nothing is left to join or to leave"
        )
    new = change(config, first_round)
    new.check()
    return new


def change_roster(store: Store, tournament_id: int, change: Change) -> None:
    """Change the roster of a stored tournament of which no game is being played.

    Raises:
        RosterError: it is over, or its bots can't be changed.
        ConfigError: the change makes no sense.
        StoreError: there is no such tournament, or it can't be stored.
    """
    stored = store.tournament(tournament_id)
    if stored is None:
        raise StoreError(store.url, f"knows no tournament {tournament_id}")
    if stored.state == TournamentState.FINISHED.value:
        raise RosterError(f"tournament {tournament_id} is finished")
    config = TournamentConfig.of(stored.config)
    new = changed(config, change, first_round=store.last_round(tournament_id) + 1)
    store.set_config(tournament_id, new.json())
