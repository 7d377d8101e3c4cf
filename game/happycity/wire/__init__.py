"""Between the engine's objects and the contract's messages: the one package that knows both.

`messages` and `match` read and write through the generated classes; `decisions` is the fast way for the one
message that is sent for every move; `status` is the typed part of an error; `watch` reads a watched match.
"""

from happycity.wire.decisions import DecisionEncoder, response_part
from happycity.wire.match import (
    bot_info_message,
    bot_info_of,
    duration_message,
    ending_number,
    ending_of,
    failure_policy_message,
    failure_policy_of,
    incident_message,
    incident_of,
    result_message,
    result_of,
    seconds_of,
    time_control_message,
    time_control_of,
    void_reason_number,
    void_reason_of,
)
from happycity.wire.messages import (
    card_info_message,
    config_message,
    config_of,
    decision_message,
    event_message,
    event_of,
    move_message,
    move_messages,
    move_of,
    view_message,
    view_of,
)
from happycity.wire.status import (
    DOMAIN,
    STATUS_METADATA,
    StatusDetails,
    decode_status,
    encode_status,
    traits_of,
)
from happycity.wire.watch import add_to_playback

__all__ = [
    "DOMAIN",
    "STATUS_METADATA",
    "DecisionEncoder",
    "StatusDetails",
    "add_to_playback",
    "bot_info_message",
    "bot_info_of",
    "card_info_message",
    "config_message",
    "config_of",
    "decision_message",
    "decode_status",
    "duration_message",
    "encode_status",
    "ending_number",
    "ending_of",
    "event_message",
    "event_of",
    "failure_policy_message",
    "failure_policy_of",
    "incident_message",
    "incident_of",
    "move_message",
    "move_messages",
    "move_of",
    "response_part",
    "result_message",
    "result_of",
    "seconds_of",
    "time_control_message",
    "time_control_of",
    "traits_of",
    "view_message",
    "view_of",
    "void_reason_number",
    "void_reason_of",
]
