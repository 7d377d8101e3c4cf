"""LadderService: shows the ladder, and takes what authors ask of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from happycity.errors import FieldError
from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.ladder.v1beta1.ladder_service_pb2_grpc import LadderServiceServicer
from happycity.match import check_bot_spelling, one_line
from happycity.runtime.tokens import check_owner
from happycity.tournament.v1beta1 import rating_pb2
from happycity.wire.match import (
    bot_info_message,
    duration_message,
    failure_policy_message,
    time_control_message,
)
from happycity.wire.messages import config_message
from happycity_ladder.entries import (
    ActionKind,
    Challenge,
    ChallengeState,
    DealKind,
    DealState,
    LadderDeal,
    ModerationAction,
    Rating,
    Season,
    Version,
)
from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.leaderboard import LeaderboardLine, is_provisional
from happycity_server.access.roles import check_name, principal, request_key, viewer
from happycity_server.access.token_file import TokenFile, rename_owner
from happycity_server.api.access import token_refusals
from happycity_server.api.paging import ListQuery, entry_of, message_of, page_token, timestamp_or_none
from happycity_server.errors import ApiError, Reason, within
from happycity_server.ladder.challenges import ChallengeAnswer, board_named, not_in_ladder
from happycity_tournament.games import FinishedGame
from happycity_tournament.hosted.submissions import Submissions
from happycity_tournament.visibility import Play, Sight, sees_people, sight_of_deal
from happycity_tournament.wire import timestamp

if TYPE_CHECKING:  # it takes numpy, and few servers keep a ladder
    from happycity_server.ladder.reader import LadderReader

MAX_ACT_TEXT = 200
"""Characters of why an organiser acts."""
MAX_ACT_DEALS = 1000
"""Deals that one act names."""
_DAY = 86400.0
_KINDS = {kind: pb.DealKind.Value(f"DEAL_KIND_{kind.name}") for kind in DealKind}
_ACTS = {kind: pb.ActKind.Value(f"ACT_KIND_{kind.name}") for kind in ActionKind}
_TO_OWNERS = frozenset({ActionKind.RENAME, ActionKind.DELETE})
_STATES = {state: pb.ChallengeState.Value(f"CHALLENGE_STATE_{state.name}") for state in ChallengeState}


class LadderService(LadderServiceServicer):
    """Decodes, asks the ladder and its store, encodes. A server without a ladder refuses every call."""

    def __init__(
        self, reader: LadderReader | None, tokens: TokenFile | None, submissions: Submissions | None
    ) -> None:
        """Serve what `reader` reads; acts to participants change `tokens` and `submissions` too."""
        self._reader = reader
        self._tokens = tokens
        self._submissions = submissions

    @property
    def keeps_ladder(self) -> bool:
        """Whether the server keeps a ladder."""
        return self._reader is not None

    def _ladder(self) -> LadderReader:
        """Return what reads the ladder; ApiError if the server keeps none."""
        if self._reader is None:
            text = "this server keeps no ladder; start one that does by: happycity serve --ladder FILE"
            raise ApiError(Reason.NO_LADDER, text)
        return self._reader

    async def GetLadder(self, request: pb.GetLadderRequest, context: object) -> pb.Ladder:
        """Return what the ladder consists of, and how it stands."""
        reader = self._ladder()
        ladder, config = reader.ladder, reader.ladder.config
        weight = sum(board.weight for board in config.boards)
        return pb.Ladder(
            name=config.name,
            boards=[
                pb.LadderBoard(name=board.name, game=config_message(board.game), share=board.weight / weight)
                for board in config.boards
            ],
            anchor=config.anchor,
            anchor_elo=config.anchor_elo,
            time_control=time_control_message(config.time),
            failure_policy=failure_policy_message(config.policy),
            season=_season(await reader.season(), config),
            bots_connected=len(ladder.presence.versions.keys() - ladder.house),
            bots=await reader.book.read(reader.book.bots),
            deals_running=len(ladder.deals),
            longest_wait=duration_message(ladder.presence.longest_wait()),
            ratings_behind=ladder.ratings.behind,
        )

    async def GetLeaderboard(
        self, request: pb.GetLeaderboardRequest, context: object
    ) -> pb.GetLeaderboardResponse:
        """Return a page of the ratings on a board; a page token says how many lines come before."""
        reader = self._ladder()
        config, query = reader.ladder.config, ListQuery(request)
        board = board_named(config, request.board)
        first, end = query.before_id or 0, (query.before_id or 0) + query.size
        season = await reader.season(query.filters.get("season_id"))
        lines = await reader.leaderboard(board.name, season)
        if request.ranked_only:
            lines = [line for line in lines if line.rank]
        present, suspended = reader.ladder.presence.version_ids, reader.ladder.presence.suspended
        return pb.GetLeaderboardResponse(
            lines=[
                _line(line, config, present, self._submissions, suspended=line.version.bot in suspended)
                for line in lines[first:end]
            ],
            next_page_token=page_token(end) if len(lines) > end else "",
            board=board.name,
            season=_season(season, config),
        )

    async def GetLadderBot(self, request: pb.GetLadderBotRequest, context: object) -> pb.LadderBot:
        """Return a bot with its versions and ratings."""
        reader = self._ladder()
        config = reader.ladder.config
        with within("bot"):
            bot = check_bot_spelling(request.bot)
        board = board_named(config, request.board)
        versions = await reader.book.read(reader.book.versions_of, bot)
        if not versions:
            raise not_in_ladder("bot", bot)
        ratings = await reader.ratings([version.id for version in versions])
        history = await reader.history(board.name, versions)
        present, wait = reader.ladder.presence.version_ids, reader.ladder.presence.wait_of(bot)
        return pb.LadderBot(
            bot=bot,
            owner=_owner(versions[0]),
            house=versions[0].house,
            versions=[_version(version, present) for version in versions],
            ratings=_ratings(ratings, config),
            history=[
                pb.RatingPoint(
                    time=timestamp(point.at),
                    version_id=point.version_id,
                    rating=_rating(point.rating, config),
                )
                for point in history
            ],
            board=board.name,
            wait=wait and pb.BotWait(text=wait.text, end_time=timestamp_or_none(wait.end)),
        )

    async def ListLadderDeals(
        self, request: pb.ListLadderDealsRequest, context: object
    ) -> pb.ListLadderDealsResponse:
        """List deals, newest first."""
        reader = self._ladder()
        book, config, read = reader.book, reader.ladder.config, reader.book.read
        query = ListQuery(
            request,
            board=lambda name: board_named(config, name).name,
            kind=lambda number: entry_of(_KINDS, number, "kind"),
        )
        found = await read(book.deals, query.limit, query.before_id, **query.filters)
        listed, token = query.cut({deal.id: deal for deal in found})
        versions = await read(book.versions, {version for deal in listed for version in deal.versions})
        deals = [
            deal
            for deal in listed
            if sight_of_deal(viewer(), _play(deal)) is not Sight.NOTHING
            and versions.keys() >= set(deal.versions)  # else its row is damaged
        ]
        games = await read(book.games_of, [deal.id for deal in deals])
        present = reader.ladder.presence.version_ids
        return pb.ListLadderDealsResponse(
            deals=[_deal(deal, games[deal.id], versions, present) for deal in deals],
            next_page_token=token,
        )

    async def CompareVersions(
        self, request: pb.CompareVersionsRequest, context: object
    ) -> pb.VersionComparison:
        """Compare two versions of a bot by deals that both played against the house."""
        reader = self._ladder()
        ids = request.old_version_id, request.new_version_id
        comparison = await reader.compare(*ids)
        ratings = _ratings(await reader.ratings(ids), reader.ladder.config)
        return message_of(pb.VersionComparison, comparison, ratings=ratings)

    async def ListSeasons(self, request: pb.ListSeasonsRequest, context: object) -> pb.ListSeasonsResponse:
        """List seasons, newest first."""
        reader, query = self._ladder(), ListQuery(request)
        found = await reader.book.read(reader.book.seasons, query.limit, query.before_id)
        seasons, token = query.cut({season.id: season for season in found})
        messages = [_season(season, reader.ladder.config) for season in seasons]
        return pb.ListSeasonsResponse(seasons=messages, next_page_token=token)

    async def CloseSeason(self, request: pb.CloseSeasonRequest, context: object) -> pb.Season:
        """End a season; the next one begins."""
        reader = self._ladder()
        season = await reader.season(request.season_id)
        await reader.ladder.close_season(season.id)
        return _season(await reader.season(), reader.ladder.config)

    async def CreateChallenge(self, request: pb.CreateChallengeRequest, context: object) -> pb.Challenge:
        """Take what an author asks for."""
        ladder, key = self._ladder().ladder, request_key(request.request_id)
        wanted = Challenge(
            bot=request.bot,
            board=request.board,
            kind=entry_of(_KINDS, request.kind, "kind"),
            opponents=tuple(request.opponents),
            deals=request.deals,
            old_version_id=request.old_version_id or None,
        )
        self._own_bot(wanted.bot)
        return await self._message(await ladder.challenges.create(wanted, request_key=key))

    async def AcceptChallenge(self, request: pb.AcceptChallengeRequest, context: object) -> pb.Challenge:
        """Accept a challenge."""
        return await self._answer(request, "accept")

    async def DeclineChallenge(self, request: pb.DeclineChallengeRequest, context: object) -> pb.Challenge:
        """Decline a challenge."""
        return await self._answer(request, "decline")

    async def WithdrawChallenge(self, request: pb.WithdrawChallengeRequest, context: object) -> pb.Challenge:
        """Withdraw a challenge."""
        return await self._answer(request, "withdraw")

    async def ListChallenges(
        self, request: pb.ListChallengesRequest, context: object
    ) -> pb.ListChallengesResponse:
        """List challenges, newest first."""
        reader = self._ladder()
        book, read = reader.book, reader.book.read
        query = ListQuery(request, state=lambda number: [entry_of(_STATES, number, "state")])
        states, bot = query.filters.get("state"), query.filters.get("bot")
        found = await read(book.challenges, query.limit, query.before_id, states=states, of_or_to=bot)
        challenges, token = query.cut({challenge.id: challenge for challenge in found})
        counts = await read(book.deals_of_challenges, [challenge.id for challenge in challenges])
        return pb.ListChallengesResponse(
            challenges=[_challenge(challenge, counts[challenge.id][0]) for challenge in challenges],
            next_page_token=token,
        )

    async def ListFlags(self, request: pb.ListFlagsRequest, context: object) -> pb.ListFlagsResponse:
        """List the flags of a season, oddest first."""
        reader = self._ladder()
        season = await reader.season(request.season_id if request.HasField("season_id") else None)
        flags = await reader.flags(season)
        return pb.ListFlagsResponse(flags=[message_of(pb.Flag, flag) for flag in flags])

    async def CreateAct(self, request: pb.CreateActRequest, context: object) -> pb.Act:
        """Do what an organiser wants."""
        ladder, kind = self._ladder().ladder, entry_of(_ACTS, request.kind, "kind")
        token = principal().token
        act = ModerationAction(
            at=ladder.book.clock(),
            organiser="" if token is None else token.name,
            kind=kind,
            bot=request.bot or None,
            owner=request.owner or None,
            text=request.text,
        )
        check_act(act, request)
        new_owner = request.new_owner or None

        def rename_elsewhere() -> bool:
            assert act.owner is not None
            renamed = 0 if self._tokens is None else rename_owner(self._tokens, act.owner, new_owner)
            if self._submissions is not None:
                self._submissions.rename_owner(act.owner, new_owner)
            return renamed > 0

        with token_refusals():
            stored = await ladder.moderate(
                act, request.deal_ids, new_owner, rename_elsewhere=rename_elsewhere
            )
        return _act(stored)

    async def ListActs(self, request: pb.ListActsRequest, context: object) -> pb.ListActsResponse:
        """List the acts of organisers, newest first."""
        reader, query = self._ladder(), ListQuery(request)
        found = await reader.book.read(reader.book.actions, query.limit, query.before_id, **query.filters)
        acts, token = query.cut({act.id: act for act in found})
        return pb.ListActsResponse(acts=map(_act, acts), next_page_token=token)

    def _own_bot(self, bot: str) -> None:
        """Require that the caller may act for a bot, and that it isn't suspended; else ApiError."""
        ladder = self._ladder().ladder
        check_name(bot, house=ladder.house)
        if bot in ladder.presence.suspended and (wait := ladder.presence.wait_of(bot)) is not None:
            raise ApiError(Reason.CHALLENGE_CLOSED, wait.text)

    async def _answer(
        self,
        request: pb.AcceptChallengeRequest | pb.DeclineChallengeRequest | pb.WithdrawChallengeRequest,
        answer: ChallengeAnswer,
    ) -> pb.Challenge:
        ladder = self._ladder().ladder
        self._own_bot(request.bot)
        return await self._message(await ladder.challenges.answer(request.challenge_id, request.bot, answer))

    async def _message(self, challenge: Challenge) -> pb.Challenge:
        reader = self._ladder()
        counts = await reader.book.read(reader.book.deals_of_challenges, [challenge.id])
        return _challenge(challenge, counts[challenge.id][0])


