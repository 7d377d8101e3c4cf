"""MatchService: single matches, and a look at any match."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import structlog

from happycity import Ending
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceServicer
from happycity.wire.match import (
    ending_number,
    failure_policy_of,
    result_message,
    time_control_of,
    void_reason_number,
)
from happycity.wire.messages import config_message
from happycity_server.access.roles import READERS, WATCHERS, PublicRole, principal, require, viewer
from happycity_server.api.paging import ListQuery, entry_of, message_of, timestamp_or_none
from happycity_server.broadcast import Broadcast
from happycity_server.errors import ApiError, Reason, invalid, too_many, within
from happycity_server.people.practice import Practice, seats_of, single_match
from happycity_server.places.deals import DealsInPlay
from happycity_server.places.places import Places
from happycity_server.places.watch import WatchedMatch, Watches, responses
from happycity_server.play.match import MatchSpec, MatchState, OpenMatch
from happycity_tournament.games import FinishedGame, is_practice
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.visibility import Play, Sight, sight_of_finished_match, sight_of_open_match
from happycity_tournament.wire import timestamp

REPLAY_CALLS = 10
"""What showing a finished game costs that is not kept from the last time, in calls."""

_STATES = {
    MatchState.WAITING: match_pb2.MATCH_STATE_WAITING,
    MatchState.RUNNING: match_pb2.MATCH_STATE_RUNNING,
    MatchState.FINISHED: match_pb2.MATCH_STATE_RUNNING,  # until it is stored, as nothing counts before
    MatchState.VOIDED: match_pb2.MATCH_STATE_VOIDED,
}
_STATE_NUMBERS = {number: number for number in match_pb2.MatchState.values()[1:]}
_ENDINGS = {ending: ending_number(ending) for ending in Ending if ending is not Ending.OTHER}

_log = structlog.get_logger()


class MatchService(MatchServiceServicer):
    """Decodes, asks lobby and store, encodes."""

    def __init__(
        self,
        places: Places,
        store: AsyncStore,
        deals: DealsInPlay,
        practice: Practice,
        *,
        charge: Callable[[float], None],
        most_open: int,
    ) -> None:
        """Serve the matches of `places` and `store`; `charge` counts calls of the caller, or refuses them.

        At most `most_open` single matches, practice not counted, wait or run at once.
        """
        self._charge = charge
        self._most_open = most_open
        self._places = places
        self._store = store
        self._deals = deals
        self._practice = practice
        self._watches = Watches()

    async def CreateMatch(self, request: pb.CreateMatchRequest, context: object) -> pb.Match:
        """Set up a match and begin it once its bots are there."""
        return _open_match(self._places.begin(self._single(request)))

    async def CreatePracticeMatch(self, request: pb.CreatePracticeMatchRequest, context: object) -> pb.Match:
        """Set up an unrated match of the caller's bot."""
        return _open_match(self._places.begin(self._practice.spec(request)))

    async def GetMatch(self, request: pb.GetMatchRequest, context: object) -> pb.Match:
        """Return a running or stored match."""
        match = await self._find(request.match_id)
        if match is None:
            raise _unknown(request.match_id)
        return match

    async def WaitMatch(self, request: pb.WaitMatchRequest, context: object) -> pb.Match:
        """Return a match once it is over and stored, or voided."""
        match = self._places.match(request.match_id)
        if match is None:
            return await self.GetMatch(pb.GetMatchRequest(match_id=request.match_id), context)
        _check_watching(match)
        await match.closed.wait()
        if match.void_reason is not None:
            return _open_match(match)
        stored = await self._find(request.match_id)
        if stored is None:
            text = f"match {request.match_id} is over, but can't be stored; the server's log says why"
            raise ApiError(Reason.STORE_UNAVAILABLE, text)
        return stored

    async def ListMatches(self, request: pb.ListMatchesRequest, context: object) -> pb.ListMatchesResponse:
        """List running and stored matches."""
        query = ListQuery(
            request,
            state=lambda number: entry_of(_STATE_NUMBERS, number, "state"),
            ending=lambda number: entry_of(_ENDINGS, number, "ending"),
        )
        before, filters = query.before_id, query.filters
        # A match may be stored and not yet removed from the open ones.
        newest_open = (
            match
            for match in self._places.newest_matches()
            if (before is None or match.match_id < before) and _admits(filters, match)
        )
        by_id = {match.match_id: _shown(match) for match in islice(newest_open, query.limit)}
        rest = 0
        if filters.get("state") in (None, match_pb2.MATCH_STATE_FINISHED):
            filters = {name: value for name, value in filters.items() if name != "state"}
            store, read = self._store.store, self._store.read
            if filters.keys() & {"bot", "ending"}:
                rest = await read(store.searched_to, before, filters.get("tournament_id"))
            stored = await read(store.games, query.limit, before, down_to=rest, **filters)
            by_id.update(await self._finished(stored))
        matches, token = query.cut(by_id, rest=rest)
        return pb.ListMatchesResponse(matches=filter(None, matches), next_page_token=token)

    async def WatchMatch(  # type: ignore[override]  # it yields messages that are encoded already
        self, request: pb.WatchMatchRequest, context: object
    ) -> AsyncIterator[bytes]:
        """Show a match as far as it is, then follow it."""
        _, watched = await self.watch(request.match_id)
        async for response in responses(watched, skip=request.from_decision):
            yield response

    async def watch(self, match_id: int) -> tuple[pb.Match, Broadcast[WatchedMatch]]:
        """Return a match, and what all who watch it share.

        Raises:
            ApiError: there is no such match, the caller may not see it yet, or asks for too many replays.
        """
        require(READERS)
        match = self._places.match(match_id)
        if match is not None:
            _check_watching(match)
            return _open_match(match), self._watches.live(match)
        game, deal_id = await self._shown_whole(match_id)
        if not self._watches.keeps(match_id):
            self._charge(REPLAY_CALLS)
        watched = await self._watches.finished(game, partial(self._record, match_id))
        return _finished_match(game, deal_id, Sight.ALL), watched

    async def GetMatchRecord(self, request: pb.GetMatchRecordRequest, context: object) -> pb.MatchRecord:
        """Return the record of a stored match."""
        match = self._places.match(request.match_id)
        if match is not None and match.state is MatchState.FINISHED:
            await match.closed.wait()  # it is being stored
        elif match is not None:
            text = f"match {request.match_id} is not over, so its deal is still secret"
            raise ApiError(Reason.MATCH_RUNNING, text)
        await self._shown_whole(request.match_id)
        return pb.MatchRecord(json=await self._record(request.match_id))

    def _single(self, request: pb.CreateMatchRequest) -> MatchSpec:
        """Read what is to be played; refuse one match too many."""
        specs = [match.spec for match in self._places.lobby.matches.values()]
        single = [one for one in specs if not (one.tournament_id or one.ladder_deal_id or one.practice)]
        if len(single) >= self._most_open:
            raise too_many(self._most_open, "matches", advice="try again when one is over")
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

    async def _find(self, match_id: int) -> pb.Match | None:
        """Return a match that is open or stored, and that the caller may see."""
        match = self._places.match(match_id)
        if match is not None:
            return _shown(match)
        game = await self._store.read(self._store.store.game, match_id)
        return None if game is None else (await self._finished([game]))[match_id]

    async def _finished(self, games: Sequence[FinishedGame]) -> dict[int, pb.Match | None]:
        """Write stored matches, each as far as the caller may see it; None: not for the caller."""
        deals = await self._deals.of_games(games)
        matches = dict[int, pb.Match | None]()
        for game in games:
            play, ladder_deal = deals[game.match_id]
            sight = _sight_of_game(game, play)
            is_seen = sight is not Sight.NOTHING
            matches[game.match_id] = _finished_match(game, ladder_deal, sight) if is_seen else None
        return matches

    async def _shown_whole(self, match_id: int) -> tuple[FinishedGame, int | None]:
        """Return a finished match of which the caller may see all, and its deal in the ladder."""
        game = await self._store.read(self._store.store.game, match_id)
        if game is None:
            raise _unknown(match_id)
        play, ladder_deal = (await self._deals.of_games([game]))[match_id]
        if _sight_of_game(game, play) is Sight.ALL:
            return game, ladder_deal
        if play is not Play.ENDED:
            where = f" of tournament {game.tournament_id}" if game.tournament_id else ""
            text = f"match {match_id} shares its deal with games{where} that are not over, or may be resumed"
            raise ApiError(Reason.MATCH_RUNNING, text)
        require(WATCHERS)  # what else is hidden from others: practice
        raise _unknown(match_id)

    async def _record(self, match_id: int) -> str:
        """Return the record of a stored match."""
        record = await self._store.read(self._store.store.record, match_id)
        if record is None:
            raise _unknown(match_id)
        return record


