"""Time controls, failure policies and results on the wire."""

import math

import pytest
from google.protobuf.duration_pb2 import Duration
from hypothesis import example, given
from hypothesis import strategies as st

from happycity import ConfigError, Ending, FailurePolicy, Fallback, SeatResult, TimeControl, VoidReason
from happycity.match import LONGEST_SECONDS, MOST
from happycity.v1 import match_pb2 as pb
from happycity.wire import match
from happycity.wire.enums import enum_number

NANOSECONDS = st.integers(0, round(LONGEST_SECONDS) * 10**9)
SECONDS = NANOSECONDS.map(lambda number: number / 10**9)
POSITIVE = SECONDS.filter(bool)


@given(st.floats(0, LONGEST_SECONDS))
def test_any_time_is_rounded_to_the_nearest_nanosecond(seconds: float) -> None:
    """What no duration can hold is lost, and no more."""
    back = match.seconds_of(match.duration_message(seconds))
    assert abs(back - seconds) <= max(0.5e-9, math.ulp(seconds))


TIME_CONTROLS = st.builds(
    TimeControl,
    connect_seconds=SECONDS,
    decision_seconds=POSITIVE,
    bank_seconds=POSITIVE,
    increment_seconds=SECONDS,
    margin_seconds=SECONDS,
    no_clock=st.booleans(),
) | st.builds(TimeControl, connect_seconds=SECONDS, decision_seconds=POSITIVE, bank_seconds=st.just(0.0))


@pytest.mark.level(1)
@given(TIME_CONTROLS)
@example(TimeControl(connect_seconds=0, decision_seconds=0.0004))
@example(TimeControl(margin_seconds=0))
@example(TimeControl())
def test_time_controls_survive_message_and_back(times: TimeControl) -> None:
    message = pb.TimeControl.FromString(match.time_control_message(times).SerializeToString())
    assert match.time_control_of(message) == times


@given(
    st.builds(
        FailurePolicy,
        max_strikes=st.integers(0, MOST),
        grace_seconds=SECONDS,
        fallback=st.sampled_from(Fallback),
        disqualify_share=st.floats(0, 1),
        disqualify_games=st.integers(1, MOST),
    )
)
@example(FailurePolicy(max_strikes=0, grace_seconds=0, disqualify_share=0, disqualify_games=1))
def test_failure_policies_survive_message_and_back(policy: FailurePolicy) -> None:
    """Each number is read back exactly; 0 is 0 and not the default."""
    message = pb.FailurePolicy.FromString(match.failure_policy_message(policy).SerializeToString())
    assert match.failure_policy_of(message) == policy


def test_absent_fields_have_the_defaults() -> None:
    assert match.time_control_of(pb.TimeControl()) == TimeControl()
    assert match.failure_policy_of(pb.FailurePolicy()) == FailurePolicy()


def test_impossible_numbers_of_a_message_are_refused() -> None:
    # The wire can say what no clock can do: it is refused by the name of the field.
    for field, duration in [
        ("decision_time", Duration()),
        ("decision_time", Duration(seconds=-1)),
        ("connect_time", Duration(nanos=-1)),
        ("connect_time", Duration(seconds=2**63 - 1)),
        ("bank_time", Duration(seconds=-(2**63))),
        ("increment", Duration(seconds=1)),
        ("margin", Duration(seconds=10**10)),
    ]:
        message = pb.TimeControl()
        getattr(message, field).CopyFrom(duration)
        with pytest.raises(ConfigError, match=f"^{field}: "):
            match.time_control_of(message)

    # A value out of its range is refused by its name, also one that is there and unspecified.
    for policy, named in [
        (pb.FailurePolicy(max_strikes=2**32 - 1), "max_strikes"),
        (pb.FailurePolicy(grace_time=Duration(seconds=-1)), "grace_time"),
        (pb.FailurePolicy(fallback=pb.FALLBACK_UNSPECIFIED), "fallback"),
        (pb.FailurePolicy(fallback=pb.Fallback.ValueType(9)), "fallback"),
        (pb.FailurePolicy(disqualify_share=math.nan), "disqualify_share"),
        (pb.FailurePolicy(disqualify_games=0), "disqualify_games"),
    ]:
        with pytest.raises(ConfigError, match=f"^{named}: "):
            match.failure_policy_of(policy)


SEATS = st.lists(
    st.builds(
        SeatResult,
        points=st.integers(0, 2**31 - 1),
        coins=st.integers(0, 2**31 - 1),
        inhabitants=st.integers(0, 100),
        hearts=st.integers(0, 100),
        rank=st.integers(1, 5),
        place=st.integers(1, 5),
        ending=st.sampled_from([ending for ending in Ending if ending is not Ending.OTHER]),
        reason=st.text(st.characters(codec="utf-8"), max_size=20),
    ),
    max_size=5,
)


@pytest.mark.level(1)
@given(SEATS)
def test_results_survive_message_and_back(seats: list[SeatResult]) -> None:
    message = pb.MatchResult.FromString(match.result_message(seats).SerializeToString())
    assert match.result_of(message) == tuple(seats)


def test_every_ending_and_reason_has_its_number() -> None:
    # The endings of records are those of the contract; a newer one is a forfeit of another kind.
    known = [ending for ending in Ending if ending is not Ending.OTHER]
    assert {pb.Ending.Name(enum_number(pb.Ending, ending)) for ending in known} == {
        name for name, number in pb.Ending.items() if number
    }
    assert [match.ending_of(enum_number(pb.Ending, ending)) for ending in known] == known
    assert match.ending_of(99) is Ending.OTHER
    assert match.ending_of(0) is Ending.OTHER

    # The reasons are those of the contract; a newer one is unknown.
    assert {pb.VoidReason.Name(enum_number(pb.VoidReason, reason)) for reason in VoidReason} == {
        name for name, number in pb.VoidReason.items() if number
    }
    assert [match.void_reason_of(enum_number(pb.VoidReason, reason)) for reason in VoidReason] == list(
        VoidReason
    )
    assert match.void_reason_of(99) is VoidReason.UNKNOWN
