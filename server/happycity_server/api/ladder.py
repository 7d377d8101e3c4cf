"""LadderService: shows the ladder, and takes what authors ask of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from happycity.errors import FieldError
from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.match import check_bot_spelling, one_line
from happycity.v1 import rating_pb2
from happycity.wire.fields import to_message
from happycity.wire.match import (
    bot_info_message,
    duration_message,
    failure_policy_message,
    time_control_message,
)
from happycity.wire.messages import config_message
from happycity.wire.moments import timestamp
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
from happycity_ladder.leaderboard import LeaderboardLine, is_provisional, order, owners
from happycity_runtime.tokens import check_owner
from happycity_server.access.roles import Principal
from happycity_server.access.token_file import TokenFile, rename_owner
from happycity_server.api.access import token_refusals
from happycity_server.api.paging import ListRequest, required_enum
from happycity_server.errors import ApiError, Reason, within
from happycity_server.ladder.challenges import ChallengeAnswer, board_named, not_in_ladder
from happycity_tournament.games import FinishedGame
from happycity_tournament.hosted.submissions import Submissions
from happycity_tournament.visibility import Play, Sight, sees_people, sight_of_deal

if TYPE_CHECKING:  # it takes numpy, and few servers keep a ladder
    from happycity_ladder.flags import Flag
    from happycity_server.ladder.reader import LadderReader

MAX_ACT_TEXT = 200
"""Characters of why an organiser acts."""
MAX_ACT_DEALS = 1000
"""Deals that one act names."""
_DAY = 86400.0
_OPERATIONS = {
    "suspend_bot": ActionKind.SUSPEND,
    "restore_bot": ActionKind.RESTORE,
    "void_deals": ActionKind.VOID,
    "rename_owner": ActionKind.RENAME,
    "delete_owner": ActionKind.DELETE,
}
_NAMES = {"bot": check_bot_spelling, "owner": check_owner, "new_owner": check_owner}
"""What checks the names in an operation."""
_TO_OWNERS = frozenset({ActionKind.RENAME, ActionKind.DELETE})
_FLAG = ("kind", "bot", "beneficiary", "board", "deals", "deviation", "p_value", "text", "deal_ids")


@dataclass(eq=False, repr=False)
class LadderService:
    """Decodes, asks the ladder and its store, encodes. A server without a ladder refuses every call."""

    reader: LadderReader | None
    tokens: TokenFile | None  # this and the next one are changed too by acts to participants
    submissions: Submissions | None

    @property
    def keeps_ladder(self) -> bool:
        """Whether the server keeps a ladder."""
        return self.reader is not None

    def _ladder(self) -> LadderReader:
        """Return what reads the ladder; ApiError if the server keeps none."""
        if self.reader is None:
            text = "this server keeps no ladder; start one that does by: happycity serve --ladder FILE"
            raise ApiError(Reason.NO_LADDER, text)
        return self.reader

    async def GetLadder(self, caller: Principal, request: pb.GetLadderRequest) -> pb.Ladder:
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
            idle=[
                pb.IdleBots(
                    bots=len(ends),
                    text=reason.value,
                    end_time=timestamp(ends[0]) if len({*ends}) == 1 else None,
                )
                for reason, ends in ladder.presence.idle()
            ],
        )

    async def GetLeaderboard(
        self, caller: Principal, request: pb.GetLeaderboardRequest
    ) -> pb.GetLeaderboardResponse:
        """Return a page of the ratings on a board."""
        reader = self._ladder()
        config, page = reader.ladder.config, ListRequest(request)
        board = board_named(config, request.board)
        season = await reader.season(page.number("season_id"))
        lines = await reader.leaderboard(board.name, season)
        best = owners(lines)[: page.size] if page.is_first else []
        if request.ranked_only:
            lines = [line for line in lines if line.rank]
        shown, token = page.sorted_by(order, lines)
        write = partial(self._line, caller, reader.ladder.presence.version_ids)
        return pb.GetLeaderboardResponse(
            lines=map(write, shown),
            owners=[
                to_message(pb.OwnerLine, owner, "rank", "bots", "low", best=write(owner.best))
                for owner in best
            ],
            next_page_token=token,
            board=board.name,
            season=_season(season, config),
        )

    async def GetLadderBot(self, caller: Principal, request: pb.GetLadderBotRequest) -> pb.LadderBot:
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
            owner=_owner(caller, versions[0]),
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
            wait=wait and pb.BotWait(text=wait.text, end_time=timestamp(wait.end)),
        )

    async def ListLadderDeals(
        self, caller: Principal, request: pb.ListLadderDealsRequest
    ) -> pb.ListLadderDealsResponse:
        """List deals, newest first."""
        reader = self._ladder()
        book, config, read = reader.book, reader.ladder.config, reader.book.read
        page = ListRequest(request)
        found = await read(
            book.deals,
            page.limit,
            page.before_id,
            deal_id=page.number("deal_id"),
            bot=page.bot(),
            version_id=page.number("version_id"),
            board=board_named(config, request.board).name if request.board else None,
            season_id=page.number("season_id"),
            kind=page.member("kind", DealKind),
            challenge_id=page.number("challenge_id"),
        )
        listed, token = page.newest({deal.id: deal for deal in found})
        versions = await read(book.versions, {version for deal in listed for version in deal.versions})
        deals = [
            deal
            for deal in listed
            if sight_of_deal(caller.viewer, _play(deal)) is not Sight.NOTHING
            and versions.keys() >= set(deal.versions)  # else its row is damaged
        ]
        games = await read(book.games_of, [deal.id for deal in deals])
        present = reader.ladder.presence.version_ids
        return pb.ListLadderDealsResponse(
            deals=[_deal(deal, games[deal.id], versions, present) for deal in deals], next_page_token=token
        )

    async def CompareVersions(
        self, caller: Principal, request: pb.CompareVersionsRequest
    ) -> pb.VersionComparison:
        """Compare two versions of a bot by deals that both played against the house."""
        reader = self._ladder()
        ids = request.old_version_id, request.new_version_id
        comparison = await reader.compare(*ids)
        comparison.ratings.extend(_ratings(await reader.ratings(ids), reader.ladder.config))
        return comparison

    async def ListSeasons(self, caller: Principal, request: pb.ListSeasonsRequest) -> pb.ListSeasonsResponse:
        """List seasons, newest first."""
        reader, page = self._ladder(), ListRequest(request)
        found = await reader.book.read(reader.book.seasons, page.limit, page.before_id)
        seasons, token = page.newest({season.id: season for season in found})
        messages = [_season(season, reader.ladder.config) for season in seasons]
        return pb.ListSeasonsResponse(seasons=messages, next_page_token=token)

    async def CloseSeason(self, caller: Principal, request: pb.CloseSeasonRequest) -> pb.Season:
        """End a season; the next one begins."""
        reader = self._ladder()
        season = await reader.season(request.season_id)
        await reader.ladder.close_season(season.id)
        return _season(await reader.season(), reader.ladder.config)

    async def CreateChallenge(self, caller: Principal, request: pb.CreateChallengeRequest) -> pb.Challenge:
        """Take what an author asks for."""
        ladder, key = self._ladder().ladder, caller.request_key(request.request_id)
        wanted = Challenge(
            bot=request.bot,
            board=request.board,
            kind=required_enum(request, "kind", DealKind),
            opponents=tuple(request.opponents),
            deals=request.deals,
            old_version_id=request.old_version_id or None,
        )
        self._check_own_bot(caller, wanted.bot)
        return await self._message(await ladder.challenges.create(wanted, request_key=key))

    async def AcceptChallenge(self, caller: Principal, request: pb.AcceptChallengeRequest) -> pb.Challenge:
        """Accept a challenge."""
        return await self._answer(caller, request, "accept")

    async def DeclineChallenge(self, caller: Principal, request: pb.DeclineChallengeRequest) -> pb.Challenge:
        """Decline a challenge."""
        return await self._answer(caller, request, "decline")

    async def WithdrawChallenge(
        self, caller: Principal, request: pb.WithdrawChallengeRequest
    ) -> pb.Challenge:
        """Withdraw a challenge."""
        return await self._answer(caller, request, "withdraw")

    async def ListChallenges(
        self, caller: Principal, request: pb.ListChallengesRequest
    ) -> pb.ListChallengesResponse:
        """List challenges, newest first."""
        reader = self._ladder()
        book, read = reader.book, reader.book.read
        page = ListRequest(request)
        state, bot = page.member("state", ChallengeState), page.bot()
        states = None if state is None else [state]
        found = await read(book.challenges, page.limit, page.before_id, states=states, of_or_to=bot)
        challenges, token = page.newest({challenge.id: challenge for challenge in found})
        counts = await read(book.deals_of_challenges, [challenge.id for challenge in challenges])
        return pb.ListChallengesResponse(
            challenges=[_challenge(challenge, counts[challenge.id][0]) for challenge in challenges],
            next_page_token=token,
        )

    async def ListFlags(self, caller: Principal, request: pb.ListFlagsRequest) -> pb.ListFlagsResponse:
        """List the flags of a season, oddest first."""
        reader, page = self._ladder(), ListRequest(request)
        season = await reader.season(page.number("season_id"))
        flags, token = page.sorted_by(_oddness, await reader.flags(season))
        messages = [to_message(pb.Flag, flag, *_FLAG) for flag in flags]
        return pb.ListFlagsResponse(flags=messages, next_page_token=token)

    async def CreateAct(self, caller: Principal, request: pb.CreateActRequest) -> pb.Act:
        """Do what an organiser wants."""
        ladder = self._ladder().ladder
        operation, asked = operation_of(request)
        act = ModerationAction(
            at=ladder.book.clock(),
            organiser="" if caller.token is None else caller.token.name,
            kind=_OPERATIONS[operation],
            bot=asked.get("bot"),
            owner=asked.get("owner"),
            text=request.text,
        )
        new_owner = asked.get("new_owner")

        def rename_elsewhere() -> bool:
            assert act.owner is not None
            renamed = 0 if self.tokens is None else rename_owner(self.tokens, act.owner, new_owner)
            if self.submissions is not None:
                self.submissions.rename_owner(act.owner, new_owner)
            return renamed > 0

        with within(operation), token_refusals():
            stored = await ladder.moderate(
                act, asked.get("deal_ids", ()), new_owner, rename_elsewhere=rename_elsewhere
            )
        return _act(caller, stored)

    async def ListActs(self, caller: Principal, request: pb.ListActsRequest) -> pb.ListActsResponse:
        """List the acts of organisers, newest first."""
        reader, page = self._ladder(), ListRequest(request)
        found = await reader.book.read(reader.book.actions, page.limit, page.before_id, bot=page.bot())
        acts, token = page.newest({act.id: act for act in found})
        return pb.ListActsResponse(acts=[_act(caller, act) for act in acts], next_page_token=token)

    def _line(self, caller: Principal, present: Collection[int], line: LeaderboardLine) -> pb.LeaderboardLine:
        """Write a line of a leaderboard; `present` has the versions that are connected."""
        ladder, submissions = self._ladder().ladder, self.submissions
        version, cost = line.version.profile.info.version, None
        if submissions is not None and version and (hosted := submissions.find(line.version.bot, version)):
            used = submissions.usage(hosted)
            cpu_time = duration_message(used.cpu_seconds)
            cost = pb.BotCost(cpu_time=cpu_time, peak_memory_bytes=used.peak_memory_bytes)
        return to_message(
            pb.LeaderboardLine,
            line.score,
            *("games", "firsts", "forfeits"),
            rank=line.rank or None,
            version=_version(line.version, present),
            rating=_rating(line.rating, ladder.config),
            owner=_owner(caller, line.version),
            house=line.version.house,
            inactive=line.inactive,
            suspended=line.version.bot in ladder.presence.suspended,
            cost=cost,
        )

    def _check_own_bot(self, caller: Principal, bot: str) -> None:
        """Require that the caller may act for a bot, and that it isn't suspended; else ApiError."""
        ladder = self._ladder().ladder
        caller.check_name(bot, house=ladder.house)
        if bot in ladder.presence.suspended and (wait := ladder.presence.wait_of(bot)) is not None:
            raise ApiError(Reason.CHALLENGE_CLOSED, wait.text)

    async def _answer(
        self,
        caller: Principal,
        request: pb.AcceptChallengeRequest | pb.DeclineChallengeRequest | pb.WithdrawChallengeRequest,
        answer: ChallengeAnswer,
    ) -> pb.Challenge:
        ladder = self._ladder().ladder
        self._check_own_bot(caller, request.bot)
        return await self._message(await ladder.challenges.answer(request.challenge_id, request.bot, answer))

    async def _message(self, challenge: Challenge) -> pb.Challenge:
        reader = self._ladder()
        counts = await reader.book.read(reader.book.deals_of_challenges, [challenge.id])
        return _challenge(challenge, counts[challenge.id][0])


