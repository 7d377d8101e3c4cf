"""TournamentService over real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc
import pytest
from tests.server.trust import met

from happycity import Config, Move
from happycity.records import Json
from happycity.v1 import game_pb2, match_service_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire import config_message
from happycity_client import Bot, Decision, Settings, play_games
from happycity_server.app import serving
from happycity_server.config import ServerSettings
from happycity_server.referee import Effect, Referee
from happycity_tournament.config import TournamentConfig
from happycity_tournament.final_ratings import rate
from happycity_tournament.game_columns import GamesBuilder
from happycity_tournament.store import Store, StoreError

Connect = Callable[..., "asyncio.Task[None]"]

OVER = (pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_STOPPED)


def config(
    *bots: str, rounds: int = 3, concurrency: int = 8, connect_ms: int = 60_000
) -> pb.TournamentConfig:
    return pb.TournamentConfig(
        bots=bots,
        game=config_message(Config(players=2)),
        rounds=rounds,
        seed=1,
        concurrency=concurrency,
        time_control=match_service_pb2.TimeControl(connect_ms=connect_ms),
    )


async def create(channel: grpc.aio.Channel, tournament: pb.TournamentConfig) -> int:
    stub = TournamentServiceStub(channel)
    response = await stub.CreateTournament(pb.CreateTournamentRequest(config=tournament))
    return int(response.tournament.tournament_id)


async def follow(channel: grpc.aio.Channel, tournament_id: int) -> pb.WatchTournamentResponse:
    """Watch a tournament to its end; return the last message."""
    request = pb.WatchTournamentRequest(tournament_id=tournament_id, interval_ms=10)
    updates = [update async for update in TournamentServiceStub(channel).WatchTournament(request)]
    last = updates[-1]
    assert last.tournament.state in OVER
    return last


async def test_tournament_is_played_to_its_end(channel: grpc.aio.Channel, connect: Connect) -> None:
    """All games are played and stored, and standings count all of them."""
    for name in ("anna", "ben", "carl"):
        connect(name)
    last = await follow(channel, await create(channel, config("anna", "ben", "carl", rounds=6)))
    tournament = last.tournament
    assert tournament.state == pb.TOURNAMENT_STATE_FINISHED
    assert tournament.games_finished == tournament.games_total == 12
    assert sorted(line.bot for line in last.standings) == ["anna", "ben", "carl"]
    assert [line.games for line in last.standings] == [8, 8, 8]
    listed = await MatchServiceStub(channel).ListMatches(
        match_service_pb2.ListMatchesRequest(tournament_id=1)
    )
    assert len(listed.matches) == 12
    assert sum(match.decisions for match in listed.matches) == tournament.decisions


async def test_concurrency_changes_nothing(channel: grpc.aio.Channel, connect: Connect) -> None:
    """One game at a time or many: the same results and standings."""
    connect("anna")
    connect("ben")
    one = await follow(channel, await create(channel, config("anna", "ben", concurrency=1)))
    many = await follow(channel, await create(channel, config("anna", "ben", concurrency=6)))
    assert list(one.standings) == list(many.standings)
    assert one.tournament.decisions == many.tournament.decisions


async def test_seed_and_records_are_secret_while_deals_are_in_play(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """Neither the seed nor the record of a finished game is told before the tournament is over."""
    go_on, told = asyncio.Event(), asyncio.Event()
    finished: list[int] = []

    class Waiter(Bot):
        """Plays the first game, and the others when it is told to."""

        async def choose(self, decision: Decision) -> Move:
            if finished:
                await go_on.wait()
            return decision.moves[0]

        def game_over(self, over: object) -> None:
            finished.append(self.start.game_id)
            told.set()

    connect("waiter", Waiter)
    connect("ben")
    tournament_id = await create(channel, config("waiter", "ben", rounds=1, concurrency=1))
    matches = MatchServiceStub(channel)
    stub = TournamentServiceStub(channel)
    request = pb.GetTournamentRequest(tournament_id=tournament_id)
    while (status := (await stub.GetTournament(request)).tournament).games_finished == 0:
        assert not status.config.HasField("seed")
    await told.wait()
    record_request = match_service_pb2.GetMatchRecordRequest(match_id=finished[0])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await matches.GetMatchRecord(record_request)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    go_on.set()
    last = await follow(channel, tournament_id)
    assert last.tournament.config.seed == 1
    assert (await matches.GetMatchRecord(record_request)).record_json


async def test_stop_finishes_running_games_and_starts_no_more(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A stopped tournament keeps what it played."""
    connect("anna")
    connect("ben")
    stub = TournamentServiceStub(channel)
    tournament_id = await create(channel, config("anna", "ben", rounds=5000, concurrency=2))
    request = pb.GetTournamentRequest(tournament_id=tournament_id)
    while (await stub.GetTournament(request)).tournament.games_finished < 3:
        pass
    await stub.StopTournament(pb.StopTournamentRequest(tournament_id=tournament_id))
    last = await follow(channel, tournament_id)
    assert last.tournament.state == pb.TOURNAMENT_STATE_STOPPED
    assert 3 <= last.tournament.games_finished < last.tournament.games_total
    assert sum(line.games for line in last.standings) == 2 * last.tournament.games_finished


