"""What organisers do to a ladder, over real gRPC: who may, what follows, and that a kill loses nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.api.ladders import LadderServer, LastMove, ladder_server, refusal, until
from tests.server.conftest import FirstMove
from tests.server.harness import Outcome, bearer, issued_token

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity_runtime.tokens import Role, read_tokens_file
from happycity_runtime.transport import Access

WHY = "plays for another bot"
QUOTA = """
anchor = "rock"
boards = [{players = 2}]
[quotas]
games_per_day = 6
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LadderServer]:
    """Yield a server with a ladder in which anna, ben and carl play."""
    with ladder_server(tmp_path) as opened:
        for name, factory in (("anna", FirstMove), ("ben", LastMove), ("carl", FirstMove)):
            opened.connect(name, factory)
        yield opened


def deals_of(server: LadderServer, bot: str) -> list[pb.LadderDeal]:
    return list(server.call.ListLadderDeals(bot=bot, page_size=200).deals)


def marked(server: LadderServer) -> set[str]:
    """Return the bots that the leaderboards show as suspended."""
    lines = [line for name in ("2-family", "3-family") for line in server.board(board=name).lines]
    return {line.version.bot for line in lines if line.suspended}


@pytest.mark.level(2)
def test_suspended_bot_ends_its_games_and_gets_no_more(server: LadderServer) -> None:
    """Its author learns why, others play on, and after it is restored it plays again."""
    until(lambda: len(deals_of(server, "anna")) > 2)
    done = server.call.CreateAct(suspend_bot={"bot": "anna"}, text=WHY)
    assert (done.act_id, done.organiser, done.bot, done.owner, done.text) == (1, "", "anna", "anna", WHY)
    begun = len(deals_of(server, "anna"))
    until(lambda: all(deal.HasField("finish_time") for deal in deals_of(server, "anna")))
    others = len(deals_of(server, "ben"))
    until(lambda: len(deals_of(server, "ben")) > others + 3)
    assert len(deals_of(server, "anna")) == begun
    until(lambda: marked(server) == {"anna"})
    wait = server.call.GetLadderBot(bot="anna").wait
    assert wait.text == f"an organiser has suspended anna: {WHY}"
    refused = refusal(lambda: server.challenge("anna"))
    assert refused.reason == "CHALLENGE_CLOSED"
    server.call.CreateAct(restore_bot={"bot": "anna"}, text="a mistake")
    until(lambda: len(deals_of(server, "anna")) > begun)
    acts = server.call.ListActs(bot="anna").acts
    assert [act.kind for act in acts] == [pb.ACT_KIND_RESTORE, pb.ACT_KIND_SUSPEND]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"suspend_bot": {"bot": "anna"}}, "text: "),
        ({"suspend_bot": {"bot": "anna"}, "text": "a\nb"}, "text: "),
        ({"suspend_bot": {}, "text": WHY}, "suspend_bot.bot: "),
        ({"void_deals": {}, "text": WHY}, "void_deals.deal_ids: name either"),
        ({"void_deals": {"bot": "anna", "deal_ids": [1]}, "text": WHY}, "void_deals.deal_ids: name either"),
        ({"void_deals": {"bot": "a b"}, "text": WHY}, "void_deals.bot: "),
        (
            {"void_deals": {"deal_ids": [10**6]}, "text": WHY},
            "void_deals.deal_ids: deal 1000000 is not finished",
        ),
        ({"void_deals": {"deal_ids": range(1, 1002)}, "text": WHY}, "void_deals.deal_ids: 1001 deals"),
        ({"rename_owner": {"owner": "anna"}, "text": WHY}, "rename_owner.new_owner: "),
        (
            {"rename_owner": {"owner": "nina", "new_owner": "Nina"}, "text": WHY},
            "rename_owner.owner: 'nina' has",
        ),
        ({"delete_owner": {}, "text": WHY}, "delete_owner.owner: "),
        ({"text": WHY}, "say what to do by one of suspend_bot, "),
    ],
)
def test_act_that_makes_no_sense_is_refused(
    opened: LadderServer, fields: dict[str, object], text: str
) -> None:
    """One line names the field, and no act is stored."""
    found = refusal(lambda: opened.call.CreateAct(**fields))
    assert (found.reason, found.text[: len(text)]) == ("INVALID_FIELD", text)
    unknown = refusal(lambda: opened.call.CreateAct(suspend_bot={"bot": "nina"}, text=WHY))
    assert unknown.reason == "NOT_IN_LADDER"
    assert not opened.call.ListActs().acts


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LadderServer]:
    with ladder_server(tmp_path_factory.mktemp("acts")) as opened:
        opened.connect("anna", FirstMove)
        opened.connect("ben", FirstMove)
        until(lambda: deals_of(opened, "anna"))
        yield opened