def _play(deal: LadderDeal) -> Play:
    """Return whether games of a deal may still be played."""
    return Play.OPEN if deal.state is DealState.OPEN else Play.ENDED


def _oddness(flag: Flag) -> tuple[float, float, str]:
    """Return where a flag stands among those of all boards, as a key to sort by."""
    name = f"{flag.board} {flag.kind.value} {flag.bot} {flag.beneficiary}"
    return flag.p_value, -abs(flag.deviation), name


def _owner(caller: Principal, version: Version) -> str | None:
    """Return who owns a version, which concerns the participants alone; None for a reference bot."""
    return (version.owner or None) if sees_people(caller.viewer) else None


def operation_of(request: pb.CreateActRequest) -> tuple[str, dict[str, Any]]:
    """Return the name and the fields of what an act is to do.

    ApiError if it doesn't say what; a FieldError names what is wrong.
    """
    operation = request.WhichOneof("operation")
    if operation is None:
        raise ApiError(Reason.INVALID_FIELD, f"say what to do by one of {', '.join(_OPERATIONS)}")
    if not 1 <= len(request.text) <= MAX_ACT_TEXT or request.text != one_line(request.text):
        raise FieldError("text", f"say why in one line of 1 to {MAX_ACT_TEXT} characters; all may read it")
    asked = getattr(request, operation)
    if isinstance(asked, pb.VoidDeals):
        number = len(asked.deal_ids)
        if asked.HasField("bot") is bool(number):
            raise FieldError("void_deals.deal_ids", "name either a bot or deals")
        if number > MAX_ACT_DEALS:
            raise FieldError("void_deals.deal_ids", f"{number} deals are more than {MAX_ACT_DEALS} at once")
    for field in asked.DESCRIPTOR.fields:
        check = _NAMES.get(field.name)
        if check is not None and (not field.has_presence or asked.HasField(field.name)):
            with within(f"{operation}.{field.name}"):
                check(getattr(asked, field.name))
    return operation, {field.name: value for field, value in asked.ListFields()}


