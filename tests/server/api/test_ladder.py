"""LadderService on a real server whose ladder is played by real bots."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.api.ladders import (
    FILE,
    FirstMove,
    LadderServer,
    LastMove,
    ladder_server,
    refusal,
    until,
)
from tests.server.harness import bearer, called, issued_token, serving

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.runtime.tokens import Role
from happycity_server.access.roles import ROLES
from happycity_server.ladder import ladder as ladder_module

SERVICE = "/happycity.ladder.v1beta1.LadderService/"


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LadderServer]:
    """Yield a server whose house and guests have played some deals."""
    folder = tmp_path_factory.mktemp("ladder")
    with ladder_server(folder, house="rock=random") as server:
        for name in ("anna", "ben"):
            server.connect(name, {"anna": FirstMove, "ben": LastMove}[name])
        until(lambda: all(len(server.board(board=board).lines) == 3 for board in ("2-family", "3-family")))
        yield server


def test_ladder_says_what_it_is(ladder: LadderServer) -> None:
    """The response has what the file says, and how the ladder stands."""
    found = ladder.stub.GetLadder(pb.GetLadderRequest())
    assert (found.name, found.anchor, found.anchor_elo) == ("Test ladder", "rock", 1600.0)
    assert [(board.name, board.game.players, board.share) for board in found.boards] == [
        ("2-family", 2, 0.5),
        ("3-family", 3, 0.5),
    ]
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
    for line in bots.values():
        assert line.rating.low <= line.rating.elo <= line.rating.high
        assert line.rating.deals > 0
        assert 0 <= line.firsts <= line.games
        assert line.HasField("rank") is (not line.rating.provisional and not line.inactive)


def test_pages_of_a_leaderboard_are_the_whole(ladder: LadderServer) -> None:
    """Pages of one line each have every bot; a token of something else is refused."""
    names, token = [], ""
    while True:
        page = ladder.board(page_size=1, page_token=token)
        names += [line.version.bot for line in page.lines]
        token = page.next_page_token
        if not token:
            break
    assert {"rock", "anna", "ben"} <= set(names)
    assert len(names) == len(set(names))
    assert refusal(lambda: ladder.board(page_token="?")).fields == ("page_token",)
    assert all(line.rank for line in ladder.board(ranked_only=True).lines)


def test_bot_is_shown_with_versions_ratings_and_history(ladder: LadderServer) -> None:
    """Ratings are those of the leaderboard; the history ends with the present."""
    bot = ladder.bot("anna", board="3-family")
    assert (bot.bot, bot.owner, bot.house, bot.board) == ("anna", "anna", False, "3-family")
    ids = [version.version_id for version in bot.versions]
    assert ids == sorted(ids, reverse=True)
    assert {rating.board for rating in bot.ratings} == {"2-family", "3-family"}
    assert {rating.version_id for rating in bot.ratings} <= set(ids)
    assert bot.history
    times = [point.time.ToNanoseconds() for point in bot.history]
    assert times == sorted(times)
    assert all(point.rating.deals > 0 for point in bot.history)
    assert ladder.bot("rock").house


def test_deals_are_listed_newest_first(ladder: LadderServer) -> None:
    """A finished deal has a game for each rotation, and the sums of the places; pages join up."""
    first = ladder.deals(page_size=2)
    second = ladder.deals(page_size=2, page_token=first.next_page_token)
    ids = [deal.deal_id for deal in (*first.deals, *second.deals)]
    assert ids == sorted(ids, reverse=True)
    finished = [deal for deal in ladder.deals(page_size=200).deals if deal.HasField("finish_time")]
    assert finished
    for deal in finished:
        players = int(deal.board[0])
        assert len(deal.versions) == len(deal.match_ids) == players
        assert players**2 <= sum(deal.places) <= players * players * (players + 1) // 2
        assert len({version.bot for version in deal.versions}) == players
        assert deal.kind in (pb.DEAL_KIND_RATED, pb.DEAL_KIND_CHALLENGE, pb.DEAL_KIND_COMPARISON)


def test_deals_are_filtered(ladder: LadderServer) -> None:
    """Each filter leaves out what is different, and several hold together."""
    for deal in ladder.deals(bot="anna", board="3-family", kind=pb.DEAL_KIND_RATED, season_id=1).deals:
        assert "anna" in {version.bot for version in deal.versions}
        assert (deal.board, deal.kind, deal.season_id) == ("3-family", pb.DEAL_KIND_RATED, 1)
    version = ladder.bot("ben").versions[0].version_id
    for deal in ladder.deals(version_id=version).deals:
        assert version in {each.version_id for each in deal.versions}
    (known,) = ladder.deals(page_size=1).deals
    assert [deal.deal_id for deal in ladder.deals(deal_id=known.deal_id).deals] == [known.deal_id]
    assert not ladder.deals(deal_id=known.deal_id, season_id=99).deals
    assert not ladder.deals(deal_id=2**63 - 1).deals
    assert not ladder.deals(challenge_id=12345).deals


UNKNOWN = {
    "board": ("GetLeaderboard", pb.GetLeaderboardRequest(board="5-expert"), "board"),
    "season": ("GetLeaderboard", pb.GetLeaderboardRequest(season_id=99), "season"),
    "bot": ("GetLadderBot", pb.GetLadderBotRequest(bot="zoe"), "bot"),
    "bot's board": ("GetLadderBot", pb.GetLadderBotRequest(bot="anna", board="5-expert"), "board"),
    "board of deals": ("ListLadderDeals", pb.ListLadderDealsRequest(board="5-expert"), "board"),
    "version": ("CompareVersions", pb.CompareVersionsRequest(old_version_id=1, new_version_id=99), "version"),
    "no version": ("CompareVersions", pb.CompareVersionsRequest(), "version"),
    "season to close": ("CloseSeason", pb.CloseSeasonRequest(season_id=99), "season"),
    "no season": ("CloseSeason", pb.CloseSeasonRequest(), "season"),
    "largest season": ("GetLeaderboard", pb.GetLeaderboardRequest(season_id=2**63 - 1), "season"),
    "flags' season": ("ListFlags", pb.ListFlagsRequest(season_id=-1), "season"),
    "challenger": (
        "CreateChallenge",
        pb.CreateChallengeRequest(bot="zoe", kind=pb.DEAL_KIND_RATED, deals=1),
        "bot",
    ),
    "challenge to accept": (
        "AcceptChallenge",
        pb.AcceptChallengeRequest(challenge_id=99, bot="anna"),
        "challenge",
    ),
    "challenge to decline": (
        "DeclineChallenge",
        pb.DeclineChallengeRequest(challenge_id=99, bot="anna"),
        "challenge",
    ),
    "challenge to withdraw": (
        "WithdrawChallenge",
        pb.WithdrawChallengeRequest(challenge_id=99, bot="anna"),
        "challenge",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_not_there_is_not_in_the_ladder(ladder: LadderServer, case: str) -> None:
    """The refusal says what it is that isn't there."""
    method, request, what = UNKNOWN[case]
    outcome = refusal(lambda: getattr(ladder.stub, method)(request))
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.NOT_FOUND, "NOT_IN_LADDER")
    assert outcome.metadata == {"what": what}


