"""LadderService on a real server whose ladder is played by real bots."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.api.ladders import FILE, LadderServer, LastMove, ladder_server, refusal, until
from tests.server.conftest import FirstMove
from tests.server.harness import bearer, called, issued_token, serving

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity_runtime.tokens import Role
from happycity_server.access.roles import ROLES
from happycity_server.ladder import ladder as ladder_module

SERVICE = "/happycity.ladder.v1beta1.LadderService/"
RATED, CHALLENGE, COMPARISON = pb.DEAL_KIND_RATED, pb.DEAL_KIND_CHALLENGE, pb.DEAL_KIND_COMPARISON


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LadderServer]:
    """Yield a server whose house and guests have played some deals."""
    folder = tmp_path_factory.mktemp("ladder")
    with ladder_server(folder, house="rock=random") as server:
        server.connect("anna", FirstMove)
        server.connect("ben", LastMove)
        until(lambda: all(len(server.board(board=board).lines) == 3 for board in ("2-family", "3-family")))
        yield server


@pytest.mark.level(2)
def test_ladder_says_what_it_is(ladder: LadderServer) -> None:
    """The response has what the file says, and how the ladder stands."""
    found = ladder.call.GetLadder()
    assert (found.name, found.anchor, found.anchor_elo) == ("Test ladder", "rock", 1600.0)
    boards = [(board.name, board.game.players, board.share) for board in found.boards]
    assert boards == [("2-family", 2, 0.5), ("3-family", 3, 0.5)]
    assert (found.bots_connected, found.bots) == (2, 2)
    assert found.season.season_id == 1
    assert not found.season.HasField("end_time")
    assert found.season.games >= 2 * found.season.deals
    assert found.time_control.decision_time.seconds == 10
    assert found.longest_wait.ToTimedelta().total_seconds() < 10


def test_leaderboard_has_every_bot_once(ladder: LadderServer) -> None:
    """Lines are in the order of the lower ends of their intervals; the anchor's rating is given."""
    found = ladder.board()
    assert (found.board, found.season.season_id) == ("2-family", 1)
    bots = {line.version.bot: line for line in found.lines}
    assert len(bots) == len(found.lines)
    assert (bots["rock"].rating.elo, bots["rock"].rating.low, bots["rock"].rating.high) == (1600,) * 3
    assert {name for name, line in bots.items() if line.house} == bots.keys() - {"anna", "ben"}
    assert (bots["anna"].owner, bots["anna"].version.info.version) == ("anna", "1")
    assert bots["anna"].version.connected
    ranked = [line for line in found.lines if line.rank]
    assert [line.rank for line in ranked] == list(range(1, len(ranked) + 1))
    lows = [line.rating.low for line in ranked]
    assert lows == sorted(lows, reverse=True)
    assert [owner.rank for owner in found.owners] == list(range(1, len(ranked) + 1))
    assert [(owner.best.version.bot, owner.bots) for owner in found.owners] == [
        (line.version.bot, 1) for line in ranked
    ]
    for line in bots.values():
        assert line.rating.low <= line.rating.elo <= line.rating.high
        assert line.rating.deals > 0
        assert 0 <= line.firsts <= line.games
        assert line.HasField("rank") is (not line.rating.provisional and not line.inactive)


def test_pages_of_a_leaderboard_are_the_whole(ladder: LadderServer) -> None:
    names: list[str] = []
    token = ""
    while token or not names:
        page = ladder.board(page_size=1, page_token=token)
        names += [line.version.bot for line in page.lines]
        assert bool(page.owners) == (not token)
        token = page.next_page_token
    assert sorted(names) == ["anna", "ben", "rock"]
    assert refusal(lambda: ladder.board(page_token="?")).fields == ("page_token",)
    assert all(line.rank for line in ladder.board(ranked_only=True).lines)


