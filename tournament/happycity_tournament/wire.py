"""Tournaments as messages of the contract, and back again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import zip_longest

from happycity.errors import FieldError
from happycity.match import one_line
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.v1.rating_pb2 import Rating
from happycity.wire.enums import enum_field
from happycity.wire.fields import present_fields, to_message
from happycity.wire.match import (
    bot_info_message,
    bot_info_of,
    duration_message,
    ending_of,
    failure_policy_message,
    failure_policy_of,
    seconds_of,
    time_control_message,
    time_control_of,
)
from happycity.wire.messages import config_message, config_of
from happycity.wire.moments import timestamp, unix_of
from happycity_tournament.config import (
    FORMATS,
    Format,
    SeatOrders,
    Seed,
    SprtTest,
    TournamentConfig,
    TournamentState,
)
from happycity_tournament.games import BotProfile
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.ratings.results import BotRating, Difference, Ratings
from happycity_tournament.ratings.sprt import SprtState, Verdict
from happycity_tournament.standings.standings import ForfeitCount, Standing

_PROGRESS = (
    *("games_total", "games_running", "games_voided", "games_unrated"),
    *("decisions", "decisions_running", "missing_bots", "remarks"),
)
_FORFEITS = ("ending", "reason", "games", "first_match_id")
_RATING = ("elo", "low", "high", "rank_best", "rank_worst", "mark")
_STANDING = (
    *("rank", "bot", "games", "points_mean", "wins", "forfeits", "games_unrated"),
    *("shared", "score", "place_mean"),
)
_FINAL_RATING = ("bot", "games", "pool")
_SPRT = ("blocks", "llr", "lower", "upper", "elo", "elo_low", "elo_high")
"""Fields that messages and our classes have by the same names."""


def tournament_config_message(config: TournamentConfig, *, with_seed: bool = True) -> pb.TournamentConfig:
    """Write what a tournament consists of; its seed gives away the deals."""
    seed = {"seed_name" if isinstance(config.seed, str) else "seed": config.seed} if with_seed else {}
    message = to_message(
        pb.TournamentConfig,
        config,
        *("bots", "concurrency", "anchor", "anchor_elo", "title", "begin_incomplete", "hosted_bots"),
        game=config_message(config.game),
        **seed,
        time_control=time_control_message(config.time),
        failure_policy=failure_policy_message(config.policy),
    )
    chosen = getattr(message, config.format.kind.replace("-", "_"))
    chosen.CopyFrom(to_message(type(chosen), config.format, *chosen.DESCRIPTOR.fields_by_name))
    return message


def tournament_config_of(message: pb.TournamentConfig, *, default_seed: int) -> TournamentConfig:
    """Read what a tournament consists of; `schedule_of` checks whether one can be made of it.

    ConfigError if a field is missing or out of its range.
    """
    chosen = _format_of(message)
    bots = tuple(message.bots)
    if isinstance(chosen, SprtTest) and not bots:
        bots = (chosen.candidate, chosen.base)
    return TournamentConfig(
        bots=bots,
        game=config_of(message.game),
        format=chosen,
        seed=default_seed if (seed := seed_of(message)) is None else seed,
        time=time_control_of(message.time_control),
        policy=failure_policy_of(message.failure_policy),
        anchor=message.anchor or None,
        hosted_bots=dict(message.hosted_bots),
        **present_fields(message, "concurrency", "anchor_elo", "title", "begin_incomplete"),
    )


def seed_of(message: pb.TournamentConfig) -> Seed | None:
    """Return the number or name from which the deals come; None if it is hidden."""
    if message.HasField("seed_name"):
        return message.seed_name
    return message.seed if message.HasField("seed") else None


def hide_seed(message: pb.TournamentConfig) -> None:
    """Take out of a message what gives away the deals."""
    message.ClearField("seed")
    message.ClearField("seed_name")


def _format_of(message: pb.TournamentConfig) -> Format:
    name = message.WhichOneof("format")
    if name is None:
        raise FieldError(
            "format", "it is missing; set one of random_rounds, round_robin, swiss, gauntlet, ..."
        )
    chosen = getattr(message, name)
    fields = present_fields(chosen, *chosen.DESCRIPTOR.fields_by_name)
    if "seat_orders" in fields:
        fields["seat_orders"] = enum_field(chosen, "seat_orders", SeatOrders)
    return FORMATS[name.replace("_", "-")](**fields)


def tournament_message(snapshot: Snapshot, *, with_progress: bool = True) -> pb.Tournament:
    """Write a tournament without its standings; without its configuration if that can't be read."""
    config = snapshot.config
    return pb.Tournament(
        tournament_id=snapshot.tournament_id,
        config=None
        if config is None
        else tournament_config_message(config, with_seed=snapshot.seed is not None),
        create_time=timestamp(snapshot.created_at),
        start_time=timestamp(snapshot.started_at),
        progress=progress_message(snapshot) if with_progress else None,
        bots=[
            pb.TournamentBot(
                name=bot,
                info=bot_info_message(snapshot.profiles[bot].info),
                software=snapshot.profiles[bot].software or None,
            )
            for bot in snapshot.bots
            if bot in snapshot.profiles
        ],
    )