def _act(caller: Principal, act: ModerationAction) -> pb.Act:
    """Write an act."""
    return to_message(
        pb.Act,
        act,
        *("organiser", "kind", "text", "deals"),
        act_id=act.id,
        time=timestamp(act.at),
        bot=None if act.kind in _TO_OWNERS else act.bot or None,
        owner=act.owner if sees_people(caller.viewer) else None,
    )


def _version(version: Version, present: Collection[int]) -> pb.BotVersion:
    """Write a version; `present` has the versions that are connected."""
    return pb.BotVersion(
        version_id=version.id,
        bot=version.bot,
        info=bot_info_message(version.profile.info),
        software=version.profile.software or None,
        first_time=timestamp(version.first_at),
        last_time=timestamp(version.last_at),
        connected=version.id in present,
    )


def _rating(rating: Rating, config: LadderConfig) -> rating_pb2.Rating:
    """Write a rating."""
    names, provisional = ("elo", "low", "high", "deals"), is_provisional(rating, config)
    return to_message(rating_pb2.Rating, rating, *names, provisional=provisional)


def _ratings(ratings: Mapping[str, Mapping[int, Rating]], config: LadderConfig) -> Iterator[pb.VersionRating]:
    """Write ratings by board and version."""
    for board, of_board in ratings.items():
        for version, rating in of_board.items():
            yield pb.VersionRating(version_id=version, board=board, rating=_rating(rating, config))


