"""Tournaments as the contract tells them: what this package knows, made into messages and read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeVar

from happycity import ConfigError
from happycity.v1 import game_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.wire import (
    config_message,
    config_of,
    failure_policy_message,
    failure_policy_of,
    time_control_message,
    time_control_of,
)
from happycity_tournament.config import DEFAULT_CONCURRENCY, DEFAULT_MINIMUM, TournamentConfig
from happycity_tournament.final_ratings import Ratings, rate
from happycity_tournament.formats import Format, counted
from happycity_tournament.game_columns import GamesBuilder
from happycity_tournament.rating_tables import Ranked, ranked
from happycity_tournament.ratings import MEAN_ELO
from happycity_tournament.results import GameResult
from happycity_tournament.schedule import Orders, Stay
from happycity_tournament.sprt import EloScale, SprtState, SprtTerms, Verdict
from happycity_tournament.standings import Standing
from happycity_tournament.status import TournamentState, TournamentStatus

_Value = TypeVar("_Value", bound=Enum)
_Number = TypeVar("_Number", bound=int)

_FORMATS = {
    Format.RANDOM_ROUNDS: pb.TOURNAMENT_FORMAT_RANDOM_ROUNDS,
    Format.ROUND_ROBIN: pb.TOURNAMENT_FORMAT_ROUND_ROBIN,
    Format.SWISS: pb.TOURNAMENT_FORMAT_SWISS,
    Format.GAUNTLET: pb.TOURNAMENT_FORMAT_GAUNTLET,
    Format.ADAPTIVE: pb.TOURNAMENT_FORMAT_ADAPTIVE,
    Format.SPRT: pb.TOURNAMENT_FORMAT_SPRT,
}
_ORDERS = {
    Orders.ROTATIONS: pb.SEAT_ORDERS_ROTATIONS,
    Orders.ALL: pb.SEAT_ORDERS_ALL,
    Orders.SINGLE: pb.SEAT_ORDERS_SINGLE,
}
_SCALES = {
    EloScale.LOGISTIC: pb.ELO_SCALE_LOGISTIC,
    EloScale.NORMALISED: pb.ELO_SCALE_NORMALISED,
}
_VERDICTS = {
    Verdict.RUNNING: pb.SPRT_VERDICT_RUNNING,
    Verdict.H0: pb.SPRT_VERDICT_H0,
    Verdict.H1: pb.SPRT_VERDICT_H1,
    Verdict.NO_DIFFERENCE: pb.SPRT_VERDICT_NO_DIFFERENCE,
    Verdict.UNDECIDED: pb.SPRT_VERDICT_UNDECIDED,
}

_STATES = {
    TournamentState.WAITING: pb.TOURNAMENT_STATE_WAITING,
    TournamentState.RUNNING: pb.TOURNAMENT_STATE_RUNNING,
    TournamentState.FINISHED: pb.TOURNAMENT_STATE_FINISHED,
    TournamentState.STOPPED: pb.TOURNAMENT_STATE_STOPPED,
    TournamentState.INTERRUPTED: pb.TOURNAMENT_STATE_INTERRUPTED,
}


def tournament_config_message(config: TournamentConfig, *, with_seed: bool = True) -> pb.TournamentConfig:
    """Return what a tournament consists of; whoever knows its seed knows the deals."""
    return pb.TournamentConfig(
        bots=config.bots,
        game=config_message(config.game),
        rounds=config.rounds,
        seed=config.seed if with_seed else None,
        time_control=time_control_message(config.time),
        failure_policy=failure_policy_message(config.policy),
        concurrency=config.concurrency,
        format=_FORMATS[config.format],
        cycles=config.cycles,
        orders=_ORDERS[config.orders],
        challengers=config.challengers,
        minimum=config.minimum,
        sprt=_sprt_terms_message(config.sprt) if config.format is Format.SPRT else None,
        anchor=config.anchor or "",
        anchor_elo=config.anchor_elo,
        roster=[
            pb.Stay(bot=stay.bot, first_round=stay.first_round, last_round=stay.last_round)
            for stay in config.roster
        ],
    )


def tournament_config_of(message: pb.TournamentConfig, *, default_seed: int) -> TournamentConfig:
    """Read what a tournament consists of.

    Raises:
        ConfigError: the game, the terms or the roster make no sense, or this version doesn't know the format.
    """
    return TournamentConfig(
        bots=tuple(message.bots),
        game=config_of(message.game),
        rounds=message.rounds,
        seed=message.seed if message.HasField("seed") else default_seed,
        time=time_control_of(message.time_control),
        policy=failure_policy_of(message.failure_policy),
        concurrency=message.concurrency or DEFAULT_CONCURRENCY,
        format=_known("format", message.format, _FORMATS, default=Format.RANDOM_ROUNDS),
        cycles=message.cycles or 1,
        orders=_known("orders", message.orders, _ORDERS, default=Orders.ROTATIONS),
        challengers=tuple(message.challengers),
        minimum=message.minimum or DEFAULT_MINIMUM,
        sprt=_sprt_terms_of(message.sprt) if message.HasField("sprt") else SprtTerms(),
        anchor=message.anchor or None,
        anchor_elo=message.anchor_elo if message.HasField("anchor_elo") else MEAN_ELO,
        roster=tuple(map(_stay_of, message.roster)),
    )


def _stay_of(message: pb.Stay) -> Stay:
    return Stay(
        bot=message.bot,
        first_round=message.first_round or 1,
        last_round=message.last_round if message.HasField("last_round") else None,
    )


def _known(field: str, number: _Number, values: Mapping[_Value, _Number], *, default: _Value) -> _Value:
    """Return the value that a number of the contract's stands for; 0 stands for the default.

    Raises:
        ConfigError: it stands for nothing that this version knows.
    """
    if not number:
        return default
    for value, known in values.items():
        if known == number:
            return value
    raise ConfigError(f"{field}: {number} is unknown to this version")


def _sprt_terms_message(terms: SprtTerms) -> pb.SprtTerms:
    return pb.SprtTerms(
        elo0=terms.elo0,
        elo1=terms.elo1,
        alpha=terms.alpha,
        beta=terms.beta,
        max_blocks=terms.max_blocks,
        scale=_SCALES[terms.scale],
    )


def _sprt_terms_of(message: pb.SprtTerms) -> SprtTerms:
    default = SprtTerms()
    return SprtTerms(
        elo0=message.elo0,
        elo1=message.elo1,
        alpha=message.alpha if message.HasField("alpha") else default.alpha,
        beta=message.beta if message.HasField("beta") else default.beta,
        max_blocks=message.max_blocks or default.max_blocks,
        scale=_known("sprt.scale", message.scale, _SCALES, default=default.scale),
    )


def sprt_message(state: SprtState | None) -> pb.SprtState | None:
    """Return where a sequential test stands; None if there is none."""
    if state is None:
        return None
    return pb.SprtState(
        verdict=_VERDICTS[state.verdict],
        blocks=state.blocks,
        llr=state.llr,
        lower=state.lower,
        upper=state.upper,
        elo=state.elo,
        elo_low=state.elo_low,
        elo_high=state.elo_high,
    )


def tournament_message(status: TournamentStatus, *, missing_bots: Iterable[str] = ()) -> pb.Tournament:
    """Return a tournament and how far it is, without its seed while its deals are in play."""
    config = status.config
    message = pb.Tournament(
        tournament_id=status.tournament_id,
        config=tournament_config_message(config, with_seed=status.revealed),
        state=_STATES[status.state],
        games_total=status.games_total,
        games_finished=status.progress.games,
        decisions=status.progress.decisions,
        seconds=status.progress.seconds,
        missing_bots=missing_bots,
        disqualified_bots=status.standings.disqualified,
        games_voided=status.games_voided,
        games_quarantined=status.standings.games_quarantined,
        remarks=status.remarks,
    )
    message.create_time.FromNanoseconds(round(status.created_at * 1e9))
    return message


def standing_messages(status: TournamentStatus) -> list[pb.Standing]:
    """Return the standings after the games that count, best first."""
    return [_standing(line) for line in status.standings.lines()]


def _standing(line: Standing) -> pb.Standing:
    return pb.Standing(
        rank=line.rank,
        bot=line.bot,
        elo=line.elo,
        elo_low=line.elo_low,
        elo_high=line.elo_high,
        games=line.games,
        points_mean=line.points_mean,
        firsts=line.firsts,
        forfeits=line.forfeits,
        forfeits_by_reason=[
            pb.EndingCount(ending=game_pb2.Ending.Value(f"ENDING_FORFEIT_{reason.upper()}"), games=games)
            for reason, games in line.forfeits_by_reason.items()
        ],
        games_quarantined=line.games_quarantined,
    )


def rated(config: TournamentConfig, results: Iterable[GameResult]) -> pb.FinalRatings | None:
    """Return the final ratings of a tournament by its games, in their order; it may take seconds.

    None is the answer without any game that is rated.
    """
    builder = GamesBuilder(config.bots)
    for result in counted(config, results):
        builder.add(result, deal=result.fixture.deal)
    games = builder.build()
    if not games.tables:
        return None
    ratings = rate(games, anchor=config.anchor, anchor_elo=config.anchor_elo)
    return final_ratings_message(ratings, anchor_elo=config.anchor_elo)


def final_ratings_message(ratings: Ratings, *, anchor_elo: float) -> pb.FinalRatings:
    """Return final ratings, pool by pool and best first; what can't be told is absent."""
    order = ranked(ratings)
    sizes = sorted(set(ratings.seat_effects) | set(ratings.duplicate_gains))
    return pb.FinalRatings(
        model=ratings.model,
        ratings=[
            _rating(ratings, entry, following)
            for entry, following in zip(order, [*order[1:], None], strict=True)
        ],
        tables=[
            pb.TableFacts(
                seats=size,
                seat_effects=ratings.seat_effects.get(size, ()),
                duplicate_gain=ratings.duplicate_gains.get(size),
            )
            for size in sizes
        ],
        anchor=ratings.anchor,
        anchor_elo=anchor_elo,
        ties=[pb.TieDelta(bots=bots, delta=delta) for bots, delta in sorted(ratings.deltas.items())],
    )


def _rating(ratings: Ratings, entry: Ranked, following: Ranked | None) -> pb.FinalRating:
    line = entry.line
    return pb.FinalRating(
        rank=entry.rank,
        bot=line.bot,
        elo=line.elo,
        elo_low=line.low,
        elo_high=line.high,
        games=line.games,
        deals=line.deals,
        pool=line.pool + 1,
        los_next=ratings.los(line.bot, following.line.bot) if following is not None else None,
    )
