"""AccessService on a real server: guests join by invitations and look after their tokens."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server import harness as h

from happycity.access.v1beta1 import access_service_pb2 as pb
from happycity.access.v1beta1.access_service_pb2_grpc import AccessServiceStub
from happycity_runtime.tokens import Role, TokenError, add_tokens, new_token, read_tokens_file
from happycity_server.access import token_file
from happycity_server.access.gate import FILE_CALLS
from happycity_server.access.token_file import (
    REPEAT_TIME,
    SecretCall,
    TokenFile,
    add_invitation,
    new_invitation,
    revoke_invitation,
)
from happycity_server.app import Clocks

NOW = datetime.now(UTC)
WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Competition:
    tokens: Path
    guests: Any
    """The stub of its AccessService."""
    channel: grpc.aio.Channel
    wall: list[float]
    """The Unix time of the server."""

    def invited(self, owner: str = "Team 7", bots: int = 3) -> str:
        seconds = int(WEEK.total_seconds())
        return add_invitation(self.tokens, owner, bots, seconds=seconds, call=SecretCall(NOW))[0]

    async def join(self, invitation: str, *bots: str) -> pb.JoinResponse:
        response: Any = await self.guests.Join(pb.JoinRequest(invitation=invitation, bots=bots))
        assert isinstance(response, pb.JoinResponse)
        return response

    async def refused(self, invitation: str, *bots: str) -> str:
        """Return the reason for which nobody can join so, after which the file is as it was."""
        before = self.tokens.read_text()
        outcome = await h.outcome_of(self.join(invitation, *bots))
        assert self.tokens.read_text() == before
        assert "hci_" not in outcome.text
        return " ".join((outcome.reason, *outcome.fields))


@pytest.fixture
async def competition(tmp_path: Path) -> AsyncIterator[Competition]:
    tokens, wall = tmp_path / "tokens.json", [NOW.timestamp()]
    h.issued_token(tokens, Role.ORGANISER, "olga")
    clocks = Clocks(wall=lambda: wall[0])
    async with h.serving(tmp_path, clocks=clocks, tokens=tokens, house="greedy") as (_, channel):
        yield Competition(tokens, AccessServiceStub(channel), channel, wall)


@pytest.mark.level(2)
async def test_a_guest_joins_with_the_owner_of_the_invitation(competition: Competition) -> None:
    """The tokens are valid at once, and neither they nor the invitation are kept in clear."""
    invitation = competition.invited()
    joined = await competition.join(invitation, "alice", "bea")
    assert joined.owner == "Team 7"
    assert [token.name for token in joined.tokens] == ["alice", "bea"]
    (await h.connected(competition.channel, "alice", h.bearer(joined.tokens[0].token))).cancel()
    stored = read_tokens_file(competition.tokens).tokens[1:]
    assert [(one.role, one.name, one.owner) for one in stored] == [
        (Role.BOT, "alice", "Team 7"),
        (Role.BOT, "bea", "Team 7"),
    ]
    assert read_tokens_file(competition.tokens).invitations == []
    text = competition.tokens.read_text()
    assert not any(secret in text for secret in (invitation, *(token.token for token in joined.tokens)))


@pytest.mark.level(2)
async def test_an_invitation_works_once(competition: Competition) -> None:
    """Also if several guests use it at the same time."""
    invitation = competition.invited()
    tries = [h.outcome_of(competition.join(invitation, name)) for name in ("ann", "ben", "cem", "dee")]
    reasons = sorted(one.reason for one in await asyncio.gather(*tries))
    assert reasons == ["", *["INVITATION_CLOSED"] * 3]
    assert len(read_tokens_file(competition.tokens).tokens) == 2
    assert await competition.refused(invitation, "eve") == "INVITATION_CLOSED"


@pytest.mark.level(2)
async def test_what_is_no_invitation_is_refused(competition: Competition) -> None:
    """So are one that has expired, one that was revoked, and a token."""
    late, revoked = competition.invited(), competition.invited()
    revoke_invitation(competition.tokens, revoked.split("_")[1])
    with pytest.raises(TokenError, match="there is no invitation"):
        revoke_invitation(competition.tokens, revoked.split("_")[1])
    token = h.issued_token(competition.tokens, Role.BOT, "zoe")
    forged = f"{late[:-1]}{'A' if late[-1] != 'A' else 'B'}"
    for secret in ("", "hci_", forged, revoked, token):
        assert await competition.refused(secret, "alice") == "INVITATION_CLOSED"
    competition.wall[0] += WEEK.total_seconds()
    assert await competition.refused(late, "alice") == "INVITATION_CLOSED"


async def test_an_invitation_is_not_a_token(competition: Competition) -> None:
    outcome = await h.outcome_of(h.connected(competition.channel, "x", h.bearer(competition.invited())))
    assert outcome.reason == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    ("bots", "reason"),
    [
        ((), "INVALID_FIELD bots"),
        (("a", "b", "c", "d"), "INVALID_FIELD bots"),
        (("a", "a"), "INVALID_FIELD bots"),
        (("a b",), "INVALID_FIELD bots"),
        (("@person",), "INVALID_FIELD bots"),
        (("alice", "greedy"), "WRONG_NAME"),
        (("alice", "bob"), "WRONG_NAME"),
    ],
)
async def test_bad_names_leave_the_invitation_unused(
    competition: Competition, bots: tuple[str, ...], reason: str
) -> None:
    """Those of other owners and of the house are taken."""
    h.issued_token(competition.tokens, Role.BOT, "bob")
    invitation = competition.invited()
    assert await competition.refused(invitation, *bots) == reason
    assert (await competition.join(invitation, "alice")).owner == "Team 7"


@pytest.mark.level(2)
async def test_the_same_owner_replaces_lost_tokens_by_a_new_invitation(competition: Competition) -> None:
    (first,) = (await competition.join(competition.invited(), "alice")).tokens
    call = await h.connected(competition.channel, "alice", h.bearer(first.token))
    (second,) = (await competition.join(competition.invited(), "alice")).tokens
    assert (await h.end_of(call)).reason == "REVOKED"
    (await h.connected(competition.channel, "alice", h.bearer(second.token))).cancel()


async def test_owners_look_after_their_own_tokens(competition: Competition) -> None:
    """They list them without secrets, renew the one that they show, and revoke each, but none of others."""
    alice, bea = (await competition.join(competition.invited(), "alice", "bea")).tokens
    (carl,) = (await competition.join(competition.invited("Team 8"), "carl")).tokens
    guests, own = competition.guests, h.bearer(alice.token)
    listed = await guests.ListTokens(pb.ListTokensRequest(), metadata=own)
    assert {(one.id, one.name, one.HasField("token")) for one in listed.tokens} == {
        (alice.id, "alice", False),
        (bea.id, "bea", False),
    }
    for other in (carl.id, "00000000", ""):
        request = pb.RevokeTokenRequest(id=other)
        assert (await h.outcome_of(guests.RevokeToken(request, metadata=own))).reason == "UNKNOWN_TOKEN"
    renewed = await guests.RenewToken(pb.RenewTokenRequest(), metadata=own)
    assert renewed.name == "alice"
    for token in (alice, renewed):  # the one before is valid until the new one is shown
        await guests.ListTokens(pb.ListTokensRequest(), metadata=h.bearer(token.token))
    again = h.outcome_of(guests.ListTokens(pb.ListTokensRequest(), metadata=own))
    assert (await again).reason == "UNAUTHENTICATED"
    for token in (bea.id, renewed.id):
        await guests.RevokeToken(pb.RevokeTokenRequest(id=token), metadata=h.bearer(renewed.token))
    assert [one.name for one in read_tokens_file(competition.tokens).tokens] == ["olga", "carl"]


async def test_tokens_and_invitations_come_in_pages(competition: Competition) -> None:
    """The oldest come first, and tokens of one moment by name; one that ends meanwhile hides no other."""
    names = ["carl", "alice", "bea", "dora"]
    tokens = {
        each.name: each for each in (await competition.join(competition.invited(bots=4), *names)).tokens
    }
    guests, own = competition.guests, h.bearer(tokens["dora"].token)
    first = await guests.ListTokens(pb.ListTokensRequest(page_size=2), metadata=own)
    assert [one.name for one in first.tokens] == ["alice", "bea"]
    await guests.RevokeToken(pb.RevokeTokenRequest(id=tokens["bea"].id), metadata=own)
    following = pb.ListTokensRequest(page_size=2, page_token=first.next_page_token)
    second = await guests.ListTokens(following, metadata=own)
    assert ([one.name for one in second.tokens], second.next_page_token) == (["carl", "dora"], "")

    olga = h.bearer(h.issued_token(competition.tokens, Role.ORGANISER, "otto"))
    for owner in ("Team 1", "Team 2", "Team 3"):
        competition.invited(owner)
    owners, token = list[str](), ""
    while not owners or token:
        asked = pb.ListInvitationsRequest(page_size=1, page_token=token)
        page = await guests.ListInvitations(asked, metadata=olga)
        owners += [one.owner for one in page.invitations]
        token = page.next_page_token
    assert owners == ["Team 1", "Team 2", "Team 3"]


async def test_a_renewed_token_ends_when_the_one_before_did(competition: Competition) -> None:
    clear = h.issued_token(competition.tokens, Role.BOT, "brief", hours=1)
    old = read_tokens_file(competition.tokens).tokens[-1]
    await competition.guests.RenewToken(pb.RenewTokenRequest(), metadata=h.bearer(clear))
    new = read_tokens_file(competition.tokens).tokens[-1]
    assert (new.name, new.owner, new.expires) == (old.name, old.owner, old.expires)
    assert new.id != old.id


@pytest.mark.level(2)
async def test_owners_renew_each_of_their_tokens(competition: Competition) -> None:
    """They name it by its id; those of others stay."""
    alice, bea = (await competition.join(competition.invited(), "alice", "bea")).tokens
    (carl,) = (await competition.join(competition.invited("Team 8"), "carl")).tokens
    own = h.bearer(alice.token)
    renewed = await competition.guests.RenewToken(pb.RenewTokenRequest(id=bea.id), metadata=own)
    assert (renewed.name, renewed.id != bea.id) == ("bea", True)
    request = competition.guests.RenewToken(pb.RenewTokenRequest(id=carl.id), metadata=own)
    assert (await h.outcome_of(request)).reason == "UNKNOWN_TOKEN"
    (await h.connected(competition.channel, "carl", h.bearer(carl.token))).cancel()


REQUEST, OTHER = "0123456789abcdef", "fedcba9876543210"


@asynccontextmanager
async def guests_of(folder: Path, wall: list[float]) -> AsyncIterator[Any]:
    clocks, address = Clocks(wall=lambda: wall[0]), "grpcs://arena.example:1"
    tokens = folder / "tokens.json"
    async with h.serving(folder, clocks=clocks, tokens=tokens, guest_address=address) as (_, channel):
        yield AccessServiceStub(channel)


@pytest.mark.level(2)
async def test_a_lost_answer_loses_no_secret(tmp_path: Path) -> None:
    """Repeated in time, also after a restart, a call gets the same secrets, of which none is stored."""
    tokens, wall = tmp_path / "tokens.json", [NOW.timestamp()]
    olga = h.bearer(h.issued_token(tokens, Role.ORGANISER, "olga"))
    invite = pb.CreateInvitationRequest(owner="Team 7", bots=2, request_id=REQUEST)
    async with guests_of(tmp_path, wall) as guests:
        invited = await guests.CreateInvitation(invite, metadata=olga)
        secret = invited.link.rpartition("/")[2]
        join = pb.JoinRequest(invitation=secret, bots=["alice", "bea"], request_id=REQUEST)
    async with guests_of(tmp_path, wall) as guests:
        assert await guests.CreateInvitation(invite, metadata=olga) == invited
        joined = await guests.Join(join)
        alice = h.bearer(joined.tokens[0].token)
        renew = pb.RenewTokenRequest(request_id=REQUEST)
        renewed = await guests.RenewToken(renew, metadata=alice)
    async with guests_of(tmp_path, wall) as guests:
        assert (
            await h.outcome_of(guests.CreateInvitation(invite, metadata=olga))
        ).reason == "INVITATION_CLOSED"
        assert await guests.Join(join) == joined
        assert await guests.RenewToken(renew, metadata=alice) == renewed
        secrets = (secret, renewed.token, *(one.token for one in joined.tokens), REQUEST)
        assert not [one for one in secrets if one in tokens.read_text()]
        for change in (
            {"bots": ["alice"]},
            {"bots": ["bea", "alice"]},
            {"request_id": OTHER},
            {"request_id": ""},
        ):
            other = pb.JoinRequest(
                **{"invitation": secret, "bots": ["alice", "bea"], "request_id": REQUEST, **change}
            )
            assert (await h.outcome_of(guests.Join(other))).reason == "INVITATION_CLOSED"
        wall[0] += REPEAT_TIME.total_seconds()
        assert (await h.outcome_of(guests.Join(join))).reason == "INVITATION_CLOSED"
        weak = pb.JoinRequest(invitation=secret, bots=["alice"], request_id="1")
        assert (await h.outcome_of(guests.Join(weak))).fields == ("request_id",)


@pytest.mark.level(2)
async def test_a_token_is_renewed_again_and_again(competition: Competition) -> None:
    """Of the new tokens that nobody used one is kept; the old one ends when the newest is shown, for good."""
    (alice,) = (await competition.join(competition.invited(), "alice")).tokens
    own = h.bearer(alice.token)
    stream = await h.connected(competition.channel, "alice", own)
    renewals = [await competition.guests.RenewToken(pb.RenewTokenRequest(), metadata=own) for _ in range(3)]
    again = pb.RenewTokenRequest(id=renewals[-1].id)
    newest = await competition.guests.RenewToken(again, metadata=own)
    listed = await competition.guests.ListTokens(pb.ListTokensRequest(), metadata=own)
    assert [one.id for one in listed.tokens] == [newest.id]
    await competition.guests.ListTokens(pb.ListTokensRequest(), metadata=h.bearer(newest.token))
    assert (await h.end_of(stream)).reason == "REVOKED"
    bea = await competition.guests.RenewToken(pb.RenewTokenRequest(), metadata=h.bearer(newest.token))
    await competition.guests.ListTokens(pb.ListTokensRequest(), metadata=h.bearer(bea.token))
    await competition.guests.RevokeToken(pb.RevokeTokenRequest(id=bea.id), metadata=h.bearer(bea.token))
    assert [one.name for one in read_tokens_file(competition.tokens).tokens] == ["olga"]


def test_secrets_do_not_follow_from_their_call_alone(tmp_path: Path) -> None:
    """Another file, or a day later, has another salt: who finds an old call gets nothing by it."""
    later = NOW + REPEAT_TIME
    made = {
        add_invitation(tmp_path / name, "Team", 1, seconds=60, call=SecretCall(now, "a", REQUEST))[0]
        for name, now in (("one", NOW), ("two", NOW), ("one", NOW), ("one", later))
    }
    assert len(made) == 3


def test_answered_calls_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one token or invitation by fewer, so that no caller makes the server forget those of another."""
    path = tmp_path / "tokens.json"
    monkeypatch.setattr(token_file, "REPEATS_OF_ONE", 4)
    monkeypatch.setattr(token_file, "REPEATS", 10)
    add_invitation(path, "Team", 1, seconds=60, call=SecretCall(NOW, "b", REQUEST))
    for number in range(9):
        add_invitation(path, "Team", 1, seconds=60, call=SecretCall(NOW, "a", f"{REQUEST}{number}"))
    answered = read_tokens_file(path).answered
    assert [one.sha256 for one in answered] == [SecretCall(NOW, shown, "").sha256 for shown in "baaaa"]
    for number in range(20):
        add_invitation(path, "Team", 1, seconds=60, call=SecretCall(NOW, f"c{number}", REQUEST))
    assert len(read_tokens_file(path).answered) == 10