def _season(season: Season, config: LadderConfig) -> pb.Season:
    """Write a season."""
    is_planned = season.ended_at is None and config.season_days
    planned_end = season.started_at + config.season_days * _DAY if is_planned else None
    return pb.Season(
        season_id=season.id,
        deals=season.deals,
        games=season.games,
        start_time=timestamp(season.started_at),
        end_time=timestamp(season.ended_at),
        planned_end_time=timestamp(planned_end),
        commitment=hashlib.sha256(season.commitment.encode()).hexdigest(),
    )


def _deal(
    deal: LadderDeal, games: Sequence[FinishedGame], versions: Mapping[int, Version], present: Collection[int]
) -> pb.LadderDeal:
    """Write a deal with its finished games, in the order of the rotations."""
    return to_message(
        pb.LadderDeal,
        deal,
        *("season_id", "board", "kind", "challenge_id", "act_id"),
        deal_id=deal.id,
        versions=[_version(versions[version], present) for version in deal.versions],
        match_ids=[game.match_id for game in games],
        places=[
            sum(game.places[game.bots.index(versions[version].bot)] for game in games)
            for version in deal.versions
        ],
        start_time=timestamp(deal.started_at),
        finish_time=timestamp(deal.finished_at if deal.finished else None),
        dropped=deal.state is DealState.DROPPED,
    )


def _challenge(challenge: Challenge, deals_finished: int) -> pb.Challenge:
    """Write a challenge with the number of its finished deals."""
    return to_message(
        pb.Challenge,
        challenge,
        *("bot", "board", "kind", "opponents", "accepted", "deals", "old_version_id", "state"),
        challenge_id=challenge.id,
        deals_finished=deals_finished,
        create_time=timestamp(challenge.created_at),
        expire_time=timestamp(challenge.expires_at),
    )
