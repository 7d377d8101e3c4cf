"""The ladder's messages as JSON; times are in UTC, and unknown values null."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.records.record import Json
from happycity.tournament.v1beta1 import rating_pb2
from happycity.wire.match import bot_info_of, seconds_of
from happycity.wire.messages import config_of
from happycity_ladder.entries import ActKind

KINDS: dict[int, str] = {
    pb.DEAL_KIND_RATED: "rated",
    pb.DEAL_KIND_CHALLENGE: "challenge",
    pb.DEAL_KIND_COMPARISON: "comparison",
}
STATES: dict[int, str] = {
    pb.CHALLENGE_STATE_OPEN: "open",
    pb.CHALLENGE_STATE_PLAYING: "playing",
    pb.CHALLENGE_STATE_FINISHED: "finished",
    pb.CHALLENGE_STATE_DECLINED: "declined",
    pb.CHALLENGE_STATE_EXPIRED: "expired",
    pb.CHALLENGE_STATE_WITHDRAWN: "withdrawn",
}
FLAGS: dict[int, str] = {
    pb.FLAG_KIND_HELPING: "helping",
    pb.FLAG_KIND_FORFEITING: "forfeiting",
}
ACTS: dict[int, str] = {pb.ActKind.Value(f"ACT_KIND_{kind.name}"): kind.value for kind in ActKind}
OTHER = "other"
"""A value of a newer server that this version doesn't know."""


def ladder_json(ladder: pb.Ladder) -> Json:
    """Return what a ladder consists of, and how it stands."""
    return {
        "name": ladder.name,
        "boards": list(map(_board_json, ladder.boards)),
        "anchor": ladder.anchor,
        "anchor_elo": ladder.anchor_elo,
        "season": season_json(ladder.season),
        "bots_connected": ladder.bots_connected,
        "bots": ladder.bots,
        "deals_running": ladder.deals_running,
        "longest_wait_seconds": seconds_of(ladder.longest_wait),
        "ratings_behind": ladder.ratings_behind,
    }


def season_json(season: pb.Season) -> Json:
    """Return a season."""
    return {
        "season": season.season_id,
        "start": _time(season.start_time),
        "end": _time(season.end_time) if season.HasField("end_time") else None,
        "planned_end": _time(season.planned_end_time) if season.HasField("planned_end_time") else None,
        "deals": season.deals,
        "games": season.games,
    }


def line_json(line: pb.LeaderboardLine) -> Json:
    """Return a line of a leaderboard; a bot without a rank has null there."""
    return {
        "rank": line.rank if line.HasField("rank") else None,
        "bot": line.version.bot,
        "owner": line.owner,
        "house": line.house,
        "inactive": line.inactive,
        "suspended": line.suspended,
        "connected": line.version.connected,
        "version": version_json(line.version),
        **rating_json(line.rating),
        "games": line.games,
        "firsts": line.firsts,
        "forfeits": line.forfeits,
        "cost": {
            "cpu_seconds": line.cost.cpu_seconds,
            "peak_memory_bytes": line.cost.peak_memory_bytes,
        }
        if line.HasField("cost")
        else None,
    }


def bot_json(bot: pb.LadderBot) -> Json:
    """Return a bot with its versions, ratings and history."""
    return {
        "bot": bot.bot,
        "owner": bot.owner,
        "house": bot.house,
        "versions": list(map(version_json, bot.versions)),
        "ratings": list(map(version_rating_json, bot.ratings)),
        "board": bot.board,
        "wait": bot.wait.text or None,
        "wait_end": _time(bot.wait.end_time) if bot.wait.HasField("end_time") else None,
        "history": [
            {"time": _time(point.time), "version": point.version_id, **rating_json(point.rating)}
            for point in bot.history
        ],
    }


def act_json(act: pb.Act) -> Json:
    """Return what an organiser did."""
    return {
        "act": act.act_id,
        "time": _time(act.time),
        "organiser": act.organiser or None,
        "kind": ACTS.get(act.kind, OTHER),
        "bot": act.bot or None,
        "owner": act.owner or None,
        "text": act.text,
        "deals": act.deals,
    }


def version_json(version: pb.BotVersion) -> Json:
    """Return a version of a bot."""
    info = bot_info_of(version.info)
    return {
        "id": version.version_id,
        "version": info.version,
        "author": info.author,
        "language": info.language,
        "description": info.description,
        "software": version.software,
        "first": _time(version.first_time),
        "last": _time(version.last_time),
        "connected": version.connected,
    }


def version_rating_json(rating: pb.VersionRating) -> Json:
    """Return the rating of a version."""
    return {"version": rating.version_id, "board": rating.board, **rating_json(rating.rating)}


def rating_json(rating: rating_pb2.Rating) -> Json:
    """Return a rating."""
    return {
        "elo": rating.elo,
        "elo_low": rating.low,
        "elo_high": rating.high,
        "deals": rating.deals,
        "provisional": rating.provisional,
    }


def deal_json(deal: pb.LadderDeal) -> Json:
    """Return a deal; places are sums over its games, by bot."""
    return {
        "deal": deal.deal_id,
        "season": deal.season_id,
        "board": deal.board,
        "kind": KINDS.get(deal.kind, OTHER),
        "bots": [version.bot for version in deal.versions],
        "versions": [version.version_id for version in deal.versions],
        "matches": list(deal.match_ids),
        "places": list(deal.places),
        "start": _time(deal.start_time),
        "finish": _time(deal.finish_time) if deal.HasField("finish_time") else None,
        "dropped": deal.dropped,
        "challenge": deal.challenge_id or None,
        "voided_by_act": deal.act_id or None,
    }


def challenge_json(challenge: pb.Challenge) -> Json:
    """Return a challenge."""
    return {
        "challenge": challenge.challenge_id,
        "bot": challenge.bot,
        "board": challenge.board,
        "kind": KINDS.get(challenge.kind, OTHER),
        "opponents": list(challenge.opponents),
        "accepted": list(challenge.accepted),
        "deals": challenge.deals,
        "deals_finished": challenge.deals_finished,
        "state": STATES.get(challenge.state, OTHER),
        "created": _time(challenge.create_time),
        "expires": _time(challenge.expire_time),
        "old_version": challenge.old_version_id or None,
    }


def comparison_json(comparison: pb.VersionComparison) -> Json:
    """Return how two versions compare."""
    return {
        "deals": comparison.deals,
        "difference": comparison.difference if comparison.deals else None,
        "standard_error": comparison.standard_error if comparison.HasField("standard_error") else None,
        "ratings": list(map(version_rating_json, comparison.ratings)),
    }


def flag_json(flag: pb.Flag) -> Json:
    """Return an odd result."""
    return {
        "kind": FLAGS.get(flag.kind, OTHER),
        "bot": flag.bot,
        "beneficiary": flag.beneficiary or None,
        "board": flag.board,
        "deals": flag.deals,
        "deviation": flag.deviation,
        "p_value": flag.p_value,
        "text": flag.text,
        "deal_ids": list(flag.deal_ids),
    }


def _board_json(board: pb.LadderBoard) -> Json:
    game = config_of(board.game)
    return {
        "board": board.name,
        "players": game.players,
        "mode": game.mode.value,
        "scoring": game.scoring.value,
        "share": board.share,
    }


def _time(moment: Timestamp) -> str:
    return moment.ToJsonString()
