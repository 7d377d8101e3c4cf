"""A server whose disk was full goes on when there is room; a fault of one tournament ends that one."""

import asyncio
from pathlib import Path

import pytest
from tests.server.api.tournaments import arena_with, config
from tests.waiting import LIMIT

from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity_server.tournaments import registry
from happycity_tournament.play.runner import TournamentRun
from happycity_tournament.storage.errors import StoreError

FULL = "has no room left; free some disk space"


class Disk:
    """A disk that has no room for the first tries of a tournament."""

    def __init__(self, patch: pytest.MonkeyPatch, *, tries: int, for_all: bool = True) -> None:
        self.ended = asyncio.Event()
        self.tries = 0
        run = TournamentRun.run

        async def tried(own: TournamentRun) -> None:
            self.tries += 1
            if self.tries <= tries:
                own.interrupt()
                raise StoreError("sqlite:///games.sqlite", FULL, for_all=for_all)
            await run(own)
            self.ended.set()

        patch.setattr(registry, "RETRY_SECONDS", 0)
        patch.setattr(TournamentRun, "run", tried)


@pytest.mark.parametrize("tries", [1, 2, 5])
async def test_a_tournament_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    async with arena_with(tmp_path, "anna", "ben") as arena:
        disk = Disk(monkeypatch, tries=tries)
        tournament_id = await arena.create(config("anna", "ben"))
        async with asyncio.timeout(LIMIT):
            await disk.ended.wait()
        last = await arena.watched(tournament_id)
        assert last.progress.state == pb.TOURNAMENT_STATE_FINISHED
        assert disk.tries == tries + 1


async def test_a_server_that_stops_does_not_wait_for_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with arena_with(tmp_path, "anna", "ben") as arena:
        Disk(monkeypatch, tries=1_000_000_000)
        monkeypatch.setattr(registry, "RETRY_SECONDS", LIMIT)
        tournament_id = await arena.create(config("anna", "ben"))
        remarks = (await arena.watched(tournament_id)).progress.remarks
        text = f"the server's store {FULL}; the tournament goes on when games can be stored again"
        assert list(remarks) == [text]


async def test_a_fault_of_one_tournament_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with arena_with(tmp_path, "anna", "ben") as arena:
        Disk(monkeypatch, tries=1, for_all=False)
        tournament_id = await arena.create(config("anna", "ben"))
        assert list((await arena.watched(tournament_id)).progress.remarks) == [f"the server's store {FULL}"]