def test_bot_is_shown_with_versions_ratings_and_history(ladder: LadderServer) -> None:
    """Ratings are those of the leaderboard; the history ends with the present."""
    bot = ladder.call.GetLadderBot(bot="anna", board="3-family")
    assert (bot.bot, bot.owner, bot.house, bot.board) == ("anna", "anna", False, "3-family")
    ids = [version.version_id for version in bot.versions]
    assert ids == sorted(ids, reverse=True)
    assert {rating.board for rating in bot.ratings} == {"2-family", "3-family"}
    assert {rating.version_id for rating in bot.ratings} <= set(ids)
    times = [point.time.ToNanoseconds() for point in bot.history]
    assert times
    assert times == sorted(times)
    assert all(point.rating.deals > 0 for point in bot.history)
    assert ladder.call.GetLadderBot(bot="rock").house


def test_deals_are_listed_newest_first(ladder: LadderServer) -> None:
    """A finished deal has a game for each rotation, and the sums of the places; pages join up."""
    first = ladder.call.ListLadderDeals(page_size=2)
    second = ladder.call.ListLadderDeals(page_size=2, page_token=first.next_page_token)
    ids = [deal.deal_id for deal in (*first.deals, *second.deals)]
    assert ids == sorted(ids, reverse=True)
    every = ladder.call.ListLadderDeals(page_size=200).deals
    finished = [deal for deal in every if deal.HasField("finish_time")]
    assert finished
    for deal in finished:
        players = int(deal.board[0])
        assert len(deal.versions) == len(deal.match_ids) == players
        assert players**2 <= sum(deal.places) <= players * players * (players + 1) // 2
        assert len({version.bot for version in deal.versions}) == players
        assert deal.kind in (RATED, CHALLENGE, COMPARISON)


def test_deals_are_filtered(ladder: LadderServer) -> None:
    """Each filter leaves out what is different, and several hold together."""

    def deals(**fields: Any) -> list[pb.LadderDeal]:
        return list(ladder.call.ListLadderDeals(**fields).deals)

    for deal in deals(bot="anna", board="3-family", kind=RATED, season_id=1):
        assert "anna" in {version.bot for version in deal.versions}
        assert (deal.board, deal.kind, deal.season_id) == ("3-family", RATED, 1)
    version = ladder.call.GetLadderBot(bot="ben").versions[0].version_id
    for deal in deals(version_id=version):
        assert version in {each.version_id for each in deal.versions}
    (known,) = deals(page_size=1)
    assert [deal.deal_id for deal in deals(deal_id=known.deal_id)] == [known.deal_id]
    assert not deals(deal_id=known.deal_id, season_id=99)
    assert not deals(deal_id=2**63 - 1)
    assert not deals(challenge_id=12345)


@pytest.mark.level(2)
def test_rated_challenge_is_played(ladder: LadderServer) -> None:
    """Its deals are rated ones of the bot on its board, against opponents that the ladder chose."""
    wanted = {"deals": 2, "board": "2-family", "request_id": "once"}
    made = ladder.challenge("anna", **wanted)
    assert (made.state, list(made.opponents)) == (pb.CHALLENGE_STATE_PLAYING, [])
    assert ladder.challenge("anna", **wanted).challenge_id == made.challenge_id
    over = ladder.finished(made.challenge_id)
    assert (over.deals, over.deals_finished) == (2, 2)
    deals = ladder.call.ListLadderDeals(challenge_id=made.challenge_id).deals
    assert [(deal.kind, deal.board) for deal in deals] == [(RATED, "2-family")] * 2
    assert all("anna" in {version.bot for version in deal.versions} for deal in deals)


