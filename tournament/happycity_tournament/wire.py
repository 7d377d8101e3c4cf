"""Tournaments as messages of the contract, and back again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from happycity import Ending
from happycity.errors import FieldError
from happycity.match import one_line
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.wire.match import (
    bot_info_message,
    bot_info_of,
    duration_message,
    ending_number,
    ending_of,
    failure_policy_message,
    failure_policy_of,
    incident_of,
    seconds_of,
    time_control_message,
    time_control_of,
)
from happycity.wire.messages import config_message, config_of
from happycity_tournament.config import (
    FORMATS,
    Format,
    SeatOrders,
    SprtTest,
    TournamentConfig,
    TournamentState,
)
from happycity_tournament.games import LATEST, BotProfile
from happycity_tournament.play.snapshot import BotActivity, MatchIncident, Snapshot
from happycity_tournament.ratings.results import BotRating, Difference, Ratings
from happycity_tournament.ratings.sprt import SprtState, Verdict
from happycity_tournament.standings.standings import ForfeitCount, Standing

_NUMBERS: dict[str, Mapping[Any, Any]] = {
    "state": {state: pb.TournamentState.Value(f"TOURNAMENT_STATE_{state.name}") for state in TournamentState},
    "seat_orders": {orders: pb.SeatOrders.Value(f"SEAT_ORDERS_{orders.name}") for orders in SeatOrders},
    "verdict": {verdict: pb.SprtVerdict.Value(f"SPRT_VERDICT_{verdict.name}") for verdict in Verdict},
    "ending": {ending: ending_number(ending) for ending in Ending if ending is not Ending.OTHER},
}
"""The numbers of enum values, by the field that has them."""

_RATING = ("elo", "low", "high", "deals")
"""The fields of a bot's line that are its rating in the contract; standings have no deals."""

_PROGRESS = frozenset(
    {
        *("games_total", "games_running", "games_voided", "games_unrated"),
        *("decisions", "decisions_running", "missing_bots", "remarks"),
    }
)
"""The fields of a snapshot that have the same names in the contract's progress."""


def _written(value: Any) -> dict[str, Any]:
    """Return a dataclass as the fields of the message that has the same names; empty texts are absent."""

    def fields(attributes: list[tuple[str, Any]]) -> dict[str, Any]:
        return {
            name: _NUMBERS[name][value] if name in _NUMBERS else value
            for name, value in attributes
            if value != ""
        }

    return asdict(value, dict_factory=fields)


def _read(message: Message) -> dict[str, Any]:
    """Return the fields of a message that are set, as the dataclass with the same names takes them."""
    fields: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        if field.name in _NUMBERS:
            value = _known(field.name, value)
        elif isinstance(value, Timestamp):
            value = unix_of(value)
        fields[field.name] = tuple(value) if field.is_repeated else value
    return fields


def _known(field: str, number: int) -> Any:
    """Return the value of an enum field with a number of the contract; ConfigError if there is none."""
    for value, known in _NUMBERS[field].items():
        if known == number:
            return value
    raise FieldError(field, f"{number} is not one of {', '.join(map(str, _NUMBERS[field].values()))}")


def tournament_config_message(config: TournamentConfig, *, with_seed: bool = True) -> pb.TournamentConfig:
    """Write what a tournament consists of; its seed gives away the deals."""
    own: Any = _written(config.format)
    return pb.TournamentConfig(
        bots=config.bots,
        game=config_message(config.game),
        seed=config.seed if with_seed else None,
        time_control=time_control_message(config.time),
        failure_policy=failure_policy_message(config.policy),
        concurrency=config.concurrency,
        anchor=config.anchor,
        anchor_elo=config.anchor_elo,
        title=config.title or None,
        begin_incomplete=config.begin_incomplete,
        hosted_bots=config.hosted_bots,
        **{own.pop("kind").replace("-", "_"): own},
    )


def tournament_config_of(message: pb.TournamentConfig, *, default_seed: int) -> TournamentConfig:
    """Read what a tournament consists of; `schedule_of` checks whether one can be made of it.

    Raises:
        ConfigError: a field is missing or out of its range.
    """
    chosen = _format_of(message)
    bots = tuple(message.bots)
    if isinstance(chosen, SprtTest) and not bots:
        bots = (chosen.candidate, chosen.base)
    return TournamentConfig(
        bots=bots,
        game=config_of(message.game),
        format=chosen,
        seed=message.seed if message.HasField("seed") else default_seed,
        time=time_control_of(message.time_control),
        policy=failure_policy_of(message.failure_policy),
        anchor=message.anchor or None,
        title=message.title,
        begin_incomplete=message.begin_incomplete,
        hosted_bots=dict(message.hosted_bots),
        **{name: getattr(message, name) for name in ("concurrency", "anchor_elo") if message.HasField(name)},
    )


def _format_of(message: pb.TournamentConfig) -> Format:
    name = message.WhichOneof("format")
    if name is None:
        raise FieldError(
            "format", "it is missing; set one of random_rounds, round_robin, swiss, gauntlet, ..."
        )
    return FORMATS[name.replace("_", "-")](**_read(getattr(message, name)))