async def test_tournament_without_its_bots_ends_in_forfeits(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A bot that never connects loses all its games; nobody waits for ever."""
    connect("anna")
    connect("ben")
    await met(channel, "anna", "ben")
    last = await follow(channel, await create(channel, config("anna", "ghost", connect_ms=50)))
    forfeits = {line.bot: line.forfeits for line in last.standings}
    assert forfeits == {"anna": 0, "ghost": 6}


@pytest.mark.parametrize(
    "tournament",
    [
        config("anna"),
        config("anna", "anna"),
        config("anna", "ben", rounds=0),
        config("anna", "b/n"),
        pb.TournamentConfig(bots=["anna", "ben"], rounds=1),
    ],
)
async def test_tournament_that_makes_no_sense_is_refused(
    channel: grpc.aio.Channel, tournament: pb.TournamentConfig
) -> None:
    """Each refusal is an INVALID_ARGUMENT with one line."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await create(channel, tournament)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "\n" not in (caught.value.details() or "")


async def test_unknown_tournament_is_refused(channel: grpc.aio.Channel) -> None:
    """A tournament that isn't there answers NOT_FOUND."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await TournamentServiceStub(channel).GetStandings(pb.GetStandingsRequest(tournament_id=77))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


class LastMove(Bot):
    """Plays the last legal move."""

    def choose(self, decision: Decision) -> Move:
        return decision.moves[-1]


def settings(url: str) -> ServerSettings:
    return ServerSettings(open=True, listen="127.0.0.1:0", store=url, grace_seconds=0.0)


@asynccontextmanager
async def arena(url: str, *bots: str) -> AsyncIterator[grpc.aio.Channel]:
    """Give a channel to a server on a store, and let bots play on it that go when it does."""
    async with serving(settings(url)) as address, grpc.aio.insecure_channel(address) as channel:
        playing = [
            asyncio.create_task(
                play_games(LastMove, Settings(name=name, server=address, reconnect_seconds=0.0))
            )
            for name in bots
        ]
        yield channel
    await asyncio.gather(*playing)


async def play_some(channel: grpc.aio.Channel, tournament: pb.TournamentConfig, games: int) -> int:
    """Begin a tournament and return its id once so many of its games are finished."""
    tournament_id = await create(channel, tournament)
    request = pb.WatchTournamentRequest(tournament_id=tournament_id, interval_ms=1)
    async for update in TournamentServiceStub(channel).WatchTournament(request):
        if update.tournament.games_finished >= games:
            break
    return tournament_id


async def test_server_that_stops_keeps_games_and_parts_from_bots(tmp_path: Path) -> None:
    """On shutdown no game is lost that was finished, running ones are void, and bots return normally."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    async with arena(url, "anna", "ben") as channel:
        tournament_id = await play_some(channel, config("anna", "ben", rounds=5000), games=5)
    with Store(url) as store:
        assert len(store.results(tournament_id)) >= 5
        stored = store.tournament(tournament_id)
        assert stored is not None
        assert stored.state == "interrupted"


async def test_watchers_see_the_interruption_without_the_seed(tmp_path: Path) -> None:
    """The last message of a server that stops says that the tournament is interrupted, and no secrets."""
    async with AsyncExitStack() as server:
        url = f"sqlite:///{tmp_path}/games.sqlite"
        address = await server.enter_async_context(serving(settings(url)))
        async with grpc.aio.insecure_channel(address) as channel:
            tournament_id = await create(channel, config("anna", "ben"))
            request = pb.WatchTournamentRequest(tournament_id=tournament_id)
            watching = TournamentServiceStub(channel).WatchTournament(request)
            await watching.read()
            await server.aclose()
            while isinstance(update := await watching.read(), pb.WatchTournamentResponse):
                last = update
    assert last.tournament.state == pb.TOURNAMENT_STATE_INTERRUPTED
    assert not last.tournament.config.HasField("seed")


async def test_next_server_goes_on_with_what_was_interrupted(tmp_path: Path) -> None:
    """A tournament that was interrupted is found waiting, goes on with its bots, and ends complete."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    tournament = config("anna", "ben", rounds=40, connect_ms=30_000)
    async with arena(url, "anna", "ben") as channel:
        tournament_id = await play_some(channel, tournament, games=5)
    async with arena(url) as channel:  # nobody comes
        stub = TournamentServiceStub(channel)
        (waiting,) = (await stub.ListTournaments(pb.ListTournamentsRequest())).tournaments
        assert waiting.state == pb.TOURNAMENT_STATE_WAITING
        assert 5 <= waiting.games_finished < 80
        assert not waiting.config.HasField("seed")
    async with arena(url, "anna", "ben") as channel:
        last = await follow(channel, tournament_id)
        assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
        assert last.tournament.games_finished == 80
        undisturbed = await follow(channel, await create(channel, tournament))
        assert list(last.standings) == list(undisturbed.standings)


async def test_stopped_tournament_stays_stopped(tmp_path: Path) -> None:
    """No later server goes on with a tournament that was stopped, even while it was interrupted."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    async with arena(url, "anna", "ben") as channel:
        stopped = await play_some(channel, config("anna", "ben", rounds=5000), games=3)
        interrupted = await play_some(channel, config("anna", "ben", rounds=5000), games=3)
        stub = TournamentServiceStub(channel)
        await stub.StopTournament(pb.StopTournamentRequest(tournament_id=stopped))
    async with arena(url) as channel:
        assert (await follow(channel, stopped)).tournament.state == pb.TOURNAMENT_STATE_STOPPED
        stub = TournamentServiceStub(channel)
        await stub.StopTournament(pb.StopTournamentRequest(tournament_id=interrupted))
        last = await follow(channel, interrupted)
        assert last.tournament.state == pb.TOURNAMENT_STATE_STOPPED
        assert last.tournament.config.seed == 1
    async with arena(url) as channel:
        assert (await follow(channel, interrupted)).tournament.state == pb.TOURNAMENT_STATE_STOPPED


async def test_stored_tournament_that_makes_no_sense_holds_up_nobody(tmp_path: Path) -> None:
    """A server goes on with the others; the one that it can't read stays as it is."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store(url) as store:
        store.create_tournament({"bots": ["anna"], "format": "of a later version"}, 0.0)
    async with arena(url, "anna", "ben") as channel:
        last = await follow(channel, await create(channel, config("anna", "ben")))
        assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
        listed = await TournamentServiceStub(channel).ListTournaments(pb.ListTournamentsRequest())
        assert [tournament.tournament_id for tournament in listed.tournaments] == [2]
    with Store(url) as store:
        stored = store.tournament(1)
        assert stored is not None
        assert stored.state == "waiting"


async def test_second_server_is_kept_off_the_store(tmp_path: Path) -> None:
    """Two servers on one store would play the same games; the second doesn't start."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    async with arena(url):
        with pytest.raises(StoreError, match="is in use by another server"):
            async with serving(settings(url)):
                pass


async def test_voided_game_is_played_again(
    channel: grpc.aio.Channel, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the arena costs nobody anything: the game begins anew, and the end is as without it."""
    faults = iter([True, False, True])
    start = Referee.start

    def faulty(self: Referee, now: float) -> list[Effect]:
        if next(faults, False):
            raise RuntimeError("a fault of the arena")
        return start(self, now)

    connect("anna")
    connect("ben")
    tournament = config("anna", "ben", concurrency=1)
    undisturbed = await follow(channel, await create(channel, tournament))
    monkeypatch.setattr(Referee, "start", faulty)
    last = await follow(channel, await create(channel, tournament))
    assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
    assert last.tournament.games_voided == 2
    assert list(last.standings) == list(undisturbed.standings)


async def test_game_that_cannot_be_played_is_named(
    channel: grpc.aio.Channel, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the arena fails in a game time and again, the others are played, and a remark tells which it was."""

    def faulty(self: Referee, now: float) -> list[Effect]:
        raise RuntimeError("a fault of the arena")

    connect("anna")
    connect("ben")
    monkeypatch.setattr(Referee, "start", faulty)
    last = await follow(channel, await create(channel, config("anna", "ben", rounds=1)))
    assert last.tournament.state == pb.TOURNAMENT_STATE_STOPPED
    assert (last.tournament.games_finished, last.tournament.games_voided) == (0, 6)
    assert [remark.partition(" could not")[0] for remark in last.tournament.remarks] == [
        "round 1, table 0, rotation 0",
        "round 1, table 0, rotation 1",
    ]


class Resigner(Bot):
    """Gives every game up."""

    def choose(self, decision: Decision) -> Move:
        raise RuntimeError("no idea")


async def test_bot_that_fails_too_often_is_disqualified(
    channel: grpc.aio.Channel, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told, its remaining seats are forfeited without asking it, and standings say so."""
    connect("anna")
    connect("sad", Resigner)
    tournament = config("anna", "sad", rounds=20, concurrency=2)
    tournament.failure_policy.disqualify_share = 0.5
    tournament.failure_policy.disqualify_games = 4
    last = await follow(channel, await create(channel, tournament))
    assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
    assert list(last.tournament.disqualified_bots) == ["sad"]
    sad = next(line for line in last.standings if line.bot == "sad")
    told = {count.ending: count.games for count in sad.forfeits_by_reason}
    assert told == {game_pb2.ENDING_FORFEIT_RESIGNED: 4}
    assert (sad.forfeits, sad.games, sad.games_quarantined) == (4, 4, 36)
    assert last.tournament.games_quarantined == 36
    assert "disqualified from tournament 1" in caplog.text


async def test_disqualified_bot_is_taken_out_of_games_that_run(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A bot that never answers in some games holds up none of them once it is disqualified for the others."""
    held: list[int] = []

    class Sleeper(Bot):
        """Resigns its first games and never answers in the later ones."""

        async def choose(self, decision: Decision) -> Move:
            held.append(decision.game_id)
            if len(held) <= 4:
                raise RuntimeError("no idea")
            await asyncio.Event().wait()
            return decision.moves[0]

    connect("anna")
    connect("sleeper", Sleeper, games=2)
    tournament = config("anna", "sleeper", rounds=10, concurrency=20)
    tournament.failure_policy.disqualify_share = 0.5
    tournament.failure_policy.disqualify_games = 4
    tournament.time_control.decision_ms = 600_000
    last = await follow(channel, await create(channel, tournament))
    sleeper = next(line for line in last.standings if line.bot == "sleeper")
    assert (last.tournament.games_finished, sleeper.forfeits + sleeper.games_quarantined) == (20, 20)
    assert sleeper.forfeits >= 4


async def test_terms_come_back_as_they_were_given(channel: grpc.aio.Channel) -> None:
    """Time control and failure policy of a tournament are told in full."""
    given = config("anna", "ben")
    time, policy = given.time_control, given.failure_policy
    time.decision_ms, time.bank_ms, time.increment_ms, time.margin_ms = 500, 9000, 100, 0
    policy.max_strikes, policy.grace_ms, policy.fallback = 0, 700, match_service_pb2.FALLBACK_RANDOM
    policy.disqualify_share, policy.disqualify_games = 0.25, 8
    created = await TournamentServiceStub(channel).CreateTournament(pb.CreateTournamentRequest(config=given))
    assert created.tournament.config.time_control == time
    assert created.tournament.config.failure_policy == policy


async def test_terms_that_make_no_sense_are_refused(channel: grpc.aio.Channel) -> None:
    """A share above 1 is an error in one line."""
    given = config("anna", "ben")
    given.failure_policy.disqualify_share = 1.5
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await create(channel, given)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == "disqualify_share: 1.5 is not between 0 and 1"


# Going on with a tournament ------------------------------------------------------------------------------


async def resume(channel: grpc.aio.Channel, tournament_id: int) -> pb.Tournament:
    request = pb.ResumeTournamentRequest(tournament_id=tournament_id)
    return (await TournamentServiceStub(channel).ResumeTournament(request)).tournament


async def test_a_stopped_tournament_is_resumed(tmp_path: Path) -> None:
    """Asked right after a stop, the server lets its games end, then plays what is missing, each game once."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    tournament = config("anna", "ben", rounds=40)
    async with arena(url, "anna", "ben") as channel:
        tournament_id = await play_some(channel, tournament, games=5)
        stub = TournamentServiceStub(channel)
        await stub.StopTournament(pb.StopTournamentRequest(tournament_id=tournament_id))
        both = await asyncio.gather(resume(channel, tournament_id), resume(channel, tournament_id))
        assert {one.state for one in both} <= {pb.TOURNAMENT_STATE_WAITING, pb.TOURNAMENT_STATE_RUNNING}
        assert not both[0].config.HasField("seed")
        last = await follow(channel, tournament_id)
        assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
        assert last.tournament.games_finished == 80
        undisturbed = await follow(channel, await create(channel, tournament))
        assert list(last.standings) == list(undisturbed.standings)
        assert (await resume(channel, tournament_id)) == last.tournament


async def test_a_resumed_tournament_is_no_longer_stopped(tmp_path: Path) -> None:
    """The next server goes on with it although nobody was there to play when it was resumed."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    async with arena(url, "anna", "ben") as channel:
        tournament_id = await play_some(channel, config("anna", "ben", rounds=40), games=5)
        await TournamentServiceStub(channel).StopTournament(
            pb.StopTournamentRequest(tournament_id=tournament_id)
        )
    async with arena(url) as channel:
        assert (await resume(channel, tournament_id)).state == pb.TOURNAMENT_STATE_WAITING
    async with arena(url, "anna", "ben") as channel:
        last = await follow(channel, tournament_id)
        assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED


async def test_a_server_may_resume_what_it_is_asked_to_only(tmp_path: Path) -> None:
    """With `resume_tournaments` off, tournaments stay interrupted until each is asked for."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store(url) as store:
        ids = [
            store.create_tournament(stored_config(bots), 0.0) for bots in (("anna", "ben"), ("anna", "cy"))
        ]
    quiet = settings(url).model_copy(update={"resume_tournaments": False})
    async with serving(quiet) as address, grpc.aio.insecure_channel(address) as channel:
        listed = await TournamentServiceStub(channel).ListTournaments(pb.ListTournamentsRequest())
        assert [one.state for one in listed.tournaments] == 2 * [pb.TOURNAMENT_STATE_INTERRUPTED]
        assert (await resume(channel, ids[0])).state == pb.TOURNAMENT_STATE_WAITING
        request = pb.GetTournamentRequest(tournament_id=ids[1])
        other = await TournamentServiceStub(channel).GetTournament(request)
        assert other.tournament.state == pb.TOURNAMENT_STATE_INTERRUPTED


def stored_config(bots: tuple[str, ...]) -> Json:
    return TournamentConfig(bots=bots, game=Config(players=2), rounds=1, seed=1).json()


async def test_an_unknown_tournament_is_not_resumed(channel: grpc.aio.Channel) -> None:
    """It answers NOT_FOUND, as everything that names it does."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await resume(channel, 77)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


# Final ratings -------------------------------------------------------------------------------------------


async def test_final_ratings_are_those_of_the_model(tmp_path: Path) -> None:
    """Whoever asks gets them with the last update and with the standings; others don't pay for them."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    async with arena(url, "anna", "ben") as channel:
        tournament_id = await create(channel, config("anna", "ben", rounds=12))
        last = await follow(channel, tournament_id)
        assert not last.HasField("final_ratings")
        stub = TournamentServiceStub(channel)
        watching = pb.WatchTournamentRequest(tournament_id=tournament_id, with_final_ratings=True)
        (update,) = [update async for update in stub.WatchTournament(watching)]
        wanted = pb.GetStandingsRequest(tournament_id=tournament_id, with_final_ratings=True)
        standings = await stub.GetStandings(wanted)
        assert update.final_ratings == standings.final_ratings
    with Store(url) as store:
        builder = GamesBuilder(["anna", "ben"])
        for result in store.results(tournament_id):
            builder.add(result, deal=result.fixture.deal)
    ratings = rate(builder.build())
    assert update.final_ratings.model == ratings.model
    told = {line.bot: (line.elo, line.elo_low, line.deals) for line in update.final_ratings.ratings}
    assert told == {line.bot: (line.elo, line.low, line.deals) for line in ratings.lines}
    best, other = update.final_ratings.ratings
    assert best.los_next == ratings.los(best.bot, other.bot)
    assert not other.HasField("los_next")


async def test_without_games_there_are_no_final_ratings(channel: grpc.aio.Channel) -> None:
    """A tournament that waits for its bots has standings only."""
    tournament_id = await create(channel, config("anna", "ben"))
    request = pb.GetStandingsRequest(tournament_id=tournament_id, with_final_ratings=True)
    standings = await TournamentServiceStub(channel).GetStandings(request)
    assert len(standings.standings) == 2
    assert not standings.HasField("final_ratings")