def _play(deal: LadderDeal) -> Play:
    """Return whether games of a deal may still be played."""
    return Play.OPEN if deal.state is DealState.OPEN else Play.ENDED


def _owner(version: Version) -> str | None:
    """Return who owns a version, which concerns the participants alone; None for a reference bot."""
    return (version.owner or None) if sees_people(viewer()) else None


def check_act(act: ModerationAction, request: pb.CreateActRequest) -> None:
    """Refuse an act whose fields don't belong together; ConfigError names the first that is wrong."""
    if not 1 <= len(act.text) <= MAX_ACT_TEXT or act.text != one_line(act.text):
        raise FieldError("text", f"say why in one line of 1 to {MAX_ACT_TEXT} characters; all may read it")
    of_bots = {"bot"} if act.bot or act.kind is not ActionKind.VOID else {"deal_ids"}
    needed = {ActionKind.RENAME: {"owner", "new_owner"}, ActionKind.DELETE: {"owner"}}.get(act.kind, of_bots)
    given = {name for name in ("bot", "deal_ids", "owner", "new_owner") if getattr(request, name)}
    for name in (*sorted(needed - given), *sorted(given - needed)):
        how = "needs it" if name in needed else "does not take it"
        raise FieldError(name, f"the act {act.kind.value!r} {how}, by what else it has")
    if len(request.deal_ids) > MAX_ACT_DEALS:
        raise FieldError("deal_ids", f"{len(request.deal_ids)} deals are more than {MAX_ACT_DEALS} at once")
    if act.bot is not None:
        with within("bot"):
            check_bot_spelling(act.bot)
    for owner in filter(None, (act.owner, request.new_owner)):
        check_owner(owner)