def tournament_message(snapshot: Snapshot, *, with_progress: bool = True) -> pb.Tournament:
    """Write a tournament without its standings; without its configuration if that can't be read."""
    config = snapshot.config
    return pb.Tournament(
        tournament_id=snapshot.tournament_id,
        config=None
        if config is None
        else tournament_config_message(config, with_seed=snapshot.seed is not None),
        create_time=timestamp(snapshot.created_at),
        start_time=None if snapshot.started_at is None else timestamp(snapshot.started_at),
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
    return pb.TournamentProgress(
        state=_NUMBERS["state"][snapshot.state],
        games_finished=snapshot.games,
        elapsed=duration_message(snapshot.seconds),
        disqualified_bots=snapshot.disqualified,
        **{name: getattr(snapshot, name) for name in _PROGRESS},
    )


def state_of(number: int) -> TournamentState:
    """Read where a tournament stands; raise ConfigError if the number is unknown."""
    state: TournamentState = _known("state", number)
    return state


def timestamp(unix: float) -> Timestamp:
    """Write a moment in Unix time; one that a message has no room for becomes the nearest that it has."""
    message = Timestamp()
    message.FromNanoseconds(round(min(max(0.0, unix), LATEST) * 1e9))  # nan becomes 0
    return message


def unix_of(message: Timestamp) -> float:
    """Read a moment in Unix time."""
    return message.ToNanoseconds() / 1e9


def standing_message(line: Standing) -> pb.Standing:
    """Write one bot's line of the standings."""
    fields = _written(line)
    del fields["pool"], fields["deals"]  # the contract has them in final ratings only
    return pb.Standing(**_with_rating(fields))


def _with_rating(line: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a line with those of its rating as one field."""
    rating = {name: line.pop(name) for name in _RATING if name in line}
    return {**line, "rating": rating}


def _line_of(message: pb.Standing | pb.FinalRating) -> dict[str, Any]:
    """Return the fields of a line and those of its rating."""
    line, rating = _read(message), _read(message.rating)
    line.pop("rating", None)
    return {**line, **{name: rating[name] for name in _RATING if name in rating}}


def sprt_message(state: SprtState | None) -> pb.SprtState | None:
    """Write where a sequential test stands; None if there is none."""
    return None if state is None else pb.SprtState(**_written(state))


def ratings_message(ratings: Ratings) -> pb.FinalRatings:
    """Write final ratings, pool by pool and best first; what isn't known is absent."""
    return pb.FinalRatings(
        model=ratings.model,
        ratings=[
            pb.FinalRating(
                **_with_rating(_written(line)),
                above_next=None if above is None else pb.Difference(**above._asdict()),
            )
            for line, _, above in ratings.to_next()
        ],
        anchor=ratings.anchor,
        anchor_elo=ratings.anchor_elo,
        notes=ratings.notes,
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
    state = state_of(progress.state)
    config = None
    if state is not TournamentState.UNREADABLE:
        config = tournament_config_of(tournament.config, default_seed=0)
    order = {bot: number for number, bot in enumerate(config.bots if config is not None else ())}
    lines = sorted(map(_standing_of, standings), key=lambda line: (line.rank, order.get(line.bot, 0)))
    return Snapshot(
        tournament_id=tournament.tournament_id,
        config=config,
        seed=tournament.config.seed if tournament.config.HasField("seed") else None,
        created_at=unix_of(tournament.create_time),
        state=state,
        games=progress.games_finished,
        seconds=seconds_of(progress.elapsed),
        disqualified=tuple(progress.disqualified_bots),
        **{name: value for name, value in _read(progress).items() if name in _PROGRESS},
        standings=tuple(lines),
        profiles={
            bot.name: BotProfile(bot_info_of(bot.info), one_line(bot.software)) for bot in tournament.bots
        },
        test=None if sprt is None else SprtState(**_read(sprt)),
        final=None if final is None else ratings_of(final),
        activity=tuple(BotActivity(**_read(entry)) for entry in activity),
        incidents=tuple(
            MatchIncident(**{**_read(entry), "incident": incident_of(entry.incident)}) for entry in incidents
        ),
    )


def _standing_of(message: pb.Standing) -> Standing:
    counts = tuple(
        ForfeitCount(ending_of(count.ending), count.reason, count.games, count.first_match_id)
        for count in message.forfeit_counts
    )
    return Standing(**{**_line_of(message), "forfeit_counts": counts})


def ratings_of(message: pb.FinalRatings) -> Ratings:
    """Read final ratings."""
    lines, differences = [], {}
    for line, following in zip_longest(message.ratings, message.ratings[1:]):
        fields = _line_of(line)
        above = fields.pop("above_next", None)
        lines.append(BotRating(**fields))
        if above is not None and following is not None:
            differences[line.bot, following.bot] = Difference(**_read(above))
    return Ratings(
        lines=tuple(lines),
        anchor=message.anchor or None,
        anchor_elo=message.anchor_elo,
        model=message.model,
        notes=tuple(message.notes),
        differences=differences,
    )
