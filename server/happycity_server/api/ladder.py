"""LadderService: shows the ladder, and takes what authors ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.ladder.v1beta1.ladder_service_pb2_grpc import LadderServiceServicer
from happycity.match import check_bot_name
from happycity.wire.match import duration_message, failure_policy_message, time_control_message
from happycity_server.access.roles import check_name, request_key
from happycity_server.api.ladder_messages import (
    board_messages,
    challenge_message,
    deal_message,
    flag_messages,
    kind_of,
    line_message,
    point_message,
    rating_messages,
    season_message,
    state_of,
    version_message,
)
from happycity_server.api.paging import ListQuery, page_token
from happycity_server.errors import ApiError, Reason, within
from happycity_server.ladder.challenges import ChallengeAnswer, board_named, not_in_ladder
from happycity_tournament.ladder.entries import Challenge

if TYPE_CHECKING:  # it takes numpy, and few servers keep a ladder
    from happycity_server.ladder.reader import LadderReader


class LadderService(LadderServiceServicer):
    """Decodes, asks the ladder and its store, encodes. A server without a ladder refuses every call."""

    def __init__(self, reader: LadderReader | None) -> None:
        self._reader = reader

    @property
    def keeps_ladder(self) -> bool:
        """Whether the server keeps a ladder."""
        return self._reader is not None

    def is_open(self, deal_id: int) -> bool:
        """Return whether a deal is not over, so that its finished games are still secret."""
        return self._reader is not None and self._reader.ladder.is_open(deal_id)

    def _ladder(self) -> LadderReader:
        """Return what reads the ladder.

        Raises:
            ApiError: the server keeps none.
        """
        if self._reader is None:
            text = "this server keeps no ladder; one is kept by: happycity serve --ladder FILE"
            raise ApiError(Reason.NO_LADDER, text)
        return self._reader

    async def GetLadder(self, request: pb.GetLadderRequest, context: object) -> pb.Ladder:
        """Return what the ladder consists of, and how it stands."""
        reader = self._ladder()
        ladder, config = reader.ladder, reader.ladder.config
        return pb.Ladder(
            name=config.name,
            boards=board_messages(config),
            anchor=config.anchor,
            anchor_elo=config.anchor_elo,
            time_control=time_control_message(config.time),
            failure_policy=failure_policy_message(config.policy),
            season=season_message(await reader.season(), config),
            bots_connected=len(ladder.presence.versions.keys() - ladder.house),
            bots=await reader.store.read(reader.entries.bots),
            deals_running=len(ladder.playing),
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
        present = reader.ladder.presence.version_ids
        return pb.GetLeaderboardResponse(
            lines=[line_message(line, config, present) for line in lines[first:end]],
            next_page_token=page_token(end) if len(lines) > end else "",
            board=board.name,
            season=season_message(season, config),
        )

    async def GetLadderBot(self, request: pb.GetLadderBotRequest, context: object) -> pb.LadderBot:
        """Return a bot with its versions and ratings."""
        reader = self._ladder()
        config = reader.ladder.config
        with within("bot"):
            bot = check_bot_name(request.bot)
        board = board_named(config, request.board)
        versions = await reader.store.read(reader.entries.versions_of, bot)
        if not versions:
            raise not_in_ladder("bot", bot)
        ratings = await reader.ratings([version.id for version in versions])
        history = await reader.history(board.name, versions)
        present = reader.ladder.presence.version_ids
        return pb.LadderBot(
            bot=bot,
            owner=versions[0].owner or None,
            house=versions[0].house,
            versions=[version_message(version, present) for version in versions],
            ratings=rating_messages(ratings, config),
            history=[point_message(point, config) for point in history],
            board=board.name,
        )

    async def ListLadderDeals(
        self, request: pb.ListLadderDealsRequest, context: object
    ) -> pb.ListLadderDealsResponse:
        """List deals, newest first."""
        reader = self._ladder()
        entries, config, read = reader.entries, reader.ladder.config, reader.store.read
        query = ListQuery(request, board=lambda name: board_named(config, name).name, kind=kind_of)
        found = await read(entries.deals, query.limit, query.before_id, **query.filters)
        deals, token = query.cut({deal.id: deal for deal in found})
        games = await read(entries.games_of, [deal.id for deal in deals])
        versions = await read(entries.versions, {version for deal in deals for version in deal.versions})
        present = reader.ladder.presence.version_ids
        return pb.ListLadderDealsResponse(
            deals=[deal_message(deal, games[deal.id], versions, present) for deal in deals],
            next_page_token=token,
        )

    async def CompareVersions(
        self, request: pb.CompareVersionsRequest, context: object
    ) -> pb.VersionComparison:
        """Compare two versions of a bot by deals that both played against the house."""
        reader = self._ladder()
        ids = request.old_version_id, request.new_version_id
        comparison = await reader.compare(*ids)
        return pb.VersionComparison(
            deals=comparison.deals,
            difference=comparison.difference,
            standard_error=comparison.error,
            ratings=rating_messages(await reader.ratings(ids), reader.ladder.config),
        )

    async def ListSeasons(self, request: pb.ListSeasonsRequest, context: object) -> pb.ListSeasonsResponse:
        """List seasons, newest first."""
        reader, query = self._ladder(), ListQuery(request)
        found = await reader.store.read(reader.entries.seasons, query.limit, query.before_id)
        seasons, token = query.cut({season.id: season for season in found})
        messages = [season_message(season, reader.ladder.config) for season in seasons]
        return pb.ListSeasonsResponse(seasons=messages, next_page_token=token)

    async def CloseSeason(self, request: pb.CloseSeasonRequest, context: object) -> pb.Season:
        """End a season; the next one begins."""
        reader = self._ladder()
        season = await reader.season(request.season_id)
        await reader.ladder.seasons.close(season.id)
        return season_message(await reader.season(), reader.ladder.config)

    async def CreateChallenge(self, request: pb.CreateChallengeRequest, context: object) -> pb.Challenge:
        """Take what an author asks for."""
        ladder, key = self._ladder().ladder, request_key(request.request_id)
        wanted = Challenge(
            bot=request.bot,
            board=request.board,
            kind=kind_of(request.kind),
            opponents=tuple(request.opponents),
            deals=request.deals,
            old_version_id=request.old_version_id or None,
        )
        check_name(wanted.bot, house=ladder.house)
        return await self._message(await ladder.challenges.create(wanted, request_key=key))

    async def AcceptChallenge(self, request: pb.AcceptChallengeRequest, context: object) -> pb.Challenge:
        """Accept a challenge."""
        return await self._answer(request, ChallengeAnswer.ACCEPT)

    async def DeclineChallenge(self, request: pb.DeclineChallengeRequest, context: object) -> pb.Challenge:
        """Decline a challenge."""
        return await self._answer(request, ChallengeAnswer.DECLINE)

    async def WithdrawChallenge(self, request: pb.WithdrawChallengeRequest, context: object) -> pb.Challenge:
        """Withdraw a challenge."""
        return await self._answer(request, ChallengeAnswer.WITHDRAW)

    async def ListChallenges(
        self, request: pb.ListChallengesRequest, context: object
    ) -> pb.ListChallengesResponse:
        """List challenges, newest first."""
        reader = self._ladder()
        stored, read = reader.challenges, reader.store.read
        query = ListQuery(request, state=lambda number: [state_of(number)])
        states, bot = query.filters.get("state"), query.filters.get("bot")
        found = await read(stored.newest, query.limit, query.before_id, states=states, of_or_to=bot)
        challenges, token = query.cut({challenge.id: challenge for challenge in found})
        counts = await read(stored.deals, [challenge.id for challenge in challenges])
        return pb.ListChallengesResponse(
            challenges=[challenge_message(challenge, counts[challenge.id][0]) for challenge in challenges],
            next_page_token=token,
        )

    async def ListFlags(self, request: pb.ListFlagsRequest, context: object) -> pb.ListFlagsResponse:
        """List the flags of a season, oddest first."""
        reader = self._ladder()
        season = await reader.season(request.season_id if request.HasField("season_id") else None)
        return pb.ListFlagsResponse(flags=flag_messages(await reader.flags(season)))

    async def _answer(
        self,
        request: pb.AcceptChallengeRequest | pb.DeclineChallengeRequest | pb.WithdrawChallengeRequest,
        answer: ChallengeAnswer,
    ) -> pb.Challenge:
        ladder = self._ladder().ladder
        check_name(request.bot, house=ladder.house)
        return await self._message(await ladder.challenges.answer(request.challenge_id, request.bot, answer))

    async def _message(self, challenge: Challenge) -> pb.Challenge:
        reader = self._ladder()
        counts = await reader.store.read(reader.challenges.deals, [challenge.id])
        return challenge_message(challenge, counts[challenge.id][0])