def _act(act: ModerationAction) -> pb.Act:
    """Write an act."""
    return message_of(
        pb.Act,
        act,
        act_id=act.id,
        time=timestamp(act.at),
        bot=None if act.kind in _TO_OWNERS else act.bot,
        owner=act.owner if sees_people(viewer()) else None,
    )


def _version(version: Version, present: Collection[int]) -> pb.BotVersion:
    """Write a version; `present` has the versions that are connected."""
    return message_of(
        pb.BotVersion,
        version,
        version_id=version.id,
        info=bot_info_message(version.profile.info),
        software=version.profile.software or None,
        first_time=timestamp(version.first_at),
        last_time=timestamp(version.last_at),
        connected=version.id in present,
    )


def _rating(rating: Rating, config: LadderConfig) -> rating_pb2.Rating:
    """Write a rating."""
    return message_of(rating_pb2.Rating, rating, provisional=is_provisional(rating, config))


def _ratings(ratings: Mapping[str, Mapping[int, Rating]], config: LadderConfig) -> Iterator[pb.VersionRating]:
    """Write ratings by board and version."""
    for board, of_board in ratings.items():
        for version, rating in of_board.items():
            yield pb.VersionRating(version_id=version, board=board, rating=_rating(rating, config))


def _season(season: Season, config: LadderConfig) -> pb.Season:
    """Write a season."""
    is_planned = season.ended_at is None and config.season_days
    planned_end = season.started_at + config.season_days * _DAY if is_planned else None
    return message_of(
        pb.Season,
        season,
        season_id=season.id,
        start_time=timestamp(season.started_at),
        end_time=timestamp_or_none(season.ended_at),
        planned_end_time=timestamp_or_none(planned_end),
        commitment=hashlib.sha256(season.commitment.encode()).hexdigest(),
    )


