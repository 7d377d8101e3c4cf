"""Lists by pages: their fields, what a token is good for, and what holds while entries come and go."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from hypothesis import given
from hypothesis import strategies as st
from tests.server.api.arena import Arena
from tests.server.harness import HOSTING, Service, method_named, outcome_of

from happycity.access.v1beta1 import access_service_pb2 as access
from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament
from happycity.v1 import bot_service_pb2 as bots
from happycity.v1 import match_service_pb2 as match
from happycity_server.access.roles import CONTRACT
from happycity_server.api.paging import ListRequest
from happycity_server.errors import ApiError

LISTS = [
    method
    for service, names in CONTRACT.items()
    for name in names
    if name.startswith("List") or name == "GetLeaderboard"
    if (method := method_named(f"/{service}/{name}"))
]
KINDS = {
    "page_size": FieldDescriptor.TYPE_INT32,
    "page_token": FieldDescriptor.TYPE_STRING,
    "next_page_token": FieldDescriptor.TYPE_STRING,
}


def page_of(entries: Iterable[tuple[float, str]], size: int, token: str) -> tuple[list[str], str]:
    """Return the names of a page of entries, each a value to sort by and a name, and the next token."""
    asked = ListRequest(bots.ListBotsRequest(page_size=size, page_token=token))
    page, following = asked.sorted_by(lambda entry: entry, entries)
    return [name for _, name in page], following


def next_token(request: Any) -> str:
    """Return the token of the page after the one that a request asks for, of two entries."""
    return ListRequest(request).newest({1: "", 2: ""})[1]


def is_taken(request: Any, token: str) -> bool:
    """Return whether a request with a token is accepted."""
    try:
        request.page_token = token
        return ListRequest(request).before_id == 2
    except ApiError as error:
        ((field, text),) = error.details.fields
        assert field == "page_token"
        assert text.startswith("page_token: it is not from a response of this method")
        return False


@pytest.mark.parametrize("method", LISTS, ids=lambda method: method.full_name)
def test_each_list_has_pages(method: MethodDescriptor) -> None:
    """They have the same fields of the same types everywhere; the request has them first."""
    asked, answered = method.input_type.fields_by_name, method.output_type.fields_by_name
    found = [asked["page_size"], asked["page_token"], answered["next_page_token"]]
    assert {field.name: field.type for field in found} == KINDS
    assert [field.number for field in found] == [1, 2, 2]
    assert answered[next(iter(answered))].is_repeated


def test_lists_of_the_server_are_among_them() -> None:
    assert len(LISTS) == 12
    assert any(HOSTING in method.full_name for method in LISTS)


def test_token_is_good_for_its_list_alone() -> None:
    """It is bound to the method and to all filters; the size of pages may change."""
    token = next_token(match.ListMatchesRequest(page_size=1, bot="anna"))
    assert is_taken(match.ListMatchesRequest(page_size=7, bot="anna"), token)
    for other in (
        match.ListMatchesRequest(),
        match.ListMatchesRequest(bot="ben"),
        match.ListMatchesRequest(bot="anna", tournament_id=1),
        tournament.ListTournamentsRequest(bot="anna"),
        ladder.ListChallengesRequest(bot="anna"),
    ):
        assert not is_taken(other, token), other
    # Those without filters differ by nothing but the method.
    token = next_token(access.ListTokensRequest(page_size=1))
    assert is_taken(access.ListTokensRequest(), token)
    assert not is_taken(access.ListInvitationsRequest(), token)


@given(st.one_of(st.text(), st.binary().map(lambda made: made.hex())))
def test_other_texts_are_not_tokens(text: str) -> None:
    assert not text or not is_taken(match.ListMatchesRequest(), text)


@pytest.mark.parametrize("position", [["anna"], [0], [-1], [2**63], [1.5], [True], [None], [[]], [{}]])
def test_token_that_a_caller_has_made_is_refused(position: list[Any]) -> None:
    """One that fits the list, but has no place in it, is refused like any other text."""
    request = match.ListMatchesRequest()
    assert not is_taken(request, ListRequest(request)._tokens.token(*position))
    with pytest.raises(ApiError, match="page_token"):
        page_of([(1.0, "anna")], 1, ListRequest(bots.ListBotsRequest())._tokens.token({}, {}))


def test_nested_token_is_refused() -> None:
    tokens = ListRequest(match.ListMatchesRequest())._tokens
    nested: list[Any] = []
    for _ in range(300):
        nested = [nested]
    assert not is_taken(match.ListMatchesRequest(), tokens.token(nested))


NAMES = st.sampled_from("abcdefgh")
BOARD = st.dictionaries(NAMES, st.integers(0, 9).map(float))


@given(BOARD, BOARD, st.integers(1, 3))
def test_changes_between_pages_hide_and_repeat_nothing_else(
    before: dict[str, float], after: dict[str, float], size: int
) -> None:
    """An entry that stands on one side of the end of the first page, before and after, is listed once."""

    def board(of: dict[str, float]) -> Sequence[tuple[float, str]]:
        return [(value, name) for name, value in of.items()]

    first, token = page_of(board(before), size, "")
    if not token:
        assert sorted(first) == sorted(before)
        return
    rest, last = page_of(board(after), 200, token)
    end = before[first[-1]], first[-1]
    assert not last
    assert first[-1] not in rest
    for name in before.keys() & after.keys() - {first[-1]}:
        was_above, is_above = (before[name], name) < end, (after[name], name) < end
        if was_above is is_above:
            assert [*first, *rest].count(name) == 1


async def test_token_of_another_method_is_refused(arena: Arena) -> None:
    """So a program that mixes up two lists is stopped at once."""
    for name in ("anna", "ben"):
        await arena.connect(name)
    call = Service(arena.channel, "happycity.v1.BotService").ListBots
    token = (await call(page_size=1)).next_page_token
    assert [bot.name for bot in (await call(page_size=1, page_token=token)).bots] == ["ben"]
    refused = await outcome_of(arena.matches.ListMatches(page_token=token))
    assert (refused.reason, refused.fields) == ("INVALID_FIELD", ("page_token",))
