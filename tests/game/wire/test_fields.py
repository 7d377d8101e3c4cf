"""Fields of messages are those that are named, and enums of the contract have the names of ours."""

from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

from happycity import ConfigError, Ending, Fallback, IncidentKind, Mode, Scoring, VoidReason
from happycity.rules.cards import CardKind
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import cards_pb2, catalogue_service_pb2, game_pb2, match_pb2
from happycity.wire.enums import enum_field, enum_member, enum_number, enum_word
from happycity.wire.fields import present_fields, to_message

OF_NEWER_SERVERS = {Ending.OTHER, IncidentKind.OTHER}


@pytest.mark.parametrize(
    ("enum", "kind"),
    [
        (match_pb2.Ending, Ending),
        (match_pb2.VoidReason, VoidReason),
        (match_pb2.IncidentKind, IncidentKind),
        (match_pb2.Fallback, Fallback),
        (cards_pb2.Mode, Mode),
        (cards_pb2.Scoring, Scoring),
        (catalogue_service_pb2.CardKind, CardKind),
    ],
)
def test_enums_have_the_members_of_the_contract(enum: Any, kind: type[Enum]) -> None:
    members = [member for member in kind if member not in OF_NEWER_SERVERS]
    assert {enum_number(enum, member) for member in members} == set(enum.values()) - {0}
    assert [enum_member(enum, kind, enum_number(enum, member)) for member in members] == members
    assert enum_member(enum, kind, 0) is enum_member(enum, kind, 99) is None
    assert (enum_word(enum, 0), enum_word(enum, 99)) == ("unspecified", "other")


def test_a_field_that_is_unknown_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^mode: 7 is neither MODE_FAMILY nor MODE_EXPERT$"):
        enum_field(game_pb2.GameConfig(mode=7), "mode", Mode)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^state: 0 is not one of 1, 2, 3"):
        enum_field(tournament_pb.TournamentProgress(), "state", Mode)


def test_only_named_fields_are_written_and_read() -> None:
    """An attribute that has the name of a field is not in the message unless it is named."""
    entry = SimpleNamespace(seat=2, kind=IncidentKind.FORFEIT, text="", decision_id=7)
    message = to_message(match_pb2.Incident, entry, "seat", "kind", "text")
    assert message == match_pb2.Incident(seat=2, kind=match_pb2.INCIDENT_KIND_FORFEIT)
    assert present_fields(message, "seat", "decision_id") == {"seat": 2}
    with pytest.raises(AttributeError):
        to_message(match_pb2.Incident, SimpleNamespace(), "seat")
