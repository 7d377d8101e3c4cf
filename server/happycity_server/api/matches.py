"""MatchService: single matches, and a look at any match."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import structlog

from happycity import Ending, SeatResult, VoidReason
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.enums import enum_number
from happycity.wire.fields import to_message
from happycity.wire.match import failure_policy_of, outcome_message, seconds_of, time_control_of
from happycity.wire.messages import config_message
from happycity.wire.moments import timestamp
from happycity_server.access.roles import READERS, WATCHERS, Principal, PublicRole
from happycity_server.api.paging import ListRequest
from happycity_server.broadcast import Broadcast
from happycity_server.errors import ApiError, Reason, invalid, too_many, within
from happycity_server.people.practice import Practice, seats_of, single_match
from happycity_server.places.deals import DealsInPlay
from happycity_server.places.places import Places, finished_game
from happycity_server.places.watch import WatchedMatch, Watches, responses
from happycity_server.play.match import MatchState, OpenMatch
from happycity_tournament.games import FinishedGame, is_practice
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.visibility import Play, Sight, sight_of_finished_match, sight_of_open_match

MAX_WAIT_SECONDS = 30.0
"""The longest time that a call waits for the end of a match: less than proxies wait for an answer."""
REPLAY_CALLS = 10
"""What showing a finished game costs that is not kept from the last time, in calls."""

_log = structlog.get_logger()


@dataclass(eq=False, repr=False)
class MatchService:
    """Decodes, asks lobby and store, encodes."""

    places: Places
    store: AsyncStore
    deals: DealsInPlay
    practice: Practice
    charge: Callable[[Principal, float], None]
    """Counts calls of a caller, or refuses them."""
    stream: Callable[[Principal], AbstractAsyncContextManager[None]]
    """Counts a stream of a caller while the context lasts, or refuses it; ends the context with the token."""
    most_open: int
    """Single matches that may wait or run at once, practice not counted."""
    _watches: Watches = field(default_factory=Watches, init=False)

    async def CreateMatch(self, caller: Principal, request: pb.CreateMatchRequest) -> pb.Match:
        """Set up a match and begin it once its bots are there."""
        return _open_match(caller, self.places.begin(self._single(request)))

    async def CreatePracticeMatch(
        self, caller: Principal, request: pb.CreatePracticeMatchRequest
    ) -> pb.Match:
        """Set up an unrated match of the caller's bot."""
        return _open_match(caller, self.places.begin(self.practice.spec(caller, request)))

    async def GetMatch(self, caller: Principal, request: pb.GetMatchRequest) -> pb.Match:
        """Return a running or stored match; one that is open as it is after the caller's wait."""
        open_match, seconds = self.places.match(request.match_id), seconds_of(request.wait)
        if seconds < 0:
            raise invalid("wait", f"{seconds:g} s is less than 0")
        if open_match is not None and seconds:
            await self._wait(caller, open_match, min(seconds, MAX_WAIT_SECONDS))
            if open_match.void_reason is not None:
                return _open_match(caller, open_match)
        match = await self._find(caller, request.match_id)
        if match is None and open_match is not None and open_match.closed.is_set():
            text = f"match {request.match_id} is over, but can't be stored; the server's log says why"
            raise ApiError(Reason.STORE_UNAVAILABLE, text)
        if match is None:
            raise _unknown(request.match_id)
        return match

    async def ListMatches(self, caller: Principal, request: pb.ListMatchesRequest) -> pb.ListMatchesResponse:
        """List running and stored matches."""
        page = ListRequest(request)
        before, bot, tournament_id = page.before_id, page.bot(), page.number("tournament_id")
        state, ending = page.member("state", MatchState), page.member("ending", Ending)
        # A match may be stored and not yet removed from the open ones; the seats of none have ended yet.
        newest_open = (
            match
            for match in (() if ending else self.places.newest_matches())
            if (before is None or match.match_id < before)
            and tournament_id in (None, match.spec.tournament_id or None)
            and (bot is None or bot in match.bots)
            and state in (None, _state_of(match.started_at, match.void_reason))
        )
        by_id = {match.match_id: _shown(caller, match) for match in islice(newest_open, page.limit)}
        rest = 0
        if state in (None, MatchState.FINISHED):
            store, read = self.store.store, self.store.read
            if bot or ending:
                rest = await read(store.searched_to, before, tournament_id)
            stored = await read(
                store.games,
                page.limit,
                before,
                tournament_id=tournament_id,
                bot=bot,
                ending=ending,
                down_to=rest,
            )
            by_id.update(await self._finished(caller, stored))
        matches, token = page.newest(by_id, rest=rest)
        return pb.ListMatchesResponse(matches=filter(None, matches), next_page_token=token)

    async def WatchMatch(self, caller: Principal, request: pb.WatchMatchRequest) -> AsyncIterator[bytes]:
        """Show a match as far as it is, then follow it; messages are encoded once for all who watch."""
        _, watched = await self.watch(caller, request.match_id)
        async for response in responses(watched, skip=request.from_decision):
            yield response

    async def watch(self, caller: Principal, match_id: int) -> tuple[pb.Match, Broadcast[WatchedMatch]]:
        """Return a match, and what all who watch it share.

        ApiError if there is no such match, the caller may not see it yet, or asks for too many replays.
        """
        caller.require(READERS)
        match = self.places.match(match_id)
        if match is not None:
            _check_watching(caller, match)
            return _open_match(caller, match), self._watches.live(match)
        game, deal_id = await self._shown_whole(caller, match_id)
        if not self._watches.keeps(match_id):
            self.charge(caller, REPLAY_CALLS)
        watched = await self._watches.finished(game, partial(self._record, match_id))
        return _finished_match(game, deal_id, Sight.ALL), watched

    async def GetMatchRecord(self, caller: Principal, request: pb.GetMatchRecordRequest) -> pb.MatchRecord:
        """Return the record of a stored match."""
        match = self.places.match(request.match_id)
        if match is not None and match.state is MatchState.FINISHED:
            await match.closed.wait()  # it is being stored
        elif match is not None:
            text = f"match {request.match_id} is not over, so its deal is still secret"
            raise ApiError(Reason.MATCH_RUNNING, text)
        await self._shown_whole(caller, request.match_id)
        return pb.MatchRecord(json=await self._record(request.match_id))

    async def _wait(self, caller: Principal, match: OpenMatch, seconds: float) -> None:
        """Wait until a match is over and stored, or voided, or time has passed; it takes a stream's place."""
        _check_watching(caller, match)
        async with self.stream(caller):
            with suppress(TimeoutError):
                await asyncio.wait_for(match.closed.wait(), seconds)

    def _single(self, request: pb.CreateMatchRequest) -> MatchSpec:
        """Read what is to be played; refuse one match too many."""
        specs = [match.spec for match in self.places.lobby.matches.values()]
        single = [one for one in specs if not (one.tournament_id or one.ladder_deal_id or one.practice)]
        if len(single) >= self.most_open:
            raise too_many(self.most_open, "matches", advice="try again when one is over")
        config, bots = seats_of(request.config, request.bots)
        with within("time_control"):
            time = time_control_of(request.time_control)
        with within("failure_policy"):
            policy = failure_policy_of(request.failure_policy)
        seed = request.seed if request.HasField("seed") else secrets.randbits(53)
        if is_practice(seed):
            raise invalid("seed", f"{seed} is a practice match's; take one below 2^63")
        spec = single_match("single", config, bots, seed=seed, time=time, policy=policy)
        return replace(spec, own_deal=not request.HasField("seed"))

    async def _find(self, caller: Principal, match_id: int) -> pb.Match | None:
        """Return a match that is open or stored, and that the caller may see."""
        match = self.places.match(match_id)
        if match is not None:
            return _shown(caller, match)
        game = await self.store.read(self.store.store.game, match_id)
        return None if game is None else (await self._finished(caller, [game]))[match_id]

    async def _finished(self, caller: Principal, games: Sequence[FinishedGame]) -> dict[int, pb.Match | None]:
        """Write stored matches, each as far as the caller may see it; None: not for the caller."""
        deals = await self.deals.of_games(games)
        matches = dict[int, pb.Match | None]()
        for game in games:
            play, ladder_deal = deals[game.match_id]
            sight = _sight_of_game(caller, game, play)
            is_seen = sight is not Sight.NOTHING
            matches[game.match_id] = _finished_match(game, ladder_deal, sight) if is_seen else None
        return matches

    async def _shown_whole(self, caller: Principal, match_id: int) -> tuple[FinishedGame, int | None]:
        """Return a finished match of which the caller may see all, and its deal in the ladder."""
        game = await self.store.read(self.store.store.game, match_id)
        if game is None:
            raise _unknown(match_id)
        play, ladder_deal = (await self.deals.of_games([game]))[match_id]
        if _sight_of_game(caller, game, play) is Sight.ALL:
            return game, ladder_deal
        if play is not Play.ENDED:
            where = f" of tournament {game.tournament_id}" if game.tournament_id else ""
            text = f"match {match_id} shares its deal with games{where} that are not over, or may be resumed"
            raise ApiError(Reason.MATCH_RUNNING, text)
        caller.require(WATCHERS)  # what else is hidden from others: practice
        raise _unknown(match_id)

    async def _record(self, match_id: int) -> str:
        """Return the record of a stored match."""
        record = await self.store.read(self.store.store.record, match_id)
        if record is None:
            raise _unknown(match_id)
        return record