@pytest.mark.level(2)
def test_newer_version_replays_the_older_one_s_deals(ladder: LadderServer) -> None:
    """A version that plays the same gains exactly nothing; one with too few deals says how many there are."""
    old = ladder.call.GetLadderBot(bot="anna").versions[0].version_id
    asked: dict[str, Any] = {"version_id": old, "board": "2-family", "kind": RATED, "page_size": 200}
    until(
        lambda: any(
            all(version.bot in ("anna", "rock") for version in deal.versions)
            for deal in ladder.call.ListLadderDeals(**asked).deals
            if deal.HasField("finish_time")
        )
    )
    ladder.connect("anna", FirstMove, version="2")

    def newer() -> int | None:
        versions = [version.version_id for version in ladder.call.GetLadderBot(bot="anna").versions]
        return next((version for version in versions if version != old), None)

    new = until(newer)
    wanted: dict[str, Any] = {"kind": COMPARISON, "old_version_id": old, "board": "2-family"}
    few = refusal(lambda: ladder.challenge("anna", **{**wanted, "old_version_id": new}))
    assert (few.reason, few.fields) == ("INVALID_FIELD", ("old_version_id",))
    made = ladder.challenge("anna", **wanted)
    ladder.finished(made.challenge_id)
    (deal,) = ladder.call.ListLadderDeals(challenge_id=made.challenge_id).deals
    assert new in {version.version_id for version in deal.versions}
    compared = ladder.call.CompareVersions(old_version_id=old, new_version_id=new)
    assert compared.deals >= 1
    assert math.isfinite(compared.difference)
    assert compared.HasField("standard_error") is (compared.deals > 1)
    assert old in {rating.version_id for rating in compared.ratings}
    other = ladder.call.GetLadderBot(bot="ben").versions[0].version_id
    of_others = refusal(lambda: ladder.call.CompareVersions(old_version_id=old, new_version_id=other))
    assert of_others.reason == "NOT_IN_LADDER"


@pytest.mark.level(2)
def test_unanswered_challenge_expires_while_nothing_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to connect or play for that."""
    monkeypatch.setattr(ladder_module, "NOTE_SECONDS", 0.2)
    hours = 0.2 / 3600
    with ladder_server(tmp_path, file=f"{FILE}challenge_hours = {hours}\n") as server:
        for name in ("anna", "ben"):
            server.connect(name)
        until(lambda: len(server.board().lines) == 2)
        server.arena.disconnect("ben")
        made = server.challenge("anna", kind=CHALLENGE, board="2-family", opponents=["ben"])
        assert made.state == pb.CHALLENGE_STATE_OPEN
        until(lambda: server.call.ListChallenges(state=pb.CHALLENGE_STATE_EXPIRED).challenges)


def test_authors_act_for_their_own_bots(tmp_path: Path) -> None:
    """A token makes and answers challenges of its bot alone, and no token does for the house."""
    path = tmp_path / "tokens.json"
    anna, ben = (bearer(issued_token(path, Role.BOT, name)) for name in ("anna", "ben"))
    with ladder_server(tmp_path, tokens=path, open=False) as server:
        for bot, token, reason in (
            ("anna", anna, "NOT_IN_LADDER"),
            ("ben", ben, "NOT_IN_LADDER"),
            ("ben", anna, "WRONG_NAME"),
            ("rock", anna, "WRONG_NAME"),
            ("anna", (), "UNAUTHENTICATED"),
        ):
            calls = [lambda: server.challenge(bot, metadata=token)]  # noqa: B023 - called at once
            for how in ("Accept", "Decline", "Withdraw"):
                calls.append(lambda how=how: server.answer(how, 1, bot, metadata=token))  # type: ignore[misc]  # noqa: B023, PERF401 - likewise
            assert {refusal(call).reason for call in calls} == {reason}, (bot, reason)


async def test_server_without_a_ladder_says_so(tmp_path: Path) -> None:
    """Every method is refused with NO_LADDER."""
    async with serving(tmp_path) as (_, channel):
        methods = [path for path in ROLES if path.startswith(SERVICE)]
        assert len(methods) == 15
        for path in methods:
            outcome = await called(channel, path)
            assert (outcome.status, outcome.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NO_LADDER")
            assert "happycity serve --ladder FILE" in outcome.text
