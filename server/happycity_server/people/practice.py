"""Practice matches: who may sit in them, and how many a bot may have."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from happycity import Config, Deal, FailurePolicy, TimeControl
from happycity.match import check_bot_name
from happycity.v1 import game_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import seconds_of
from happycity.wire.messages import config_of
from happycity_server.access.gate import RateLimits
from happycity_server.access.roles import Principal
from happycity_server.errors import ApiError, Reason, invalid, too_many, within
from happycity_server.play.lobby import Lobby
from happycity_tournament.games import practice_seed
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.schedule import bot_seeds

MAX_DECISION_SECONDS = 600.0
"""The longest time for a decision that may be asked for."""
VISITORS = 25
"""Visitors whose tables one address may have, as people of one house or school have the same."""


class Practice:
    """Admits practice matches: of connected bots, against the house or themselves, within a quota."""

    def __init__(
        self,
        lobby: Lobby,
        *,
        open_per_bot: int,
        per_hour: int,
        guests_per_hour: int,
        clock: Callable[[], float],
    ) -> None:
        self._lobby = lobby
        self._open_per_bot = open_per_bot
        self._rates = RateLimits(
            rate=per_hour / 3600, burst=per_hour, clock=clock, quota=f"{per_hour} practice matches an hour"
        )
        self._guest_rates = RateLimits(
            rate=guests_per_hour / 3600,
            burst=guests_per_hour,
            clock=clock,
            quota=f"{guests_per_hour} games an hour of visitors of your address",
        )

    def spec(self, caller: Principal, request: pb.CreatePracticeMatchRequest) -> MatchSpec:
        """Return what is to be played, and charge the caller's bot for it.

        Raises:
            ApiError: another's bot is to play, a bot is not connected, or the quota is used up.
            ConfigError: the kind of game can't be played.
        """
        config, bots = seats_of(request.config, request.bots)
        own = self._practising(caller, bots)
        missing = self._lobby.not_connected(dict.fromkeys(bots))
        if missing:
            text = f"not connected: {', '.join(missing)}"
            raise ApiError(Reason.BOTS_MISSING, text, bots=",".join(missing))
        is_open = (match.spec.practice and own in match.spec.bots for match in self._lobby.matches.values())
        self._charge(own, is_open=sum(is_open), what=f"practice matches of {own!r}")
        seed = request.seed if request.HasField("seed") else secrets.randbits(53)
        return practice_match(config, bots, seed=seed, time=_time(request))

    def _practising(self, caller: Principal, bots: Sequence[str]) -> str:
        """Return the caller's bot; refuse seats for bots of others."""
        house = self._lobby.house
        guests = [bot for bot in bots if bot not in house]
        own = caller.own_bot or next(iter(guests), "")
        if not own or own not in bots:
            text = f"{own!r} must play" if own else "one of them must be no bot of the house"
            raise invalid("bots", text)
        for bot in guests:
            if bot != own:
                known = ", ".join(sorted(house)) or "none"
                raise ApiError(
                    Reason.NOT_HOUSE_BOT,
                    f"{bot!r} is neither {own!r} nor a bot of the house; there are: {known}",
                    bot=bot,
                    house=",".join(sorted(house)),
                )
        return own

    def charge_table(
        self, visitor: str, address: str, *, own: int, of_address: int, is_guest: bool = False
    ) -> None:
        """Count a table that a person sets up; refuse one too many of the visitor, or of all at an address.

        `own` of the visitor's tables are open, and `of_address` of all that were set up from there. A guest
        has no token.
        """
        most = VISITORS * self._open_per_bot
        if of_address >= most:
            raise too_many(most, "tables of your address", advice="try again when one is over")
        self._rates.take(f"tables of {address}", 1 / VISITORS)
        self._charge(f"table of {visitor}", is_open=own, what="tables of yours")
        if is_guest:
            self._guest_rates.take(address)

    def _charge(self, key: str, *, is_open: int, what: str) -> None:
        """Count a match; refuse one too many."""
        if is_open >= self._open_per_bot:
            advice = "try again when one is over"
            raise too_many(self._open_per_bot, what, advice=advice)
        self._rates.take(key)


def _time(request: pb.CreatePracticeMatchRequest) -> TimeControl:
    """Return the clocks that a request asks for; ApiError if the time of a decision is not allowed."""
    if not request.HasField("decision_time"):
        return TimeControl()
    seconds = seconds_of(request.decision_time)
    if not 0 < seconds <= MAX_DECISION_SECONDS:
        text = f"{seconds:g} seconds is not above 0 and at most {MAX_DECISION_SECONDS:g}"
        raise invalid("decision_time", text)
    return TimeControl(decision_seconds=seconds)


def practice_match(config: Config, bots: tuple[str, ...], *, seed: int, time: TimeControl) -> MatchSpec:
    """Return a match that counts for nobody; practice has deals of its own."""
    seed, policy = practice_seed(seed), FailurePolicy()
    return single_match("practice", config, bots, seed=seed, time=time, policy=policy)


def single_match(
    kind: str, config: Config, bots: tuple[str, ...], *, seed: int, time: TimeControl, policy: FailurePolicy
) -> MatchSpec:
    """Return a match outside all schedules; its kind is part of the bots' seeds."""
    seeds = bot_seeds(f"{kind} {seed}", bots=bots)
    deal = Deal.shuffle(config, seed=seed)
    return MatchSpec(deal=deal, bots=bots, bot_seeds=seeds, time=time, policy=policy)


def seats_of(config: game_pb2.GameConfig, bots: Sequence[str]) -> tuple[Config, tuple[str, ...]]:
    """Read a match's kind of game and its bots by seat.

    Raises:
        ApiError: there are not as many bots as players.
        ConfigError: the kind of game can't be played, or a name can't be a bot's.
    """
    with within("config"):
        read = config_of(config)
    if len(bots) != read.players:
        raise invalid("bots", f"{len(bots)} for {read.players} seats")
    with within("bots"):
        return read, tuple(map(check_bot_name, bots))