async def test_organisers_create_list_and_revoke_invitations(tmp_path: Path) -> None:
    """A link has the address that the server is started with, and is kept nowhere."""
    tokens = tmp_path / "tokens.json"
    own = h.bearer(h.issued_token(tokens, Role.ORGANISER, "olga"))
    async with h.serving(tmp_path, tokens=tokens, guest_address="grpcs://arena.example:1") as (_, channel):
        guests: Any = AccessServiceStub(channel)
        asked = pb.CreateInvitationRequest(owner="Team 7", bots=2)
        made = await guests.CreateInvitation(asked, metadata=own)
        assert made.link.startswith(f"grpcs://arena.example:1/join/hci_{made.invitation.id}_")
        assert made.link.partition(f"{made.invitation.id}_")[2] not in tokens.read_text()
        life = made.invitation.expire_time.ToSeconds() - made.invitation.create_time.ToSeconds()
        assert life == WEEK.total_seconds()
        listed = await guests.ListInvitations(pb.ListInvitationsRequest(), metadata=own)
        assert list(listed.invitations) == [made.invitation]
        revoked = pb.RevokeInvitationRequest(id=made.invitation.id)
        await guests.RevokeInvitation(revoked, metadata=own)
        again = await h.outcome_of(guests.RevokeInvitation(revoked, metadata=own))
        assert (again.reason, read_tokens_file(tokens).invitations) == ("INVITATION_CLOSED", [])
        for wrong in (
            pb.CreateInvitationRequest(bots=1),
            pb.CreateInvitationRequest(owner="Team 7"),
            pb.CreateInvitationRequest(owner="Team 7", bots=65),
            pb.CreateInvitationRequest(owner="Team 7", bots=1, lifetime=Duration(seconds=-1)),
        ):
            outcome = await h.outcome_of(guests.CreateInvitation(wrong, metadata=own))
            assert outcome.reason == "INVALID_FIELD", wrong


