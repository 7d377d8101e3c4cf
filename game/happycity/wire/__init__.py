"""Between the engine's objects and the contract's messages: the one package that knows both.

`messages` reads and writes through the generated classes; `decisions` is the fast way for the one message
that is sent for every move.
"""

from happycity.wire.decisions import DecisionEncoder, response_part, varint
from happycity.wire.messages import (
    card_info_message,
    coins_moved,
    config_message,
    config_of,
    endings_of,
    event_message,
    event_of,
    move_message,
    move_of,
    outcome_message,
    outcome_of,
    result_message,
    seat_state_message,
    view_message,
    view_of,
)
from happycity.wire.terms import (
    failure_policy_message,
    failure_policy_of,
    time_control_message,
    time_control_of,
)

PROTOCOL_VERSION = 1
"""The version of the protocol that this package speaks."""

__all__ = [
    "PROTOCOL_VERSION",
    "DecisionEncoder",
    "card_info_message",
    "coins_moved",
    "config_message",
    "config_of",
    "endings_of",
    "event_message",
    "event_of",
    "failure_policy_message",
    "failure_policy_of",
    "move_message",
    "move_of",
    "outcome_message",
    "outcome_of",
    "response_part",
    "result_message",
    "seat_state_message",
    "time_control_message",
    "time_control_of",
    "varint",
    "view_message",
    "view_of",
]
