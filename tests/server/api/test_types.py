"""One type for one thing in the contract (CONTRIBUTING.md, The contract)."""

import re
from collections import defaultdict
from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from tests.server.harness import method_named

from happycity_server.access.roles import CONTRACT

RULES = (
    (r"decision_id", "uint32"),  # counts the decisions of a match
    (r"request_id|resume_token", "string"),
    (r"\w+_ids?", "int64"),
    (r"seed|nonce", "uint64"),
    (r"\w+_us", "uint64"),
    (r"page_size", "int32"),
    (r"\w*bytes", "int64"),
    (r"\w+_time|since|\w+_since|elapsed|round_trip|increment|margin|lifetime|interval|wait", "message"),
)
"""Names of fields and their types; the first that fits counts."""
OTHERWISE = {
    "happycity.v1.CreatePracticeMatchRequest.seed": "uint32: the deal's seed is 2^63 more",
    "happycity.ladder.v1beta1.LadderBot.wait": "a message that says why and until when",
}
"""Fields of a name that means something else elsewhere."""
IN_A_GAME_OR_STORED = {"uint32", "int64"}
OF_A_SEAT_OR_A_CARD = {"uint32", "sint32"}
SEVERAL = {
    "bots": IN_A_GAME_OR_STORED,  # those that are connected or waited for, and those of an owner
    "deals": IN_A_GAME_OR_STORED,  # those that are asked for, and those that were played
    "decisions": IN_A_GAME_OR_STORED,  # those of a match, and those of a tournament
    "games": IN_A_GAME_OR_STORED,  # those that run, and those that were played
    "coins": OF_A_SEAT_OR_A_CARD,  # what a seat has, and by how much that changes
    "inhabitants": OF_A_SEAT_OR_A_CARD,
    "hearts": OF_A_SEAT_OR_A_CARD,
}
"""Names of numbers that have two types."""


def fields() -> Iterator[FieldDescriptor]:
    """Yield the fields of all messages of the public methods."""
    methods = [method_named(f"/{service}/{name}") for service, names in CONTRACT.items() for name in names]
    waiting: list[Descriptor] = [
        kind for method in methods for kind in (method.input_type, method.output_type)
    ]
    seen: set[str] = set()
    while waiting:
        message = waiting.pop()
        if message.full_name in seen or not message.full_name.startswith("happycity."):
            continue
        seen.add(message.full_name)
        yield from message.fields
        waiting += [field.message_type for field in message.fields if field.message_type]


NUMBERS = {
    getattr(FieldDescriptor, f"CPPTYPE_{name}")
    for name in ("INT32", "INT64", "UINT32", "UINT64", "DOUBLE", "FLOAT")
}
NAMES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}


def test_fields_have_the_types_of_their_names() -> None:
    """Ids, seeds, times and sizes of pages have one type each."""
    checked = set()
    for field in fields():
        rule = next((rule for rule in RULES if re.fullmatch(rule[0], field.name)), None)
        if rule is not None and field.full_name not in OTHERWISE:
            checked.add(rule)
            assert NAMES[field.type] == rule[1], field.full_name
    assert checked == {*RULES}


def test_numbers_of_one_name_have_one_type() -> None:
    """A count is uint32 in a game, in a request and by a setting, and int64 of what is stored."""
    types: dict[str, set[str]] = defaultdict(set)
    for field in fields():
        if field.cpp_type in NUMBERS and field.full_name not in OTHERWISE:
            types[field.name].add(NAMES[field.type])
    assert {name: kinds for name, kinds in types.items() if len(kinds) > 1} == SEVERAL