def _sight_of_game(game: FinishedGame, play: Play) -> Sight:
    """Return what the caller sees of a finished match."""
    return sight_of_finished_match(viewer(), play, practice=game.practice, own=_is_own(game.bots))


def _sight(match: OpenMatch) -> Sight:
    """Return what the caller sees of a match that is not over."""
    return sight_of_open_match(
        viewer(),
        practice=match.spec.practice,
        own=_is_own(match.bots),
        shown=match.spec.own_deal and PublicRole.PUBLIC in principal().roles,
    )


def _check_watching(match: OpenMatch) -> None:
    """Refuse a caller that may not watch a match while it runs."""
    if _sight(match) is not Sight.ALL:
        require(WATCHERS)


def _shown(match: OpenMatch) -> pb.Match | None:
    """Write a match that is not over, if the caller may see that there is one."""
    return None if _sight(match) is Sight.NOTHING else _open_match(match)


def _admits(filters: Mapping[str, Any], match: OpenMatch) -> bool:
    """Return whether a match that isn't stored belongs to a list; its seats have not ended yet."""
    return (
        "ending" not in filters
        and filters.get("tournament_id") in (None, match.spec.tournament_id or None)
        and ("bot" not in filters or filters["bot"] in match.bots)
        and filters.get("state") in (None, _STATES[match.state])
    )


