"""A tournament as the commands write it with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from happycity.records import Json
from happycity.v1 import game_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity_tournament.messages import tournament_config_of
from happycity_tournament.sprt_words import sprt_json


def state_of(tournament: pb.Tournament) -> str:
    """Return where a tournament stands, in one word: `waiting`, `running`, `finished` and so on."""
    return pb.TournamentState.Name(tournament.state).removeprefix("TOURNAMENT_STATE_").lower()


def reason_of(ending: game_pb2.Ending.ValueType) -> str:
    """Return why a seat was forfeited, as records tell it."""
    return game_pb2.Ending.Name(ending).removeprefix("ENDING_FORFEIT_").lower()


def listed_json(tournament: pb.Tournament) -> Json:
    """Return a tournament as lists tell it."""
    return {
        "tournament": tournament.tournament_id,
        "state": state_of(tournament),
        "games": tournament.games_finished,
        "games_total": tournament.games_total,
        "bots": list(tournament.config.bots),
        "roster": roster_json(tournament),
        "created": _created(tournament),
        "remarks": list(tournament.remarks),
    }


def result_json(update: pb.WatchTournamentResponse) -> Json:
    """Return a tournament with its standings and final ratings.

    Raises:
        ConfigError: the tournament's configuration makes no sense to this version.
    """
    tournament = update.tournament
    return {
        "tournament": tournament.tournament_id,
        "state": state_of(tournament),
        "created": _created(tournament),
        "config": _config_json(tournament.config),
        "games": tournament.games_finished,
        "games_total": tournament.games_total,
        "decisions": tournament.decisions,
        "seconds": round(tournament.seconds, 3),
        "games_voided": tournament.games_voided,
        "games_quarantined": tournament.games_quarantined,
        "disqualified": list(tournament.disqualified_bots),
        "missing_bots": list(tournament.missing_bots),
        "remarks": list(tournament.remarks),
        "standings": [_standing_json(line) for line in update.standings],
        "final": _final_json(update.final_ratings) if update.HasField("final_ratings") else None,
        **({"sprt": sprt_json(update.sprt)} if update.HasField("sprt") else {}),
    }


def roster_json(tournament: pb.Tournament) -> list[Json]:
    """Return the rounds of the bots that joined late or were withdrawn, as the configuration has them."""
    return [
        {
            "bot": stay.bot,
            "first_round": stay.first_round,
            "last_round": stay.last_round if stay.HasField("last_round") else None,
        }
        for stay in tournament.config.roster
    ]


def _created(tournament: pb.Tournament) -> str:
    return tournament.create_time.ToDatetime(tzinfo=UTC).isoformat(timespec="seconds")


def _config_json(message: pb.TournamentConfig) -> Json:
    config = tournament_config_of(message, default_seed=0).json()
    return config if message.HasField("seed") else {**config, "seed": None}


def _standing_json(line: pb.Standing) -> Json:
    return {
        "rank": line.rank,
        "bot": line.bot,
        "elo": line.elo,
        "elo_low": line.elo_low if line.HasField("elo_low") else None,
        "elo_high": line.elo_high if line.HasField("elo_high") else None,
        "games": line.games,
        "points_mean": line.points_mean,
        "firsts": line.firsts,
        "forfeits": line.forfeits,
        "forfeits_by_reason": {reason_of(count.ending): count.games for count in line.forfeits_by_reason},
        "games_quarantined": line.games_quarantined,
    }


def _final_json(final: pb.FinalRatings) -> Json:
    return {
        "model": final.model,
        "anchor": final.anchor if final.HasField("anchor") else None,
        "anchor_elo": final.anchor_elo,
        "ratings": [_rating_json(line) for line in final.ratings],
        "seat_effects": {
            str(table.seats): list(table.seat_effects) for table in final.tables if table.seat_effects
        },
        "ties": {str(tie.bots): tie.delta for tie in final.ties},
        "duplicate_gains": _gains(final.tables),
    }


def _gains(tables: Sequence[pb.TableFacts]) -> Json:
    return {
        str(table.seats): table.duplicate_gain if table.HasField("duplicate_gain") else None
        for table in tables
    }


def _rating_json(line: pb.FinalRating) -> Json:
    return {
        "rank": line.rank,
        "bot": line.bot,
        "elo": line.elo,
        "elo_low": line.elo_low if line.HasField("elo_low") else None,
        "elo_high": line.elo_high if line.HasField("elo_high") else None,
        "los_next": line.los_next if line.HasField("los_next") else None,
        "games": line.games,
        "deals": line.deals,
        "pool": line.pool,
    }
