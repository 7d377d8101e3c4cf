"""A server and good bots as processes of their own, and what can be seen of them from outside."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.api.arena import Arena as Matches
from tests.server.api.arena import RemoteProgram
from tests.server.server_process import ServerProcess

from happycity import Config
from happycity.records.record import Json
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.match import duration_message, ending_of
from happycity.wire.messages import config_message

GOOD = ("anna", "ben")
GAMES = 3
"""A round of three bots at one table: its deal in every rotation of the seats."""


@dataclass(frozen=True)
class Trouble:
    """A tournament in which one bot misbehaved, after its end."""

    bad: str
    games: list[tuple[list[str], Json]]
    """Names by seat, and the record."""
    standings: dict[str, pb.Standing]

    def endings_of(self, bot: str) -> set[str]:
        return {record["endings"][bots.index(bot)] for bots, record in self.games}

    def check_forfeited(self, ending: match_pb2.Ending.ValueType) -> None:
        """Check that the bad bot forfeited every game in one way: by the records and the standings."""
        assert self.endings_of(self.bad) == {ending_of(ending).value}
        standing = self.standings[self.bad]
        assert standing.forfeits == GAMES
        assert {count.ending for count in standing.forfeit_counts} == {ending}
        assert all(count.reason for count in standing.forfeit_counts)

    def check_finished(self) -> None:
        assert self.endings_of(self.bad) == {"finished"}
        assert self.standings[self.bad].forfeits == 0


@dataclass(frozen=True)
class Arena:
    server: ServerProcess
    entrance: ServerProcess
    """To which bad bots connect: the server, or a gateway."""
    folder: Path
    """Where its log is."""
    matches: Matches

    async def connect(self, name: str) -> RemoteProgram:
        return await self.matches.connect(name)

    async def trouble(
        self, bad: str, *, decision_seconds: float = 30.0, max_strikes: int = 3, grace_seconds: float = 60.0
    ) -> Trouble:
        """Play a tournament of the good bots and a bad one, and check what must always hold.

        Every game is finished and stored, its record replays, and the good bots played all to the end.
        """
        config = pb.TournamentConfig(
            bots=[*GOOD, bad],
            game=config_message(Config(players=3)),
            random_rounds=pb.RandomRounds(rounds=1),
            seed=11,
            time_control=match_pb2.TimeControl(
                connect_time=duration_message(60.0), decision_time=duration_message(decision_seconds)
            ),
            failure_policy=match_pb2.FailurePolicy(
                max_strikes=max_strikes, grace_time=duration_message(grace_seconds)
            ),
        )
        stub: Any = TournamentServiceStub(self.matches.channel)
        created = await stub.CreateTournament(pb.CreateTournamentRequest(config=config))
        request = pb.WatchTournamentRequest(tournament_id=created.tournament_id)
        *_, last = [update async for update in stub.WatchTournament(request)]
        progress = last.progress
        assert progress.state == pb.TOURNAMENT_STATE_FINISHED
        assert progress.games_finished == progress.games_total == GAMES
        assert progress.games_voided == 0
        listed = await self.matches.matches.ListMatches(tournament_id=last.tournament.tournament_id)
        games = [(list(match.bots), await self.matches.record(match.match_id)) for match in listed.matches]
        trouble = Trouble(bad, games, {standing.bot: standing for standing in last.standings})
        for name in GOOD:
            assert trouble.endings_of(name) == {"finished"}
            assert (trouble.standings[name].games, trouble.standings[name].forfeits) == (GAMES, 0)
        return trouble

    async def side_match(self) -> Json:
        """Let the good bots play one deal, always the same; return its record without think times."""
        patient = match_pb2.TimeControl(
            connect_time=duration_message(60.0), decision_time=duration_message(30.0)
        )
        match: match_pb.Match = await self.matches.create(*GOOD, time_control=patient)
        record = await self.matches.record(match.match_id)
        del record["clock"]
        return record

    async def ended(self, bot: str, reason: str) -> None:
        expected = {"event": "stream_ended", "bot": bot, "reason": reason}.items()
        command = ("tail", "--lines=+1", "--follow", str(self.folder / "server.log"))
        log = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert log.stdout is not None
        async for line in log.stdout:
            if expected <= json.loads(line).items():
                break
        log.kill()
        await log.communicate()

    def log(self) -> list[Json]:
        text = (self.folder / "server.log").read_text()
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def failures(self) -> list[Json]:
        """Return the lines of the server's log that report an error of its own."""
        return [
            line for line in self.log() if line["level"] not in ("info", "warning") or "exception" in line
        ]

    @asynccontextmanager
    async def bounded_memory(self, megabytes: float = 20.0) -> AsyncIterator[None]:
        """Check that the memory of the server, and of a gateway, hardly grows while the context lasts."""
        before = [process.megabytes() for process in (self.server, self.entrance)]
        yield
        after = [process.megabytes() for process in (self.server, self.entrance)]
        assert max(late - early for early, late in zip(before, after, strict=True)) < megabytes