WRONG = {
    "size": ("ListSeasons", pb.ListSeasonsRequest(page_size=-1), "page_size"),
    "token": ("ListChallenges", pb.ListChallengesRequest(page_token="x"), "page_token"),
    "name": ("GetLadderBot", pb.GetLadderBotRequest(bot="no name"), "bot"),
    "name of deals": ("ListLadderDeals", pb.ListLadderDealsRequest(bot="no name"), "bot"),
    "kind of deals": ("ListLadderDeals", pb.ListLadderDealsRequest(kind=pb.DEAL_KIND_UNSPECIFIED), "kind"),
    "name in challenges": ("ListChallenges", pb.ListChallengesRequest(bot='"%'), "bot"),
    "state": ("ListChallenges", pb.ListChallengesRequest(state=pb.CHALLENGE_STATE_UNSPECIFIED), "state"),
    "kind": ("CreateChallenge", pb.CreateChallengeRequest(bot="anna", deals=1), "kind"),
    "deals": (
        "CreateChallenge",
        pb.CreateChallengeRequest(bot="anna", kind=pb.DEAL_KIND_RATED, deals=21),
        "deals",
    ),
    "opponents": (
        "CreateChallenge",
        pb.CreateChallengeRequest(bot="anna", kind=pb.DEAL_KIND_CHALLENGE, deals=1, opponents=["?"]),
        "opponents",
    ),
    "request id": (
        "CreateChallenge",
        pb.CreateChallengeRequest(bot="anna", kind=pb.DEAL_KIND_RATED, deals=1, request_id="x" * 65),
        "request_id",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_fields_are_named(ladder: LadderServer, case: str) -> None:
    """An impossible value is refused as such."""
    method, request, field = WRONG[case]
    outcome = refusal(lambda: getattr(ladder.stub, method)(request))
    assert (outcome.reason, outcome.fields) == ("INVALID_FIELD", (field,))


# Challenges ----------------------------------------------------------------------------------------------


def test_rated_challenge_is_played(ladder: LadderServer) -> None:
    """Its deals are rated ones of the bot on its board, against opponents that the ladder chose."""
    made = ladder.challenge("anna", deals=2, board="2-family", request_id="once")
    assert (made.state, list(made.opponents)) == (pb.CHALLENGE_STATE_PLAYING, [])
    assert (
        ladder.challenge("anna", deals=2, board="2-family", request_id="once").challenge_id
        == made.challenge_id
    )
    over = ladder.finished(made.challenge_id)
    assert (over.deals, over.deals_finished) == (2, 2)
    deals = ladder.deals(challenge_id=made.challenge_id).deals
    assert [(deal.kind, deal.board) for deal in deals] == [(pb.DEAL_KIND_RATED, "2-family")] * 2
    assert all("anna" in {version.bot for version in deal.versions} for deal in deals)


def test_challenge_to_others_waits_for_them_and_counts_for_nobody(ladder: LadderServer) -> None:
    """It begins when the guest accepts; the house needn't."""
    made = ladder.challenge("anna", kind=pb.DEAL_KIND_CHALLENGE, board="3-family", opponents=["rock", "ben"])
    assert made.state == pb.CHALLENGE_STATE_OPEN
    assert made.challenge_id in {each.challenge_id for each in ladder.challenges(bot="ben").challenges}
    assert made.challenge_id not in {each.challenge_id for each in ladder.challenges(bot="be").challenges}
    assert not made.HasField("old_version_id")
    for answer, bot in ((ladder.accept, "anna"), (ladder.decline, "anna"), (ladder.withdraw, "ben")):
        assert refusal(lambda: answer(made.challenge_id, bot)).reason == "CHALLENGE_CLOSED"  # noqa: B023 - called at once
    assert ladder.accept(made.challenge_id, "ben").state == pb.CHALLENGE_STATE_PLAYING
    ladder.finished(made.challenge_id)
    (deal,) = ladder.deals(challenge_id=made.challenge_id).deals
    assert deal.kind == pb.DEAL_KIND_CHALLENGE
    assert {version.bot for version in deal.versions} == {"anna", "rock", "ben"}
    assert refusal(lambda: ladder.decline(made.challenge_id, "ben")).reason == "CHALLENGE_CLOSED"


def test_challenge_may_be_declined(ladder: LadderServer) -> None:
    """Then it is over for all of its bots."""
    made = ladder.challenge("anna", kind=pb.DEAL_KIND_CHALLENGE, board="3-family", opponents=["rock", "ben"])
    declined = ladder.decline(made.challenge_id, "ben")
    assert (declined.challenge_id, declined.state) == (made.challenge_id, pb.CHALLENGE_STATE_DECLINED)
    assert refusal(lambda: ladder.withdraw(made.challenge_id, "anna")).reason == "CHALLENGE_CLOSED"


def test_newer_version_replays_the_older_one_s_deals(ladder: LadderServer) -> None:
    """A version that plays the same gains exactly nothing; one with too few deals says how many there are."""
    old = ladder.bot("anna").versions[0].version_id
    until(
        lambda: any(
            all(version.bot in ("anna", "rock") for version in deal.versions)
            for deal in ladder.deals(
                version_id=old, board="2-family", kind=pb.DEAL_KIND_RATED, page_size=200
            ).deals
            if deal.HasField("finish_time")
        )
    )
    ladder.connect("anna", FirstMove, version="2")
    new = until(
        lambda: next((v.version_id for v in ladder.bot("anna").versions if v.version_id != old), None)
    )
    asked: dict[str, Any] = {"kind": pb.DEAL_KIND_COMPARISON, "old_version_id": old, "board": "2-family"}
    few = refusal(lambda: ladder.challenge("anna", **{**asked, "old_version_id": new}))
    assert (few.reason, few.fields) == ("INVALID_FIELD", ("old_version_id",))
    made = ladder.challenge("anna", **asked)
    ladder.finished(made.challenge_id)
    (deal,) = ladder.deals(challenge_id=made.challenge_id).deals
    assert new in {version.version_id for version in deal.versions}
    request = pb.CompareVersionsRequest(old_version_id=old, new_version_id=new)
    compared = ladder.stub.CompareVersions(request)
    assert compared.deals >= 1
    assert math.isfinite(compared.difference)
    assert compared.HasField("standard_error") is (compared.deals > 1)
    assert old in {rating.version_id for rating in compared.ratings}
    others = pb.CompareVersionsRequest(
        old_version_id=old, new_version_id=ladder.bot("ben").versions[0].version_id
    )
    assert refusal(lambda: ladder.stub.CompareVersions(others)).reason == "NOT_IN_LADDER"


def test_flood_of_challenges_is_bounded(ladder: LadderServer) -> None:
    """An author gets no more than the quotas, and the ladder plays on."""
    outcomes = [
        refusal(lambda: ladder.challenge("ben", kind=pb.DEAL_KIND_CHALLENGE, opponents=["anna"]))
        for _ in range(30)
    ]
    assert [outcome.reason for outcome in outcomes[:3]] == [""] * 3
    assert {outcome.reason for outcome in outcomes[3:]} == {"TOO_MANY_OPEN"}
    deals = ladder.stub.GetLadder(pb.GetLadderRequest()).season.deals
    until(lambda: ladder.stub.GetLadder(pb.GetLadderRequest()).season.deals > deals)
    open_ones = ladder.challenges(bot="ben", state=pb.CHALLENGE_STATE_OPEN).challenges
    for challenge in open_ones:
        ended = ladder.withdraw(challenge.challenge_id, "ben")
        assert ended.state == pb.CHALLENGE_STATE_WITHDRAWN


@pytest.mark.thorough
def test_unanswered_challenge_expires_while_nothing_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to connect or play for that."""
    monkeypatch.setattr(ladder_module, "NOTE_SECONDS", 0.2)
    hours = 3 / 3600
    with ladder_server(tmp_path, file=f"{FILE}challenge_hours = {hours}\n") as server:
        for name in ("anna", "ben"):
            server.connect(name)
        until(lambda: len(server.board().lines) == 2)
        server.arena.disconnect("ben")
        made = server.challenge("anna", kind=pb.DEAL_KIND_CHALLENGE, board="2-family", opponents=["ben"])
        assert made.state == pb.CHALLENGE_STATE_OPEN
        until(lambda: server.challenges(state=pb.CHALLENGE_STATE_EXPIRED).challenges)


# Seasons -------------------------------------------------------------------------------------------------


def test_season_ends_once_and_stays(ladder: LadderServer) -> None:
    """The next one begins; ratings go on, and the old leaderboard is kept."""
    before = {line.version.bot: line.rating.elo for line in ladder.board().lines}
    present = ladder.stub.GetLadder(pb.GetLadderRequest()).season.season_id
    request = pb.CloseSeasonRequest(season_id=present)
    assert ladder.stub.CloseSeason(request).season_id == present + 1
    assert ladder.stub.CloseSeason(request).season_id == present + 1
    seasons = ladder.stub.ListSeasons(pb.ListSeasonsRequest(page_size=1))
    assert [each.season_id for each in seasons.seasons] == [present + 1]
    older = ladder.stub.ListSeasons(pb.ListSeasonsRequest(page_token=seasons.next_page_token)).seasons
    assert older[0].season_id == present
    assert older[0].HasField("end_time")
    kept = ladder.board(season_id=present)
    assert kept.season == older[0]
    assert {line.version.bot for line in kept.lines} >= before.keys()
    assert kept == ladder.board(season_id=present)
    until(lambda: ladder.board().season.deals)
    assert {line.version.bot for line in ladder.board().lines} >= before.keys()


def test_flags_are_listed(ladder: LadderServer) -> None:
    """So few deals are odd for nobody; the season may be named."""
    for request in (pb.ListFlagsRequest(), pb.ListFlagsRequest(season_id=1)):
        for flag in ladder.stub.ListFlags(request).flags:
            assert flag.text


# Who may -------------------------------------------------------------------------------------------------


def test_authors_act_for_their_own_bots(tmp_path: Path) -> None:
    """A token makes and answers challenges of its bot alone, and no token does for the house."""
    path = tmp_path / "tokens.json"
    anna, ben = (bearer(issued_token(path, Role.BOT, name)) for name in ("anna", "ben"))
    with ladder_server(tmp_path, tokens=path, open=False) as server:
        for name, own in (("anna", anna), ("ben", ben)):
            for bot, metadata, reason in ((name, own, "NOT_IN_LADDER"), ("rock", own, "WRONG_NAME")):
                outcome = refusal(lambda: server.challenge(bot, metadata=metadata))  # noqa: B023 - called at once
                assert outcome.reason == reason
        for answer in (server.accept, server.decline, server.withdraw):
            for own, reason in ((anna, "WRONG_NAME"), (ben, "NOT_IN_LADDER")):
                assert refusal(lambda: answer(1, "ben", metadata=own)).reason == reason  # noqa: B023 - likewise
        assert refusal(lambda: server.challenge("anna")).reason == "UNAUTHENTICATED"


async def test_server_without_a_ladder_says_so(tmp_path: Path) -> None:
    """Every method is refused with NO_LADDER."""
    async with serving(tmp_path) as (_, channel):
        methods = [path for path in ROLES if path.startswith(SERVICE)]
        assert len(methods) == 13
        for path in methods:
            outcome = await called(channel, path)
            assert (outcome.status, outcome.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NO_LADDER")
            assert "happycity serve --ladder FILE" in outcome.text
