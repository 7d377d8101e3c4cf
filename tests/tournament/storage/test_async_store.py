"""The store as asyncio code sees it: games are committed together, and reading has a thread of its own."""

import asyncio
import random
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import URL
from tests.tournament.games import RECORD, single_game, stored_games

from happycity import Config, Deal, Game, Incident, IncidentKind, Mode
from happycity.records.record import Json, Recorder, clock_json, dumps, metrics_json
from happycity_tournament.games import FinishedGame
from happycity_tournament.storage import async_store
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.packing import Record, pack, unpack
from happycity_tournament.storage.store import Store

GAMES = [single_game(number) for number in range(1, 7)]


class RecordingStore(Store):
    """Remembers the batches, and fails if a test wants it to."""

    def __init__(self, url: URL, *, lock_timeout: float, read_only: bool = False) -> None:
        super().__init__(url, lock_timeout=lock_timeout, read_only=read_only)
        self.batches: list[list[int]] = []
        self.failure: Exception | None = None

    def add_games(self, batch: Sequence[tuple[FinishedGame, Record | None]]) -> None:
        self.batches.append([game.match_id for game, _ in batch])
        if self.failure is not None:
            raise self.failure
        super().add_games(batch)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RecordingStore]:
    with RecordingStore.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        yield store


async def save_all(store: Store, *games: FinishedGame, record: str = RECORD) -> list[BaseException | None]:
    async with AsyncStore(store) as saving:
        return await asyncio.gather(*(saving.save(game, record) for game in games), return_exceptions=True)


async def test_games_of_a_short_while_are_committed_together(store: RecordingStore) -> None:
    """Games that come together cost one transaction, which is counted with its duration."""
    async with AsyncStore(store) as saving:
        saved = asyncio.gather(*(saving.save(game, RECORD) for game in GAMES))
        await asyncio.sleep(0)  # lets the games be handed over
        assert saving.games_waiting == 6
        await saved
        assert (saving.games_waiting, saving.commits) == (0, 1)
        assert saving.commit_seconds > 0
    assert store.batches == [[1, 2, 3, 4, 5, 6]]
    assert [store.game(game.match_id) for game in GAMES] == GAMES


