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
from happycity_server.ladder.challenges import ChallengeAnswer, board_named
from happycity_tournament.ladder.entries import Challenge

if TYPE_CHECKING:  # few servers keep one
    from happycity_server.ladder.kept import KeptLadder


class LadderService(LadderServiceServicer):
    """Decodes, asks the ladder, encodes. A server without a ladder refuses every call."""

    def __init__(self, kept: KeptLadder | None) -> None:
        self._ladder = kept

    @property
    def keeps_ladder(self) -> bool:
        """Whether the server keeps a ladder."""
        return self._ladder is not None

    def is_open(self, deal_id: int) -> bool:
        """Return whether a deal is not over, so that its finished games are still secret."""
        return self._ladder is not None and self._ladder.ladder.is_open(deal_id)

    def _kept(self) -> KeptLadder:
        """Return the ladder and what reads it.

        Raises:
            ApiError: the server keeps none.
        """
        if self._ladder is None:
            text = "this server keeps no ladder; one is kept by: happycity serve --ladder FILE"
            raise ApiError(Reason.NO_LADDER, text)
        return self._ladder

    async def GetLadder(self, request: pb.GetLadderRequest, context: object) -> pb.Ladder:
        """Return what the ladder consists of, and how it stands."""
        ladder, reader, _ = self._kept()
        config = ladder.config
        return pb.Ladder(
            name=config.name,
            boards=board_messages(config),
            anchor=config.anchor,
            anchor_elo=config.anchor_elo,
            time_control=time_control_message(config.time),
            failure_policy=failure_policy_message(config.policy),
            season=season_message(await reader.season(None), config),
            bots_connected=len(ladder.present.keys() - ladder.house),
            bots=await reader.bots(),
            deals_running=ladder.deals_running,
            longest_wait=duration_message(ladder.longest_wait()),
            ratings_behind=ladder.ratings_behind,
        )

    async def GetLeaderboard(
        self, request: pb.GetLeaderboardRequest, context: object
    ) -> pb.GetLeaderboardResponse:
        """Return a page of the ratings on a board; a page token says how many lines come before."""
        ladder, reader, _ = self._kept()
        board, query = board_named(ladder.config, request.board), ListQuery(request)
        first, end = query.before_id or 0, (query.before_id or 0) + query.size
        season = await reader.season(request.season_id if request.HasField("season_id") else None)
        lines = await reader.leaderboard(board.name, season)
        if request.ranked_only:
            lines = [line for line in lines if line.rank]
        present = set(ladder.present.values())
        return pb.GetLeaderboardResponse(
            lines=[line_message(line, ladder.config, present) for line in lines[first:end]],
            next_page_token=page_token(end) if len(lines) > end else "",
            board=board.name,
            season=season_message(season, ladder.config),
        )

    async def GetLadderBot(self, request: pb.GetLadderBotRequest, context: object) -> pb.LadderBot:
        """Return a bot with its versions and ratings."""
        ladder, reader, _ = self._kept()
        with within("bot"):
            bot = check_bot_name(request.bot)
        board = board_named(ladder.config, request.board)
        versions = await reader.versions_of(bot)
        ratings = await reader.ratings([version.id for version in versions])
        history = await reader.history(board.name, versions)
        present = set(ladder.present.values())
        return pb.LadderBot(
            bot=bot,
            owner=versions[0].owner or None,
            house=versions[0].house,
            versions=[version_message(version, present) for version in versions],
            ratings=rating_messages(ratings, ladder.config),
            history=[point_message(point, ladder.config) for point in history],
            board=board.name,
        )

    async def ListLadderDeals(
        self, request: pb.ListLadderDealsRequest, context: object
    ) -> pb.ListLadderDealsResponse:
        """List deals, newest first."""
        ladder, reader, _ = self._kept()
        query = ListQuery(request, board=lambda name: board_named(ladder.config, name).name, kind=kind_of)
        found = await reader.deals(query.limit, query.before_id, **query.filters)
        deals, token = query.cut({deal.id: deal for deal in found})
        games, versions = await reader.games_and_versions(deals)
        present = set(ladder.present.values())
        return pb.ListLadderDealsResponse(
            deals=[deal_message(deal, games[deal.id], versions, present) for deal in deals],
            next_page_token=token,
        )

    async def CompareVersions(
        self, request: pb.CompareVersionsRequest, context: object
    ) -> pb.VersionComparison:
        """Compare two versions of a bot by deals that both played against the house."""
        ladder, reader, _ = self._kept()
        ids = request.old_version_id, request.new_version_id
        comparison = await reader.compare(*ids)
        return pb.VersionComparison(
            deals=comparison.deals,
            difference=comparison.difference,
            standard_error=comparison.error,
            ratings=rating_messages(await reader.ratings(ids), ladder.config),
        )

    async def ListSeasons(self, request: pb.ListSeasonsRequest, context: object) -> pb.ListSeasonsResponse:
        """List seasons, newest first."""
        ladder, reader, _ = self._kept()
        query = ListQuery(request)
        found = await reader.seasons(query.limit, query.before_id)
        seasons, token = query.cut({season.id: season for season in found})
        return pb.ListSeasonsResponse(
            seasons=[season_message(season, ladder.config) for season in seasons], next_page_token=token
        )

    async def CloseSeason(self, request: pb.CloseSeasonRequest, context: object) -> pb.Season:
        """End a season; the next one begins."""
        ladder, reader, _ = self._kept()
        season = await reader.season(request.season_id)
        if season.ended_at is None:
            await ladder.close_season(season.id)
        return season_message(await reader.season(None), ladder.config)

    async def CreateChallenge(self, request: pb.CreateChallengeRequest, context: object) -> pb.Challenge:
        """Take what an author asks for."""
        ladder, _, _ = self._kept()
        key = request_key(request.request_id)
        wanted = Challenge(
            bot=request.bot,
            board=request.board,
            kind=kind_of(request.kind),
            opponents=tuple(request.opponents),
            deals=request.deals,
            old_version_id=request.old_version_id or None,
        )
        check_name(wanted.bot, house=ladder.house)
        challenge = await ladder.challenges.create(wanted, request_key=key)
        return await self._challenge(challenge)

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
        _, reader, _ = self._kept()
        query = ListQuery(request, state=lambda number: [state_of(number)])
        states, bot = query.filters.get("state"), query.filters.get("bot")
        found = await reader.store.read(
            reader.challenges.newest, query.limit, query.before_id, states=states, of_or_to=bot
        )
        challenges, token = query.cut({challenge.id: challenge for challenge in found})
        counts = await reader.store.read(reader.challenges.deals, [challenge.id for challenge in challenges])
        return pb.ListChallengesResponse(
            challenges=[challenge_message(challenge, counts[challenge.id][0]) for challenge in challenges],
            next_page_token=token,
        )

    async def ListFlags(self, request: pb.ListFlagsRequest, context: object) -> pb.ListFlagsResponse:
        """List the flags of a season, oddest first."""
        _, reader, odd_results = self._kept()
        season = await reader.season(request.season_id if request.HasField("season_id") else None)
        return pb.ListFlagsResponse(flags=flag_messages(await odd_results.of(season)))

    async def _answer(
        self,
        request: pb.AcceptChallengeRequest | pb.DeclineChallengeRequest | pb.WithdrawChallengeRequest,
        answer: ChallengeAnswer,
    ) -> pb.Challenge:
        ladder, _, _ = self._kept()
        check_name(request.bot, house=ladder.house)
        challenge = await ladder.challenges.answer(request.challenge_id, request.bot, answer)
        return await self._challenge(challenge)

    async def _challenge(self, challenge: Challenge) -> pb.Challenge:
        _, reader, _ = self._kept()
        counts = await reader.store.read(reader.challenges.deals, [challenge.id])
        return challenge_message(challenge, counts[challenge.id][0])
