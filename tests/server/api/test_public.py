"""What callers without a token may see of a server that is run with --public: nothing of a deal in play."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from tests.server import harness as h
from tests.server.api.ladders import FILE
from tests.server.api.tournaments import config as tournament_config
from tests.server.conftest import playing

from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access
from happycity_server.access.roles import ROLES, PublicRole

BOTS = ("anna", "ben")


@dataclass(frozen=True)
class Public:
    address: str
    channel: grpc.aio.Channel
    organiser: h.Metadata
    tokens: dict[str, str]

    @property
    def matches(self) -> h.Service:
        return h.matches_at(self.channel)

    @property
    def tournaments(self) -> h.Service:
        return h.tournaments_at(self.channel)

    @property
    def ladder(self) -> h.Service:
        return h.Service(self.channel, "happycity.ladder.v1beta1.LadderService")

    async def created(self, *bots: str, **fields: Any) -> int:
        """Set up a match; those with an absent bot never end."""
        return int((await self.matches.CreateMatch(self.organiser, **h.terms(*bots, **fields))).match_id)

    async def listed(self) -> set[int]:
        """Return the matches that the public gets, page by page."""
        found, token = set[int](), ""
        while True:
            page = await self.matches.ListMatches(page_size=1, page_token=token)
            found |= {match.match_id for match in page.matches}
            token = page.next_page_token
            if not token:
                return found

    async def refusals(self, match_id: int) -> list[str]:
        """Return why the public gets neither a match, nor its positions, nor its record; "" if it does."""
        calls: list[Callable[..., Any]] = [
            self.matches.GetMatch,
            lambda **fields: self.matches.WatchMatch(**fields).read(),
            self.matches.GetMatchRecord,
        ]
        return [(await h.outcome_of(call(match_id=match_id))).reason for call in calls]


@pytest.fixture
async def public(tmp_path: Path) -> AsyncIterator[Public]:
    """Yield a server with a ladder, on which the bots play all that they are asked to."""
    ladder, path = tmp_path / "ladder.toml", tmp_path / "tokens.json"
    ladder.write_text(f"time = {{ decision_seconds = 600.0 }}\n{FILE}")
    organiser = h.issued_token(path, Role.ORGANISER, "olga")
    tokens = {bot: h.issued_token(path, Role.BOT, bot) for bot in BOTS}
    values: dict[str, Any] = {"tokens": path, "public": True, "ladder": ladder, "house": "rock=random"}
    values["calls_burst"] = 1_000_000  # as the tests ask again and again
    async with h.serving(tmp_path, **values) as (server, channel):
        assert server.address
        yield Public(server.address, channel, h.bearer(organiser), tokens)


@pytest.mark.level(2)
async def test_public_sees_finished_games_and_no_deal_in_play(public: Public) -> None:
    """A game is there once its deal is out of play; one that runs is shown if its deal is its own."""
    async with (
        playing(public.address, "anna", access=Access(token=public.tokens["anna"]), games=0),
        playing(public.address, "ben", access=Access(token=public.tokens["ben"]), games=0),
    ):
        finished, sibling = await public.created(*BOTS), await public.created(*BOTS, seed=5)
        for number in (finished, sibling):
            await h.ended_match(public.matches, number, public.organiser)
        practice = await public.matches.CreatePracticeMatch(
            h.bearer(public.tokens["anna"]), config=h.terms(*BOTS)["config"], bots=("anna", "anna")
        )
        assert await public.refusals(finished) == ["", "", ""]
        assert await public.refusals(sibling) == ["", "", ""]
        # From here on the deal of that game is played again, with the seats the other way round.
        running = await public.created("anna", "absent"), await public.created("absent", "anna", seed=5)
        assert await public.refusals(running[0]) == ["", "", "MATCH_RUNNING"]
        assert await public.refusals(running[1]) == ["", "UNAUTHENTICATED", "MATCH_RUNNING"]
        assert await public.refusals(sibling) == ["", "MATCH_RUNNING", "MATCH_RUNNING"]
        listed = await public.listed()
        assert practice.match_id not in listed
        assert {finished, sibling, *running} <= listed
        assert (await public.refusals(practice.match_id))[:1] == ["UNKNOWN_MATCH"]
        # Organisers who watch see the same.
        watched = public.matches.WatchMatch(match_id=finished)
        by_organiser = public.matches.WatchMatch(public.organiser, match_id=finished)
        assert [step async for step in watched] == [step async for step in by_organiser]


@pytest.mark.level(2)
async def test_public_sees_tournaments_that_have_ended(public: Public) -> None:
    """Of one that runs it gets neither standings nor the results of games, whose deals others still play."""
    config = tournament_config(*BOTS, rounds=10_000)
    created = await public.tournaments.CreateTournament(public.organiser, config=config)
    number = {"tournament_id": created.tournament_id}
    asked: list[Callable[[], Any]] = [
        lambda: public.tournaments.GetTournament(**number),
        lambda: public.tournaments.GetStandings(**number),
        lambda: public.tournaments.WatchTournament(**number).read(),
    ]
    async with (
        playing(public.address, "anna", access=Access(token=public.tokens["anna"]), games=0),
        playing(public.address, "ben", access=Access(token=public.tokens["ben"]), games=0),
    ):
        async for update in public.tournaments.WatchTournament(public.organiser, **number):
            if update.progress.games_finished:
                break
        reasons = [(await h.outcome_of(call())).reason for call in asked]
        assert reasons == ["UNAUTHENTICATED"] * 3
        assert not (await public.tournaments.ListTournaments()).tournaments
        games = (await public.matches.ListMatches(page_size=200, **number)).matches
        assert {game.state for game in games} <= {
            match_pb2.MATCH_STATE_WAITING,
            match_pb2.MATCH_STATE_RUNNING,
        }
        await public.tournaments.StopTournament(public.organiser, **number)
        async for _ in public.tournaments.WatchTournament(public.organiser, **number):
            pass
    assert [(await h.outcome_of(call())).reason for call in asked] == ["", "", ""]
    (listed,) = (await public.tournaments.ListTournaments()).tournaments
    assert listed.progress.state == tournament_pb.TOURNAMENT_STATE_STOPPED
    games = (await public.matches.ListMatches(page_size=1, **number)).matches
    # It can be resumed, so its deals stay secret.
    assert await public.refusals(games[0].match_id) == ["", "MATCH_RUNNING", "MATCH_RUNNING"]


@pytest.mark.level(2)
async def test_public_sees_no_game_of_a_ladder_deal_in_play(public: Public) -> None:
    """The first game of a deal, and the places in it, would tell how the others go."""
    call = await h.connected(public.channel, "anna", h.bearer(public.tokens["anna"]))
    played, decided = 0, None
    while not decided:
        response = await h.next_response(call)
        for decision in response.decisions:
            played = played or decision.match_id
            if decision.match_id == played:
                answer = play.Answer(match_id=played, decision_id=decision.decision_id)
                await call.write(play.PlayRequest(answers=[answer]))
        decided = [over for over in response.games_over if over.match_id == played]
    await h.ended_match(public.matches, played, public.organiser)  # until it is stored
    deals = (await public.ladder.ListLadderDeals(public.organiser)).deals
    assert [list(deal.match_ids) for deal in deals if deal.match_ids] == [[played]]
    assert not (await public.ladder.ListLadderDeals()).deals
    assert await public.refusals(played) == ["UNKNOWN_MATCH", "MATCH_RUNNING", "MATCH_RUNNING"]
    (other, *_) = await public.listed()
    assert await public.refusals(other) == ["", "UNAUTHENTICATED", "MATCH_RUNNING"]
    call.cancel()


@pytest.mark.level(2)
async def test_public_gets_nothing_of_owners(public: Public) -> None:
    """No answer has the name of an owner, who may be a person, a token, or how far a bot is away."""
    async with playing(public.address, "anna", access=Access(token=public.tokens["anna"]), games=0):
        while not (await public.ladder.ListLadderDeals()).deals:
            pass
        path = {
            method.rpartition("/")[2]: method for method, roles in ROLES.items() if PublicRole.PUBLIC in roles
        }
        assert "ListChallenges" not in path
        by_bot = await public.ladder.GetLadderBot(h.bearer(public.tokens["anna"]), bot="anna")
        assert by_bot.owner == "anna"
        answers: list[Message] = [
            await public.ladder.GetLadderBot(bot="anna"),
            *(await public.ladder.GetLeaderboard()).lines,
            *(await h.Service(public.channel, "happycity.v1.BotService").ListBots()).bots,
        ]
        for answer in answers:
            sent = {entry.name for entry, _ in answer.ListFields()}
            assert not sent & {"owner", "round_trip"}, answer
