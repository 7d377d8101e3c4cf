"""The ladder's objects as messages of the contract, and what requests name of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.tournament.v1beta1 import rating_pb2
from happycity.wire.match import bot_info_message
from happycity.wire.messages import config_message
from happycity_server.errors import ApiError, Reason
from happycity_tournament.games import FinishedGame
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.ladder.entries import (
    Challenge,
    ChallengeState,
    Deal,
    DealKind,
    DealState,
    Rating,
    RatingPoint,
    Season,
    Version,
)
from happycity_tournament.ladder.leaderboard import Line, Z, is_provisional
from happycity_tournament.running.codec import timestamp

if TYPE_CHECKING:  # it takes numpy
    from happycity_tournament.ladder.flags import Flag

_Entry = TypeVar("_Entry")

_DAY = 86400.0
_KINDS = {kind: pb.DealKind.Value(f"DEAL_KIND_{kind.name}") for kind in DealKind}
_STATES = {state: pb.ChallengeState.Value(f"CHALLENGE_STATE_{state.name}") for state in ChallengeState}


def kind_of(number: int) -> DealKind:
    """Read what deals are played for.

    Raises:
        ApiError: there is no such kind.
    """
    return _read(_KINDS, number, f"kind: {number} is not a kind of deals")


def state_of(number: int) -> ChallengeState:
    """Read the state of a challenge.

    Raises:
        ApiError: there is no such state.
    """
    return _read(_STATES, number, f"state: {number} is not a state of a challenge")


def _read(numbers: Mapping[_Entry, int], number: int, problem: str) -> _Entry:
    for entry, value in numbers.items():
        if value == number:
            return entry
    raise ApiError(Reason.INVALID_FIELD, problem)


def board_messages(config: LadderConfig) -> Iterable[pb.LadderBoard]:
    """Write the boards of a ladder."""
    total = sum(board.weight for board in config.boards)
    for board in config.boards:
        yield pb.LadderBoard(name=board.name, game=config_message(board.game), share=board.weight / total)


def version_message(version: Version, present: Collection[int]) -> pb.BotVersion:
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


def rating_message(rating: Rating, config: LadderConfig) -> rating_pb2.Rating:
    """Write a rating."""
    return rating_pb2.Rating(
        elo=rating.elo,
        low=rating.elo - Z * rating.error,
        high=rating.elo + Z * rating.error,
        deals=rating.deals,
        provisional=is_provisional(rating, config),
    )


def rating_messages(
    ratings: Mapping[str, Mapping[int, Rating]], config: LadderConfig
) -> Iterator[pb.VersionRating]:
    """Write ratings by board and version."""
    for board, of_board in ratings.items():
        for version, rating in of_board.items():
            yield pb.VersionRating(version_id=version, board=board, rating=rating_message(rating, config))


def point_message(point: RatingPoint, config: LadderConfig) -> pb.RatingPoint:
    """Write a rating in a version's history."""
    return pb.RatingPoint(
        time=timestamp(point.at),
        version_id=point.version_id,
        rating=rating_message(point.rating, config),
    )


def season_message(season: Season, config: LadderConfig) -> pb.Season:
    """Write a season."""
    is_planned = season.ended_at is None and config.season_days
    return pb.Season(
        season_id=season.id,
        start_time=timestamp(season.started_at),
        end_time=_timestamp(season.ended_at),
        planned_end_time=_timestamp(season.started_at + config.season_days * _DAY if is_planned else None),
        deals=season.deals,
        games=season.games,
        archived=bool(season.archive),
    )


def line_message(line: Line, config: LadderConfig, present: Collection[int]) -> pb.LeaderboardLine:
    """Write a line of a leaderboard."""
    return pb.LeaderboardLine(
        rank=line.rank or None,
        version=version_message(line.version, present),
        rating=rating_message(line.rating, config),
        owner=line.version.owner or None,
        house=line.version.house,
        inactive=line.inactive,
        games=line.score.games,
        firsts=line.score.firsts,
        forfeits=line.score.forfeits,
    )


def deal_message(
    deal: Deal, games: Sequence[FinishedGame], versions: Mapping[int, Version], present: Collection[int]
) -> pb.LadderDeal:
    """Write a deal with its finished games, in the order of the rotations."""
    return pb.LadderDeal(
        deal_id=deal.id,
        season_id=deal.season_id,
        board=deal.board,
        kind=_KINDS[deal.kind],
        versions=[version_message(versions[version], present) for version in deal.versions],
        match_ids=[game.match_id for game in games],
        places=_places(deal, games, versions),
        start_time=timestamp(deal.started_at),
        finish_time=_timestamp(deal.over_at if deal.state is DealState.FINISHED else None),
        dropped=deal.state is DealState.DROPPED,
        challenge_id=deal.challenge_id or None,
    )


def challenge_message(challenge: Challenge, deals_finished: int) -> pb.Challenge:
    """Write a challenge, of whose deals so many are finished."""
    return pb.Challenge(
        challenge_id=challenge.id,
        bot=challenge.bot,
        board=challenge.board,
        kind=_KINDS[challenge.kind],
        opponents=challenge.opponents,
        accepted=challenge.accepted,
        deals=challenge.deals,
        deals_finished=deals_finished,
        state=_STATES[challenge.state],
        create_time=timestamp(challenge.created_at),
        expire_time=timestamp(challenge.expires_at),
        old_version_id=challenge.old_version_id or None,
    )


def flag_messages(flags: Iterable[tuple[Flag, Sequence[int]]]) -> Iterator[pb.Flag]:
    """Write flags, each with the ids of its oddest deals."""
    for flag, deal_ids in flags:
        yield pb.Flag(
            kind=pb.FlagKind.Value(f"FLAG_KIND_{flag.kind.name}"),
            bot=flag.bot,
            beneficiary=flag.beneficiary or None,
            board=flag.board,
            deals=flag.deals,
            deviation=flag.deviation,
            p_value=flag.p_value,
            text=flag.text,
            deal_ids=deal_ids,
        )


def _places(deal: Deal, games: Sequence[FinishedGame], versions: Mapping[int, Version]) -> list[int]:
    """Return the sums of the places that count, in the order of the deal's versions."""
    sums = {versions[version].bot: 0 for version in deal.versions}
    for game in games:
        for bot, place in zip(game.bots, game.places, strict=True):
            sums[bot] += place
    return list(sums.values())


def _timestamp(moment: float | None) -> Timestamp | None:
    return None if moment is None else timestamp(moment)