async def test_a_server_without_an_address_for_guests_makes_no_link(competition: Competition) -> None:
    own = h.bearer(h.issued_token(competition.tokens, Role.ORGANISER, "otto"))
    asked = pb.CreateInvitationRequest(owner="Team 7", bots=1)
    outcome = await h.outcome_of(competition.guests.CreateInvitation(asked, metadata=own))
    assert "set --guest-address" in outcome.text
    assert read_tokens_file(competition.tokens).invitations == []


async def test_an_open_server_needs_no_invitation(tmp_path: Path) -> None:
    async with h.serving(tmp_path) as (_, channel):
        guests: Any = AccessServiceStub(channel)
        outcome = await h.outcome_of(guests.Join(pb.JoinRequest(invitation="hci_1_x", bots=["alice"])))
        assert outcome.reason == "INVITATION_CLOSED"
        assert "this server is open to everybody" in outcome.text


async def test_guesses_and_renewals_count_as_many_calls(tmp_path: Path) -> None:
    """What is charged doesn't depend on whether it succeeds, and comes before the file is read."""
    tokens = tmp_path / "tokens.json"
    own = h.bearer(h.issued_token(tokens, Role.BOT, "alice"))
    rates: dict[str, Any] = {"calls_per_second": 0.001, "calls_burst": 3 * FILE_CALLS}
    async with h.serving(tmp_path, tokens=tokens, **rates) as (_, channel):
        guests: Any = AccessServiceStub(channel)
        guess = pb.JoinRequest(invitation="hci_00000000_x", bots=["bob"])
        reasons = [(await h.outcome_of(guests.Join(guess))).reason for _ in range(3)]
        assert reasons == ["INVITATION_CLOSED", "INVITATION_CLOSED", "RATE_LIMITED"]
        renew = pb.RenewTokenRequest()
        reasons = [(await h.outcome_of(guests.RenewToken(renew, metadata=own))).reason for _ in range(3)]
        assert reasons == ["", "", "RATE_LIMITED"]


