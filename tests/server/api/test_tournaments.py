"""TournamentService over real gRPC."""

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import grpc
import pytest
from sqlalchemy import Engine, event
from tests.server.api.tournaments import Arena, Changes, arena_with, config
from tests.server.harness import Metadata, bearer, issued_token, outcome_of, serving
from tests.waiting import LIMIT

from happycity import Move
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.wire.match import duration_message
from happycity_client import Bot, Decision, GameOver
from happycity_runtime.tokens import Role
from happycity_server.play.match import Match
from happycity_tournament.games import Result
from happycity_tournament.play.progress import TournamentStatus
from happycity_tournament.play.runner import TournamentRun
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.store import Store

WAITING, RUNNING = pb.TOURNAMENT_STATE_WAITING, pb.TOURNAMENT_STATE_RUNNING
FINISHED, STOPPED = pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_STOPPED
INTERRUPTED, UNREADABLE = pb.TOURNAMENT_STATE_INTERRUPTED, pb.TOURNAMENT_STATE_UNREADABLE
PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION
SLOW = {"connect_time": duration_message(60), "decision_time": duration_message(3600)}
"""The time control of bots that never answer."""
LONG = 5000
"""Rounds of a tournament that no test plays to its end."""


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    async with arena_with(tmp_path, "anna", "ben") as opened:
        yield opened


def by_rank(changes: Changes) -> list[pb.Standing]:
    """Return the lines of a tournament, best first."""
    return sorted(changes.standings.values(), key=lambda line: line.rank)


@pytest.mark.level(2)
async def test_changes_add_up(arena: Arena) -> None:
    """What a watcher gets adds up to the tournament and its standings, which count every game once."""
    arena.play("carl")
    tournament_id = await arena.create(config("anna", "ben", "carl", rounds=30))
    changes = await arena.watched(tournament_id)
    first, *_, last = changes.messages
    assert len(first.standings) == len(last.standings) == 3
    assert not any(message.tournament.HasField("progress") for message in changes.messages)
    tournament = await arena.get(tournament_id)
    standings = await arena.call.GetStandings(tournament_id=tournament_id)
    changes.tournament.progress.CopyFrom(changes.progress)
    assert changes.tournament == tournament
    assert by_rank(changes) == list(standings.standings)
    assert tournament.progress.state == FINISHED
    assert tournament.progress.games_finished == tournament.progress.games_total == 60
    games = await arena.games(tournament_id)
    assert len(games) == 60
    assert tournament.progress.decisions == sum(game.decisions for game in games)
    assert [line.games for line in standings.standings] == [40, 40, 40]
    start = min(game.start_time.ToNanoseconds() for game in games)
    end = max(game.finish_time.ToNanoseconds() for game in games)
    assert tournament.start_time.ToNanoseconds() == start
    assert tournament.progress.elapsed.ToNanoseconds() == pytest.approx(end - start, abs=1000)


@pytest.mark.level(2)
async def test_deals_are_secret_while_they_are_in_play(tmp_path: Path) -> None:
    """Neither the seed nor the record of a finished game is revealed before the tournament is over."""
    go_on = asyncio.Event()
    finished: asyncio.Queue[int] = asyncio.Queue()

    class Waiter(Bot):
        """Plays its first game, and the others when the test lets it."""

        async def choose(self, decision: Decision) -> Move:
            if self.start.match_id > 1:
                await go_on.wait()
            return decision.moves[0]

        def game_over(self, over: GameOver) -> None:
            finished.put_nowait(over.match_id)

    async with arena_with(tmp_path, "ben") as arena:
        arena.play("waiter", Waiter)
        tournament_id = await arena.create(config("waiter", "ben", rounds=1, concurrency=1))
        await arena.watched(tournament_id, games=1)
        match_id = await finished.get()
        tournament = await arena.get(tournament_id)
        assert tournament.progress.games_finished == 1
        assert not tournament.config.HasField("seed")
        for call in (
            arena.matches.GetMatchRecord(match_id=match_id),
            arena.matches.WatchMatch(match_id=match_id).read(),
        ):
            assert (await outcome_of(call)).reason == "MATCH_RUNNING"
        go_on.set()
        changes = await arena.watched(tournament_id)
        assert changes.tournament.config.seed == 1
        assert (await arena.matches.GetMatchRecord(match_id=match_id)).json