def _sight_of_game(caller: Principal, game: FinishedGame, play: Play) -> Sight:
    """Return what the caller sees of a finished match."""
    is_own = caller.own_bot in game.bots
    return sight_of_finished_match(caller.viewer, play, practice=game.practice, own=is_own)


def _sight(caller: Principal, match: OpenMatch) -> Sight:
    """Return what the caller sees of a match that is not over."""
    return sight_of_open_match(
        caller.viewer,
        practice=match.spec.practice,
        own=caller.own_bot in match.bots,
        shown=match.spec.own_deal and PublicRole.PUBLIC in caller.roles,
    )


def _check_watching(caller: Principal, match: OpenMatch) -> None:
    """Refuse a caller that may not watch a match while it runs."""
    if _sight(caller, match) is not Sight.ALL:
        caller.require(WATCHERS)


def _shown(caller: Principal, match: OpenMatch) -> pb.Match | None:
    """Write a match that is not over, if the caller may see that there is one."""
    return None if _sight(caller, match) is Sight.NOTHING else _open_match(caller, match)


def _state_of(started_at: float | None, outcome: Sequence[SeatResult] | VoidReason | None) -> MatchState:
    """Return where a match stands for those who ask: it runs until it is stored, as nothing counts before."""
    if outcome is not None:
        return MatchState.VOIDED if isinstance(outcome, VoidReason) else MatchState.FINISHED
    return MatchState.WAITING if started_at is None else MatchState.RUNNING