def progress_message(snapshot: Snapshot) -> pb.TournamentProgress:
    """Write how far a tournament is."""
    return to_message(
        pb.TournamentProgress,
        snapshot,
        "state",
        *_PROGRESS,
        games_finished=snapshot.games,
        elapsed=duration_message(snapshot.seconds),
        disqualified_bots=snapshot.disqualified,
    )


def state_of(message: pb.TournamentProgress | pb.ListTournamentsRequest) -> TournamentState:
    """Read where a tournament stands; raise ConfigError if that is unknown."""
    return enum_field(message, "state", TournamentState)


def standing_message(line: Standing) -> pb.Standing:
    """Write one bot's line of the standings."""
    return to_message(
        pb.Standing,
        line,
        *_STANDING,
        rating=to_message(Rating, line, *_RATING),  # the contract has its deals in final ratings only
        forfeit_counts=[to_message(pb.ForfeitCount, count, *_FORFEITS) for count in line.forfeit_counts],
    )


def sprt_message(state: SprtState | None) -> pb.SprtState | None:
    """Write where a sequential test stands; None if there is none."""
    return None if state is None else to_message(pb.SprtState, state, "verdict", *_SPRT)


def ratings_message(ratings: Ratings) -> pb.FinalRatings:
    """Write final ratings, pool by pool and best first; what isn't known is absent."""
    return to_message(
        pb.FinalRatings,
        ratings,
        *("model", "anchor", "anchor_elo", "notes"),
        ratings=[
            to_message(
                pb.FinalRating,
                line,
                *_FINAL_RATING,
                rating=to_message(Rating, line, *_RATING, "deals"),
                above_next=None if above is None else pb.Difference(**asdict(above)),
            )
            for line, _, above in ratings.to_next()
        ],
    )


def snapshot_of(
    tournament: pb.Tournament,
    progress: pb.TournamentProgress,
    *,
    standings: Iterable[pb.Standing] = (),
    sprt: pb.SprtState | None = None,
    final: pb.FinalRatings | None = None,
    activity: Iterable[pb.BotActivity] = (),
    incidents: Iterable[pb.MatchIncident] = (),
) -> Snapshot:
    """Read a tournament; raise ConfigError if a field is missing or out of its range."""
    state = state_of(progress)
    config = None
    if state is not TournamentState.UNREADABLE:
        config = tournament_config_of(tournament.config, default_seed=0)
    order = {bot: number for number, bot in enumerate(config.bots if config is not None else ())}
    lines = sorted(map(_standing_of, standings), key=lambda line: (line.rank, order.get(line.bot, 0)))
    return Snapshot(
        tournament_id=tournament.tournament_id,
        config=config,
        seed=seed_of(tournament.config),
        created_at=unix_of(tournament.create_time),
        state=state,
        games=progress.games_finished,
        seconds=seconds_of(progress.elapsed),
        disqualified=tuple(progress.disqualified_bots),
        **present_fields(progress, *_PROGRESS),
        standings=tuple(lines),
        profiles={
            bot.name: BotProfile(bot_info_of(bot.info), one_line(bot.software)) for bot in tournament.bots
        },
        test=None
        if sprt is None
        else SprtState(verdict=enum_field(sprt, "verdict", Verdict), **present_fields(sprt, *_SPRT)),
        final=None if final is None else ratings_of(final),
        activity=tuple(activity),
        incidents=tuple(incidents),
    )


def _standing_of(message: pb.Standing) -> Standing:
    counts = tuple(
        ForfeitCount(ending_of(count.ending), count.reason, count.games, count.first_match_id)
        for count in message.forfeit_counts
    )
    rating = present_fields(message.rating, *_RATING)
    return Standing(forfeit_counts=counts, **rating, **present_fields(message, *_STANDING))


def difference_of(message: pb.Difference) -> Difference:
    """Read how much higher a bot is rated than another one."""
    return Difference(elo=message.elo, los=message.los, **present_fields(message, "low", "high"))


def ratings_of(message: pb.FinalRatings) -> Ratings:
    """Read final ratings."""
    lines, differences = [], {}
    for line, following in zip_longest(message.ratings, message.ratings[1:]):
        rating = present_fields(line.rating, *_RATING, "deals")
        lines.append(BotRating(**rating, **present_fields(line, *_FINAL_RATING)))
        if line.HasField("above_next") and following is not None:
            differences[line.bot, following.bot] = difference_of(line.above_next)
    return Ratings(
        lines=tuple(lines),
        anchor=message.anchor or None,
        anchor_elo=message.anchor_elo,
        model=message.model,
        notes=tuple(message.notes),
        differences=differences,
    )