@pytest.mark.level(3)
def test_participant_is_renamed_and_deleted(tmp_path: Path) -> None:
    """Tokens follow, a connected bot plays on, and nothing names a participant that was deleted."""
    path = tmp_path / "tokens.json"
    olga = bearer(issued_token(path, Role.ORGANISER, "olga"))
    clear = {name: issued_token(path, Role.BOT, name) for name in ("anna", "ben")}
    with ladder_server(tmp_path, tokens=path, open=False) as server:
        call = server.call
        for name, token in clear.items():
            server.arena.connect(name, FirstMove, access=Access(token=token))
        until(lambda: len(call.ListLadderDeals(bot="anna", metadata=olga).deals) > 2)
        why, anna, team = "asked for it", {"owner": "anna"}, {"owner": "Team 7"}
        refused = refusal(lambda: call.CreateAct(delete_owner=anna, text=why, metadata=bearer(clear["ben"])))
        assert refused.reason == "WRONG_ROLE"
        to_ben = {**anna, "new_owner": "ben"}
        merged = refusal(lambda: call.CreateAct(rename_owner=to_ben, text=why, metadata=olga))
        assert (merged.reason, merged.fields) == ("INVALID_FIELD", ("rename_owner.new_owner",))
        assert [token.owner for token in read_tokens_file(path).tokens] == ["olga", "anna", "ben"]
        to_team = {**anna, "new_owner": "Team 7"}
        done = call.CreateAct(rename_owner=to_team, text=why, metadata=olga)
        assert (done.organiser, done.owner) == ("olga", "Team 7")
        assert {token.name: token.owner for token in read_tokens_file(path).tokens} == {
            "olga": "olga",
            "anna": "Team 7",
            "ben": "ben",
        }
        shown = call.GetLadderBot(bot="anna", metadata=olga)
        assert (shown.owner, len(shown.versions), shown.versions[0].connected) == ("Team 7", 1, True)
        begun = len(call.ListLadderDeals(bot="anna", page_size=200, metadata=olga).deals)
        until(lambda: len(call.ListLadderDeals(bot="anna", page_size=200, metadata=olga).deals) > begun)

        def deletion() -> Outcome:
            return refusal(lambda: call.CreateAct(delete_owner=team, text=why, metadata=olga))

        refused = deletion()
        assert refused.reason == "MATCH_RUNNING"  # its tokens are gone, so its bots leave
        until(lambda: not deletion().reason)
        assert {token.name for token in read_tokens_file(path).tokens} == {"olga", "ben"}
        assert refusal(lambda: call.GetLadderBot(bot="anna", metadata=olga)).reason == "NOT_IN_LADDER"
        bots = {
            version.bot for deal in call.ListLadderDeals(metadata=olga).deals for version in deal.versions
        }
        assert bots in ({"deleted-1", "ben"}, {"deleted-2", "ben"})
        assert "anna" not in str(call.ListActs(metadata=bearer(clear["ben"])).acts)


@pytest.mark.level(2)
def test_quota_outlives_a_restart_and_is_explained(tmp_path: Path) -> None:
    """Two bots play three deals of two games in a day, then none, also on the next server."""
    for _ in range(2):
        with ladder_server(tmp_path, file=QUOTA) as server:
            server.connect("anna", FirstMove)
            server.connect("ben", FirstMove)
            until(lambda: server.call.ListLadderDeals(bot="anna").deals)
            wait = until(lambda: quota_of(server))
            assert "has begun its 6 rated games of the day" in wait.text
            assert wait.end_time.seconds % 86400 == 0
            until(lambda: len(deals_of(server, "anna")) == 3)  # the last one may still be played


def quota_of(server: LadderServer) -> pb.BotWait | None:
    wait: pb.BotWait = server.call.GetLadderBot(bot="anna").wait
    return wait if "rated games of the day" in wait.text else None