async def test_enough_games_are_committed_at_once(
    store: RecordingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where games end fast, a commit doesn't wait for more of them: the games after it could not begin."""
    monkeypatch.setattr(async_store, "GATHER_SECONDS", 3600.0)
    monkeypatch.setattr(async_store, "ENOUGH_GAMES", len(GAMES))
    assert await save_all(store, *GAMES) == [None] * 6
    assert store.batches == [[1, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize(
    ("bad", "record"),
    [(GAMES[0], RECORD), (stored_games(77, 9)[0], RECORD), (single_game(9), "\udc00")],
    ids=["stored already", "unknown tournament", "no text"],
)
async def test_a_bad_game_fails_alone(store: RecordingStore, bad: FinishedGame, record: str) -> None:
    async with AsyncStore(store) as saving:
        calls = [saving.save(game, RECORD) for game in GAMES]
        outcomes = await asyncio.gather(
            *calls[:3], saving.save(bad, record), *calls[3:], return_exceptions=True
        )
    assert isinstance(outcomes.pop(3), Exception)
    assert outcomes == [None] * 6
    assert store.games(10) == GAMES[::-1]


async def test_a_store_that_takes_nothing_is_tried_once(store: RecordingStore) -> None:
    """What would befall every game, such as a full disk, is not tried for each of a batch."""
    store.failure = StoreError("sqlite://", "has no room left", for_all=True)
    assert await save_all(store, *GAMES) == [store.failure] * 6
    assert store.batches == [[1, 2, 3, 4, 5, 6]]


async def test_any_failure_reaches_every_caller(store: RecordingStore) -> None:
    """Also an error that is not a StoreError: otherwise its caller would wait for ever."""
    store.failure = RuntimeError("a fault in the program")
    assert await save_all(store, *GAMES) == [store.failure] * 6


async def test_a_cancelled_caller_waits_for_its_game(store: RecordingStore) -> None:
    """Otherwise the game would be stored later, while it is taken for missing."""
    async with AsyncStore(store) as saving:
        call = asyncio.create_task(saving.save(GAMES[0], RECORD))
        await asyncio.sleep(0)  # lets the game be handed over
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert store.game(1) == GAMES[0]


async def test_games_wait_for_room(store: RecordingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more games are committed together than allowed, however many come at once; none is lost."""
    monkeypatch.setattr(async_store, "MAX_GATHERED", 2)
    async with AsyncStore(store) as saving:
        saved = [asyncio.create_task(saving.save(game, RECORD)) for game in GAMES]
        await asyncio.sleep(0)  # lets the games be handed over
        assert saving.games_waiting == 6
        saved[5].cancel()
        await asyncio.wait(saved)
    assert store.batches == [[1, 2], [3, 4], [5]]
    assert saved[5].cancelled()
    assert store.games(10) == GAMES[4::-1]


async def test_everything_is_committed_when_the_context_is_left(store: RecordingStore) -> None:
    async with AsyncStore(store) as saving:
        waiting = asyncio.create_task(saving.save(GAMES[0], RECORD))
        await asyncio.sleep(0)  # lets the game be handed over
    await waiting
    assert store.game(1) == GAMES[0]


async def test_reading_does_not_wait_for_writing(store: RecordingStore) -> None:
    proceed = threading.Event()
    async with AsyncStore(store) as both:
        writing = asyncio.create_task(both.write(proceed.wait, 30))
        assert await both.read(store.next_match_id) == 1
        proceed.set()
        assert await writing
        proceed.clear()
        reading = asyncio.create_task(both.read(proceed.wait, 30))
        await both.save(GAMES[0], RECORD)
        proceed.set()
        assert await reading


async def test_a_store_in_memory_is_used_by_one_thread() -> None:
    """Its only connection must not be used by two threads at once."""
    with Store.create("sqlite://") as store:
        async with AsyncStore(store) as both:
            threads = {await both.read(threading.get_ident), await both.write(threading.get_ident)}
    assert len(threads) == 1


def record(
    *,
    mode: Mode = Mode.FAMILY,
    reasons: tuple[str, ...] = (),
    text: str = "",
    metrics: tuple[float, ...] = (),
) -> Json:
    """Play a random game on a deal with the largest seed, and return its record."""
    rng, deal = random.Random(1), Deal.shuffle(Config(mode=mode), seed=2**64 - 1)
    game, recorder = Game(deal), Recorder(deal)
    while game.outcome is None:
        move = rng.choice(game.legal_moves)
        recorder.add(game, move)
        game.apply(move)
    return recorder.record(
        game,
        reasons=reasons,
        clock=clock_json(think_us=[2**62, 0], round_trip_us=[0] * 4),
        metrics=[metrics_json(number, {"value": value}) for number, value in enumerate(metrics, start=1)],
        incidents=[Incident(1, 0, IncidentKind.FORFEIT, text)] if text else (),
    )


@pytest.mark.parametrize(
    "made",
    [
        record(),
        record(mode=Mode.EXPERT),
        record(reasons=("", "", "out of memory", ""), text='bad "move" \\ / <&> \' \x7f \x01 \n'),
        record(reasons=("", "Zeitüberschreitung \u2028", "", ""), text="🃏 \xa0"),
        record(metrics=(1e16, 1e-7, -1.5e300, 0.1, 2.0**53, 5e-324, -0.0, 7.0)),
    ],
    ids=["family", "expert", "ASCII text", "other text", "numbers"],
)
def test_a_record_is_kept_as_the_line_that_record_files_have(made: Json) -> None:
    """Whether it is packed from an object or from its line, the text is the one of `dumps`, byte by byte."""
    assert unpack(pack(lambda: made)) == unpack(pack(dumps(made))) == dumps(made)
    assert pack(lambda: made) == zlib.compress(dumps(made).encode(), 3)


def test_a_compressed_record_stays_as_it_is() -> None:
    """A worker that played the game has compressed its record already."""
    packed = pack(record)
    assert pack(packed) is packed