async def test_a_file_that_is_broken_is_the_servers_problem(competition: Competition) -> None:
    invitation = competition.invited()
    competition.tokens.write_text("{")
    assert await competition.refused(invitation, "alice") == "STORE_UNAVAILABLE"


@pytest.mark.level(2)
async def test_joining_stays_fast_with_many_guests(competition: Competition) -> None:
    """1,000 invitations, 300 owners and 900 bots: joining takes as long as reading their file a few times.

    That is CPU time of guest and server, the best of 20, as other programs of the machine take time too.
    """
    tokens = [
        new_token(Role.BOT, f"bot-{number}", created=NOW, owner=f"Team {number % 300}")[1]
        for number in range(900)
    ]
    add_tokens(competition.tokens, tokens)
    made = [new_invitation(f"Team {number % 300}", 3, created=NOW) for number in range(1000)]
    content = json.loads(competition.tokens.read_text())
    content["invitations"] = [one.model_dump(mode="json") for _, one in made]
    competition.tokens.write_text(json.dumps(content))
    assert len(TokenFile(competition.tokens)) == 901
    reading, joining = [], []
    for number, (clear, _) in enumerate(made[:20]):
        started = time.process_time()
        read_tokens_file(competition.tokens)
        read = time.process_time()
        await competition.join(clear, f"new-{number}")
        reading.append(read - started)
        joining.append(time.process_time() - read)
    assert min(joining) < 10 * min(reading), (joining, reading)