def _unknown(match_id: int) -> ApiError:
    return ApiError(Reason.UNKNOWN_MATCH, f"there is no match {match_id}, running or stored")


def _open_match(caller: Principal, match: OpenMatch) -> pb.Match:
    """Write a match that waits or runs, or was voided a moment ago."""
    return _written(
        finished_game(match),
        _sight(caller, match),
        match.void_reason,
        decisions=match.decisions,
        ladder_deal_id=match.spec.ladder_deal_id or None,
    )


def _finished_match(game: FinishedGame, ladder_deal: int | None, sight: Sight) -> pb.Match:
    """Write a stored match, with its place in a schedule where all of it is seen."""
    deal = None
    if sight is Sight.ALL and game.position is not None:
        number, table, rotation = game.position
        deal = pb.ScheduledDeal(seed=game.deal_seed, round=number, table=table, rotation=rotation)
    return _written(
        game,
        sight,
        game.seats,
        decisions=game.decisions,
        ladder_deal_id=ladder_deal,
        deal=deal,
        finish_time=timestamp(game.finished_at),
    )


def _written(
    game: FinishedGame, sight: Sight, outcome: Sequence[SeatResult] | VoidReason | None, **own: Any
) -> pb.Match:
    """Write a match, stored or not, with fields of its `own`."""
    return to_message(
        pb.Match,
        game,
        *("match_id", "bots", "tournament_id", "practice"),
        config=config_message(game.config),
        state=enum_number(match_pb2.MatchState, _state_of(game.started_at, outcome)),
        outcome=None if outcome is None else outcome_message(outcome),
        watchable=sight is Sight.ALL,
        create_time=timestamp(game.created_at),
        start_time=timestamp(game.started_at),
        **own,
    )