def _is_own(bots: Sequence[str]) -> bool:
    """Return whether the caller is one of the bots, by its token."""
    return principal().own_bot in bots


def _unknown(match_id: int) -> ApiError:
    return ApiError(Reason.UNKNOWN_MATCH, f"there is no match {match_id}, running or stored")


def _open_match(match: OpenMatch) -> pb.Match:
    """Write a match that waits or runs, or was voided a moment ago."""
    void_reason = None if match.void_reason is None else void_reason_number(match.void_reason)
    return message_of(
        pb.Match,
        match,
        config=config_message(match.spec.deal.config),
        state=_STATES[match.state],
        void_reason=void_reason,
        tournament_id=match.spec.tournament_id or None,
        ladder_deal_id=match.spec.ladder_deal_id or None,
        practice=match.spec.practice,
        watchable=_sight(match) is Sight.ALL,
        create_time=timestamp(match.created_at),
        start_time=timestamp_or_none(match.started_at),
    )


def _finished_match(game: FinishedGame, ladder_deal: int | None, sight: Sight) -> pb.Match:
    """Write a stored match, with its place in a schedule where all of it is seen."""
    deal = None
    if sight is Sight.ALL and game.position is not None:
        number, table, rotation = game.position
        deal = pb.ScheduledDeal(seed=game.deal_seed, round=number, table=table, rotation=rotation)
    return message_of(
        pb.Match,
        game,
        config=config_message(game.config),
        state=match_pb2.MATCH_STATE_FINISHED,
        result=result_message(game.seats),
        ladder_deal_id=ladder_deal,
        deal=deal,
        watchable=sight is Sight.ALL,
        create_time=timestamp_or_none(game.created_at),
        start_time=timestamp_or_none(game.started_at),
        finish_time=timestamp_or_none(game.finished_at),
    )