@pytest.mark.level(3)
async def test_a_tournament_is_stopped_resumed_and_deleted(arena: Arena) -> None:
    """A stop lets games end; resumed at once, each missing game is played once; deleted, all is gone."""
    terms = config("anna", "ben", rounds=60)
    undisturbed = await arena.played(terms)
    tournament_id = await arena.create(terms)
    await arena.watched(tournament_id, games=3)
    running = await outcome_of(arena.delete(tournament_id))
    assert (running.status, running.reason) == (PRECONDITION, "TOURNAMENT_RUNNING")
    await arena.stop(tournament_id)
    both = await asyncio.gather(*(arena.call.ResumeTournament(tournament_id=tournament_id) for _ in range(2)))
    assert {tournament.progress.state for tournament in both} <= {WAITING, RUNNING}
    assert not both[0].config.HasField("seed")
    resumed = await arena.watched(tournament_id)
    assert by_rank(resumed) == by_rank(undisturbed)
    finished = await arena.call.ResumeTournament(tournament_id=tournament_id)
    assert (finished.progress.state, finished.progress.games_finished) == (FINISHED, 120)

    newest = max(game.match_id for game in await arena.games(tournament_id))
    assert await arena.delete(tournament_id) == 120
    assert await arena.ids() == [1]
    assert not await arena.games(tournament_id)
    for gone in (
        arena.get(tournament_id),
        arena.call.GetStandings(tournament_id=tournament_id),
        arena.delete(tournament_id),
        arena.matches.GetMatch(match_id=newest),
        arena.matches.GetMatchRecord(match_id=newest),
    ):
        assert (await outcome_of(gone)).status is grpc.StatusCode.NOT_FOUND
    again = await arena.played(config("anna", "ben", rounds=1))
    assert again.tournament.tournament_id == tournament_id + 1
    assert min(game.match_id for game in await arena.games(tournament_id + 1)) > newest
    assert len(await arena.games(1)) == 120