def _line(
    line: LeaderboardLine,
    config: LadderConfig,
    present: Collection[int],
    submissions: Submissions | None,
    *,
    suspended: bool,
) -> pb.LeaderboardLine:
    """Write a line of a leaderboard."""
    version, cost = line.version.profile.info.version, None
    if submissions is not None and version and (hosted := submissions.find(line.version.bot, version)):
        cost = message_of(pb.BotCost, submissions.usage(hosted))
    return message_of(
        pb.LeaderboardLine,
        line.score,
        rank=line.rank or None,
        version=_version(line.version, present),
        rating=_rating(line.rating, config),
        owner=_owner(line.version),
        house=line.version.house,
        inactive=line.inactive,
        suspended=suspended,
        cost=cost,
    )


def _deal(
    deal: LadderDeal, games: Sequence[FinishedGame], versions: Mapping[int, Version], present: Collection[int]
) -> pb.LadderDeal:
    """Write a deal with its finished games, in the order of the rotations."""
    return message_of(
        pb.LadderDeal,
        deal,
        deal_id=deal.id,
        versions=[_version(versions[version], present) for version in deal.versions],
        match_ids=[game.match_id for game in games],
        places=[
            sum(game.places[game.bots.index(versions[version].bot)] for game in games)
            for version in deal.versions
        ],
        start_time=timestamp(deal.started_at),
        finish_time=timestamp_or_none(deal.finished_at if deal.finished else None),
        dropped=deal.state is DealState.DROPPED,
    )


def _challenge(challenge: Challenge, deals_finished: int) -> pb.Challenge:
    """Write a challenge with the number of its finished deals."""
    return message_of(
        pb.Challenge,
        challenge,
        challenge_id=challenge.id,
        deals_finished=deals_finished,
        create_time=timestamp(challenge.created_at),
        expire_time=timestamp(challenge.expires_at),
    )
