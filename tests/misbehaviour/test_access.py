"""Callers that are not who they say, or want what is not theirs: the right bots don't notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.misbehaviour.arena import FINISHED, GOOD, Arena
from tests.misbehaviour.conftest import QUICK
from tests.server.trust import bearer, new_token

from happycity.records import Json
from happycity_server.tokens import Role, revoke_token


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokens") / "tokens.json"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, tokens: Path) -> Iterator[tuple[Arena, Json]]:
    """Give a server that wants tokens, with two good bots, and the record of their side match."""
    organiser = new_token(tokens, Role.ORGANISER, "olga")
    environ = {**QUICK, "OPEN": "0", "TOKENS": str(tokens), "STREAMS_PER_TOKEN": "20", "HELLO_SECONDS": "120"}
    with Arena(tmp_path_factory.mktemp("guarded"), environ=environ) as running:
        running.metadata = bearer(organiser)
        for name in GOOD:
            running.start_good_bots([name], token=new_token(tokens, Role.BOT, name))
        yield running, running.side_match()


@pytest.fixture
def arena(guarded: tuple[Arena, Json]) -> Iterator[Arena]:
    """Give the server; afterwards it must still serve the good bots as if nothing had been."""
    running, undisturbed = guarded
    yield running
    assert running.side_match() == undisturbed
    assert running.failures() == []


def test_token_of_another_bot_is_no_way_in(arena: Arena, tokens: Path) -> None:
    """With a stolen token one can't play under another name, and the bot of that name plays on."""
    stolen = new_token(tokens, Role.BOT, "mallory")
    with arena.bad_bot("silent", name=GOOD[0], token=stolen) as thief:
        ended = thief.ended()
    assert (ended["status"], ended["reason"]) == ("PERMISSION_DENIED", "WRONG_NAME")
    assert ended["metadata"] == {"name": "mallory"}


def test_stolen_token_ends_with_its_revocation(arena: Arena, tokens: Path) -> None:
    """The thief is put out in the middle of a game; the bot comes with a new token and finishes it."""
    stolen = new_token(tokens, Role.BOT, "carl")
    with arena.bad_bot("silent", name="carl", token=stolen) as thief:
        thief.tells(event="welcome")
        match_id = arena.create_match(GOOD[0], "carl")
        thief.tells(event="asked")
        revoke_token(tokens, stolen.split("_")[1])
        ended = thief.ended()
        assert (ended["status"], ended["reason"]) == ("PERMISSION_DENIED", "REVOKED")
        arena.start_good_bots(["carl"], token=new_token(tokens, Role.BOT, "carl"))
        assert arena.finished(match_id)["endings"] == [FINISHED, FINISHED]
    with arena.bad_bot("silent", token=stolen) as thief:
        ended = thief.ended()
    assert (ended["status"], ended["reason"]) == ("UNAUTHENTICATED", "UNAUTHENTICATED")


def test_wrong_role_is_told_which_is_needed(arena: Arena, tokens: Path) -> None:
    """A watcher may not play, and a bot may not set up matches."""
    watcher, player = new_token(tokens, Role.OBSERVER, "olaf"), new_token(tokens, Role.BOT, "eve")
    with arena.bad_bot("silent", token=watcher) as bot:
        ended = bot.ended()
    assert (ended["status"], ended["reason"]) == ("PERMISSION_DENIED", "WRONG_ROLE")
    assert ended["metadata"] == {"role": "observer", "needed": "bot"}
    with arena.bad_bot("usurper", name="eve", token=player) as bot:
        ended = bot.ended()
    assert (ended["status"], ended["reason"]) == ("PERMISSION_DENIED", "WRONG_ROLE")
    assert ended["metadata"] == {"role": "bot", "needed": "organiser"}


def test_crowd_of_streams_is_not_let_in(arena: Arena, tokens: Path) -> None:
    """Above the limit of streams there is a refusal with that limit, and all the others have theirs."""
    with arena.bad_bot("crowding", token=new_token(tokens, Role.BOT, "eve")) as bot:
        bot.tells(event="open")
        arena.side_match()
        bot.say()
        bot.tells(event="done")
    ends = Counter((line["reason"], line["metadata"].get("limit")) for line in bot.heard if "reason" in line)
    assert ends == {("TOO_MANY_STREAMS", "20"): 80, ("HELLO_EXPECTED", None): 20}