async def test_a_tournament_whose_end_is_being_stored_can_be_deleted(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller who sees that it is finished need not try twice."""
    storing, stored, set_state = threading.Event(), threading.Event(), Store.set_state

    def slowly(store: Store, tournament_id: int, state: Any) -> None:
        if state.value == "finished":
            storing.set()
            stored.wait(LIMIT)
        set_state(store, tournament_id, state)

    monkeypatch.setattr(Store, "set_state", slowly)
    tournament_id = await arena.create(config("anna", "ben", rounds=1))
    await asyncio.to_thread(storing.wait, LIMIT)
    assert (await arena.get(tournament_id)).progress.state == FINISHED
    deleting = asyncio.create_task(arena.delete(tournament_id))
    await arena.get(tournament_id)
    assert not deleting.done()
    stored.set()
    assert await deleting == 2


async def test_the_organiser_disqualifies_a_bot(arena: Arena) -> None:
    """Its open decisions and later games are forfeited and not rated; what it has played counts."""

    class Sleeper(Bot):
        """Plays one game, and never answers in the others."""

        match_id = 0

        async def choose(self, decision: Decision) -> Move:
            type(self).match_id = type(self).match_id or decision.match_id
            if decision.match_id != self.match_id:
                await asyncio.Event().wait()
            return decision.moves[0]

    arena.play("sleeper", Sleeper, games=2)
    number = await arena.create(config("anna", "sleeper", rounds=5, concurrency=2, time_control=SLOW))
    await arena.watched(number, games=1)
    unknown = await outcome_of(arena.call.DisqualifyBot(tournament_id=number, bot="slepper"))
    assert (unknown.reason, unknown.fields) == ("INVALID_FIELD", ("bot",))
    assert "did you mean sleeper?" in unknown.text
    disqualified = await arena.call.DisqualifyBot(tournament_id=number, bot="sleeper")
    assert list(disqualified.progress.disqualified_bots) == ["sleeper"]
    changes = await arena.watched(number)
    assert changes.progress.state == pb.TOURNAMENT_STATE_STOPPED  # no game of the others would be rated
    line = changes.standings["sleeper"]
    assert (line.games, line.forfeits) == (1, 0)
    assert line.games_unrated == changes.progress.games_finished - 1 == changes.progress.games_unrated


@pytest.mark.level(3)
async def test_a_bot_is_disqualified_while_its_tournament_rests(tmp_path: Path) -> None:
    """That is stored, and holds when the tournament goes on; a finished one stays as it is."""
    bots = ("anna", "ben", "carl")
    async with arena_with(tmp_path, *bots) as arena:
        await arena.played(config(*bots, rounds=1))
        closed = await outcome_of(arena.call.DisqualifyBot(tournament_id=1, bot="carl"))
        assert (closed.status, closed.reason) == (PRECONDITION, "ROSTER_CLOSED")
        await arena.create(config(*bots, rounds=200))
        await arena.watched(2, games=1)
        await arena.stop(2)
        played = await arena.watched(2)
        await arena.call.DisqualifyBot(tournament_id=2, bot="carl")
    async with arena_with(tmp_path, *bots[:2]) as arena:
        await arena.call.ResumeTournament(tournament_id=2)
        changes = await arena.watched(2)
    assert changes.progress.state == FINISHED
    assert list(changes.progress.disqualified_bots) == ["carl"]
    line = changes.standings["carl"]
    assert line.games == played.standings["carl"].games
    assert line.games_unrated == changes.progress.games_unrated > 0


async def test_watchers_of_a_server_that_stops_see_the_interruption(tmp_path: Path) -> None:
    """The last message says that the tournament is interrupted, and reveals no seed."""
    changes = Changes()
    async with AsyncExitStack() as closing:
        async with serving(tmp_path) as (server, _):
            channel = await closing.enter_async_context(grpc.aio.insecure_channel(server.address))
            arena = Arena(server.address, channel)
            watching = aiter(arena.watch(await arena.create(config("anna", "ben"))))
            changes.add(await anext(watching))
        async for message in watching:
            changes.add(message)
    assert changes.progress.state == INTERRUPTED
    assert not changes.tournament.config.HasField("seed")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list of the tournaments whose games were all read, once for each time."""
    loaded: list[int] = []
    result_parts = Store.result_parts

    def noted(store: Store, *, tournament_id: int) -> Iterator[list[Result]]:
        loaded.append(tournament_id)
        return result_parts(store, tournament_id=tournament_id)

    monkeypatch.setattr(Store, "result_parts", noted)
    return loaded


@pytest.mark.level(2)
async def test_only_standings_read_all_games(arena: Arena, loads: list[int]) -> None:
    """Those of a resting tournament do once, while it is one of the four that were asked for last."""
    for _ in range(5):
        await arena.played(config("anna", "ben", rounds=1))
    loads.clear()
    for number in range(1, 6):
        (game, *_) = await arena.games(number)
        await arena.matches.GetMatchRecord(match_id=game.match_id)
        async for _ in arena.matches.WatchMatch(match_id=game.match_id):
            pass
        assert (await arena.get(number)).progress.state == FINISHED
    assert len(await arena.ids()) == 5
    assert not loads
    for number in (1, 1, 2, 1, 5):
        await arena.call.GetStandings(tournament_id=number)
        await arena.watched(number)
    assert loads == [1, 2]  # those that were played last are known


@pytest.mark.level(2)
async def test_reads_do_not_wait_for_the_writer(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the store is busy with a finished game, everything that only reads is answered."""
    played = await arena.played(config("anna", "ben", rounds=1))
    tournament_id = played.tournament.tournament_id
    busy, go_on, add_games = threading.Event(), threading.Event(), Store.add_games

    def slowly(store: Store, batch: Any) -> None:
        busy.set()
        go_on.wait()
        add_games(store, batch)

    monkeypatch.setattr(Store, "add_games", slowly)
    second = await arena.create(config("anna", "ben", rounds=1, seed=2))
    await asyncio.to_thread(busy.wait)
    (game, *_) = await arena.games(tournament_id)
    await arena.matches.GetMatchRecord(match_id=game.match_id)
    await arena.get(tournament_id)
    await arena.call.GetStandings(tournament_id=tournament_id, with_final_ratings=True)
    assert await arena.ids() == [second, tournament_id]
    assert (await arena.get(second)).progress.games_finished == 0
    go_on.set()
    assert (await arena.watched(second)).progress.games_finished == 2


@pytest.mark.level(2)
async def test_a_page_of_matches_is_four_queries(arena: Arena) -> None:
    """However many games it has, no record is read; three say whether their deals are in play."""
    await arena.played(config("anna", "ben", rounds=30))
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert len(await arena.games(1)) == 60
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    asked = [statement.split() for statement in statements if statement != "BEGIN"]
    assert not any("record" in word for words in asked for word in words)
    tables = [words[words.index("FROM") + 1] for words in asked]
    assert tables == ["games", "games", "tournaments", "ladder_deals"]


@pytest.mark.level(2)
async def test_lists_have_the_tournaments_of_their_filters(arena: Arena) -> None:
    """State and bot; newest first; pages of any size are the list cut."""
    for bots, rounds in ((("anna", "ben"), 1), (("anna", "zoe"), 1), (("ben", "anna"), LONG)):
        await arena.create(config(*bots, rounds=rounds))
    await arena.watched(1)
    await arena.watched(3, games=1)
    await arena.stop(3)
    await arena.watched(3)
    await arena.create(config("ben", "anna", rounds=LONG))
    await arena.watched(4, games=1)
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [4, 3, 2, 1]),
        ({"state": WAITING}, [2]),
        ({"state": RUNNING}, [4]),
        ({"state": STOPPED}, [3]),
        ({"state": FINISHED}, [1]),
        ({"state": INTERRUPTED}, []),
        ({"bot": "ben"}, [4, 3, 1]),
        ({"bot": "zoe", "state": WAITING}, [2]),
        ({"bot": "zoe", "state": FINISHED}, []),
    ]
    for fields, expected in cases:
        assert await arena.ids(**fields) == expected, fields
    for size in range(1, 6):
        pages: list[list[int]] = []
        token = ""
        while not pages or token:
            page = await arena.call.ListTournaments(page_size=size, page_token=token)
            pages.append([tournament.tournament_id for tournament in page.tournaments])
            token = page.next_page_token
        assert list(chain(*pages)) == [4, 3, 2, 1]
        assert {len(page) for page in pages[:-1]} <= {size}


async def test_a_tournament_that_cannot_be_played_is_refused(arena: Arena) -> None:
    """A Swiss tournament of 5,000 bots, and a test whose luck is that of an evaluator not in this version."""
    test = pb.Sprt(candidate="new", base="old", elo0=-2, elo1=2, luck_evaluator="0123456789ab")
    for refused, field in (
        (config(*map(str, range(5000)), swiss={"rounds": 3}), "config.bots"),
        (config(sprt=test), "config.sprt.luck_evaluator"),
    ):
        outcome = await outcome_of(arena.create(refused))
        assert (outcome.reason, outcome.fields) == ("INVALID_FIELD", (field,))
        assert len(outcome.text) < 300


@pytest.mark.level(2)
async def test_the_next_server_continues_what_was_interrupted(tmp_path: Path) -> None:
    """Without its bots it waits for them; in the end it is as if nothing had happened."""
    terms = config("anna", "ben", rounds=25)
    async with arena_with(tmp_path, "anna", "ben") as arena:
        tournament_id = await arena.create(terms)
        before = await arena.watched(tournament_id, games=5)
    async with arena_with(tmp_path) as arena:
        (waiting,) = (await arena.call.ListTournaments()).tournaments
        assert waiting.progress.state == WAITING
        assert before.progress.games_finished <= waiting.progress.games_finished < 50
        assert list(waiting.progress.missing_bots) == ["anna", "ben"]
        assert not waiting.config.HasField("seed")
    async with arena_with(tmp_path, "anna", "ben") as arena:
        changes = await arena.watched(tournament_id)
        assert (changes.progress.state, changes.progress.games_finished) == (FINISHED, 50)
        assert by_rank(changes) == by_rank(await arena.played(terms))


@pytest.mark.level(2)
async def test_a_stopped_tournament_stays_so_until_it_is_resumed(tmp_path: Path) -> None:
    """No later server continues it, also if it was stopped while interrupted; resumed, the next one does."""
    terms = config("anna", "ben", rounds=LONG)
    async with arena_with(tmp_path, "anna", "ben") as arena:
        stopped, interrupted = await arena.create(terms), await arena.create(terms)
        await arena.watched(stopped, games=1)
        await arena.stop(stopped)
    async with arena_with(tmp_path, resume_tournaments=False) as arena:
        assert (await arena.watched(stopped)).progress.state == STOPPED
        assert (await arena.watched(interrupted)).progress.state == INTERRUPTED
        await arena.stop(interrupted)
        assert (await arena.watched(interrupted)).tournament.config.seed == 1
    async with arena_with(tmp_path) as arena:
        assert await arena.ids(state=STOPPED) == [interrupted, stopped]
        assert (await arena.call.ResumeTournament(tournament_id=stopped)).progress.state == WAITING
    async with arena_with(tmp_path) as arena:
        assert await arena.ids(state=WAITING) == [stopped]


@pytest.mark.level(2)
async def test_a_repeated_request_makes_one_tournament(tmp_path: Path) -> None:
    """Its id is its caller's and remembered by the store: also repeated at once, or of another server."""
    terms, tokens = config("anna", "ben"), tmp_path / "tokens.json"
    olga, otto = (bearer(issued_token(tokens, Role.ORGANISER, name)) for name in ("olga", "otto"))

    async def created(arena: Arena, request_id: str = "", caller: Metadata = olga) -> int:
        asked = arena.call.CreateTournament(caller, config=terms, request_id=request_id)
        return int((await asked).tournament_id)

    async with arena_with(tmp_path, tokens=tokens) as arena:
        assert await asyncio.gather(*(created(arena, "one") for _ in range(3))) == [1, 1, 1]
        assert await created(arena, "one", otto) == 2
        assert [await created(arena, request_id) for request_id in ("other", "", "")] == [3, 4, 5]
    async with arena_with(tmp_path, tokens=tokens) as arena:
        assert [await created(arena, "one", caller) for caller in (olga, otto)] == [1, 2]
        await arena.call.StopTournament(olga, tournament_id=1)
        async for _ in arena.call.WatchTournament(olga, tournament_id=1):
            pass
        await arena.call.DeleteTournament(olga, tournament_id=1)
        assert await created(arena, "one") == 1  # as it was answered


async def test_a_store_that_fails_ends_a_tournament_with_the_reason(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watchers get what is wrong with the store, and not where it is."""

    async def fail(_: TournamentRun) -> None:
        raise StoreError("sqlite:///secret/games.sqlite", "has no room left; free some disk space")

    monkeypatch.setattr(TournamentRun, "run", fail)
    tournament_id = await arena.create(config("anna", "ben"))
    remarks = (await arena.watched(tournament_id)).progress.remarks
    assert list(remarks) == ["the server's store has no room left; free some disk space"]


async def test_a_tournament_that_cannot_be_read_holds_up_nobody(tmp_path: Path) -> None:
    """It is listed as unreadable and can be deleted; the server starts, and plays the others."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        for stored in ({"bots": ["anna"], "format": "of a later version"}, {}):
            store.create_tournament(stored, games_total=1, created_at=0.0)
    async with arena_with(tmp_path, "anna", "ben") as arena:
        assert (await arena.played(config("anna", "ben"))).progress.state == FINISHED
        assert await arena.ids() == [3, 2, 1]
        assert await arena.ids(state=UNREADABLE) == [2, 1]
        unreadable = await arena.get(1)
        assert unreadable.progress.state == UNREADABLE
        (remark,) = unreadable.progress.remarks
        assert "can't be read" in remark
        number = {"tournament_id": 1}
        calls = (arena.call.GetStandings(**number), arena.call.ResumeTournament(**number))
        for refused in (*calls, arena.watched(1)):
            outcome = await outcome_of(refused)
            assert (outcome.reason, outcome.fields) == ("INVALID_FIELD", ("tournament_id",))
        assert [await arena.delete(1), await arena.delete(2)] == [0, 0]
        assert await arena.ids() == [3]


def alive(*kinds: type) -> list[object]:
    gc.collect()
    return [thing for thing in gc.get_objects() if type(thing) in kinds]


@pytest.mark.level(2)
async def test_finished_tournaments_are_let_go(arena: Arena) -> None:
    """Nothing is kept of them but the standings of the four that were asked for last."""
    kinds = TournamentRun, TournamentStatus, Match
    others = alive(*kinds)  # of servers of other tests, which may end meanwhile
    for _ in range(8):
        await arena.played(config("anna", "ben", rounds=2))
    known = {id(thing) for thing in others}
    counts = Counter(type(thing).__name__ for thing in alive(*kinds) if id(thing) not in known)
    assert counts == {"TournamentStatus": 4}
