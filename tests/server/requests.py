"""Requests for any method: valid ones, and ones with one field made extreme."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from tests.server.harness import HOSTING, PATIENT, method_named

from happycity import Config
from happycity.access.v1beta1 import access_service_pb2 as access
from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament
from happycity.v1 import match_service_pb2 as match
from happycity.wire.messages import config_message
from happycity_server.access.roles import CONTRACT

MAX_BYTES = 1024 * 1024
"""The largest message that a server accepts by default."""

_INTEGERS = (0, 1, -1, 2, 7, 200, 201, 2**31 - 1, 2**31, 2**32 - 1, -(2**31), 2**63 - 1, -(2**63), 2**64 - 1)
_DOUBLES = (0.0, -0.0, -1.0, 0.5, 1e-300, 1e308, float("nan"), float("inf"), float("-inf"))
_TEXTS = (
    "",
    "anna",
    "x" * 65,
    "-",
    "anna ben",
    "\x00",
    "\x1b[31m",
    "näme",
    "\U0001f3e0",
    "9" * 20,
    "9" * 5000,
    "AAAAAAAAAAA=",
    "%s%n{0}",
    "'; --",
)
_BOUNDS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
}


def _tournament(**form: Message) -> tournament.CreateTournamentRequest:
    bots = [] if "sprt" in form else ["anna", "ben", "cleo"]
    config = tournament.TournamentConfig(
        bots=bots, game=config_message(Config(players=2)), time_control=PATIENT
    )
    for name, message in form.items():
        getattr(config, name).CopyFrom(message)
    return tournament.CreateTournamentRequest(config=config)


VALID: Mapping[str, Callable[[], list[Message]]] = {
    "CreateMatch": lambda: [
        match.CreateMatchRequest(
            config=config_message(Config(players=2)), bots=["anna", "ben"], time_control=PATIENT
        )
    ],
    "CreatePracticeMatch": lambda: [
        match.CreatePracticeMatchRequest(config=config_message(Config(players=2)), bots=["anna", "anna"])
    ],
    "CreateTournament": lambda: [
        _tournament(random_rounds=tournament.RandomRounds(rounds=2)),
        _tournament(round_robin=tournament.RoundRobin(cycles=1)),
        _tournament(swiss=tournament.Swiss(rounds=2)),
        _tournament(gauntlet=tournament.Gauntlet(challengers=["anna"], cycles=1)),
        _tournament(sprt=tournament.Sprt(candidate="anna", base="ben", elo1=10.0)),
    ],
    "DisqualifyBot": lambda: [tournament.DisqualifyBotRequest(tournament_id=1, bot="anna")],
    "GetLadderBot": lambda: [ladder.GetLadderBotRequest(bot="anna")],
    "ListLadderDeals": lambda: [
        ladder.ListLadderDealsRequest(bot="anna", kind=ladder.DEAL_KIND_RATED, season_id=1, challenge_id=1)
    ],
    "CloseSeason": lambda: [ladder.CloseSeasonRequest(season_id=1)],
    "CreateChallenge": lambda: [
        ladder.CreateChallengeRequest(bot="anna", kind=ladder.DEAL_KIND_RATED, deals=1),
        ladder.CreateChallengeRequest(
            bot="anna", kind=ladder.DEAL_KIND_CHALLENGE, opponents=["ben"], deals=1, request_id="1"
        ),
    ],
    "AcceptChallenge": lambda: [ladder.AcceptChallengeRequest(challenge_id=1, bot="anna")],
    "DeclineChallenge": lambda: [ladder.DeclineChallengeRequest(challenge_id=1, bot="anna")],
    "WithdrawChallenge": lambda: [ladder.WithdrawChallengeRequest(challenge_id=1, bot="anna")],
    "CreateInvitation": lambda: [access.CreateInvitationRequest(owner="Team 7", bots=1)],
    "CreateAct": lambda: [
        ladder.CreateActRequest(suspend_bot=ladder.SuspendBot(bot="anna"), text="colludes"),
        ladder.CreateActRequest(restore_bot=ladder.RestoreBot(bot="anna"), text="a mistake"),
    ],
}
"""Valid requests by method; those of other methods have an id at most."""


def methods(*, streams: bool) -> Iterator[MethodDescriptor]:
    """Yield the methods of the contract that take one request and return one response, or a stream."""
    for service, names in CONTRACT.items():
        for name in () if service == HOSTING else names:
            method = method_named(f"/{service}/{name}")
            if not method.client_streaming and method.server_streaming is streams:
                yield method


def valid(method: MethodDescriptor) -> list[Message]:
    """Return valid requests of a method; ids may name nothing."""
    if method.name in VALID:
        return VALID[method.name]()
    request = _new(method.input_type)
    for name in ("match_id", "tournament_id"):
        if name in method.input_type.fields_by_name:
            setattr(request, name, 1)
    return [request]


def extreme(method: MethodDescriptor, rng: random.Random) -> bytes:
    """Return a valid request of which one field, at any depth, has an extreme value; or any bytes at all."""
    if rng.random() < 0.05:
        return rng.randbytes(rng.choice((1, 10, 1000, MAX_BYTES - 100)))
    request = rng.choice(valid(method))
    message: Message = request
    while True:
        fields: list[Any] = list(message.DESCRIPTOR.fields)
        if not fields:
            break
        field = rng.choice(fields)
        inner = _inner(message, field)
        if inner is None or rng.random() < 0.2:
            _spoil(message, field, rng)
            break
        message = inner
    encoded = request.SerializeToString()
    return encoded if len(encoded) < MAX_BYTES else encoded[: MAX_BYTES - 100]


def _new(descriptor: Any) -> Message:
    return message_factory.GetMessageClass(
        descriptor_pool.Default().FindMessageTypeByName(descriptor.full_name)
    )()


def _inner(message: Message, field: FieldDescriptor) -> Message | None:
    """Return a message in a field, the first one of a list; None if the field has another type."""
    if field.message_type is None or field.message_type.GetOptions().map_entry:
        return None
    value: Any = getattr(message, field.name)
    if field.is_repeated:
        return value[0] if len(value) else value.add()  # type: ignore[no-any-return]  # any message
    return value  # type: ignore[no-any-return]  # likewise


def _spoil(message: Message, field: FieldDescriptor, rng: random.Random) -> None:
    """Give a field an extreme value, or clear it, or fill a list."""
    if rng.random() < 0.1:
        message.ClearField(field.name)
        return
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return
    if not field.is_repeated:
        if field.message_type is not None:
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, _value(field, rng))
        return
    entries: Any = getattr(message, field.name)
    count = rng.choice((0, 1, 2, 5, 501, 20_000, 150_000))
    distinct = rng.random() < 0.5
    for number in range(count):
        if field.message_type is not None:
            entries.add()
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            entries.append(f"b{number}" if distinct else "anna")
        else:
            entries.append(_value(field, rng))
        if number % 1000 == 0 and message.ByteSize() > MAX_BYTES * 0.9:
            break


def _value(field: FieldDescriptor, rng: random.Random) -> Any:
    kind = field.cpp_type
    if kind in _BOUNDS:
        low, high = _BOUNDS[kind]
        return rng.choice([number for number in _INTEGERS if low <= number <= high])
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return rng.choice(_DOUBLES)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    text = rng.choice((*_TEXTS, "x" * (MAX_BYTES // 2)))
    return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
