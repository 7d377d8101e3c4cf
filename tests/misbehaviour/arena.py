"""A server as a process of its own, good bots and bad ones as others, and what can be seen from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import grpc
from prometheus_client.parser import text_string_to_metric_families

from happycity import Config
from happycity.records import Json, loads, replay, without_measurements
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire import config_message

ROOT = Path(__file__).parents[2]
DEADLINE = 120.0
GOOD = ("anna", "ben")
SIDE_SEED = 7
LIMIT_MS = 3_000
"""For decisions that a bad bot is to miss; the good ones must keep it on a busy machine too."""
GAMES = 3
"""A round of three bots at one table: its deal in every rotation of the seats."""
FINISHED = "finished"


class Lines:
    """What a program writes, line by line as it comes."""

    def __init__(self, pipe: IO[str]) -> None:
        self.all: list[Json] = []
        """All lines so far; one that is no JSON object is the value of `text`."""
        self._pipe = pipe
        self._more = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def awaited(self, after: int = 0, **values: object) -> int:
        """Wait for a line with these values, after so many others; return its number, from 1.

        Raises:
            AssertionError: the program ends without it, or takes too long.
        """
        end, number = time.monotonic() + DEADLINE, after
        with self._more:
            while True:
                while number < len(self.all):
                    number += 1
                    if values.items() <= self.all[number - 1].items():
                        return number
                assert not self._ended, f"ended without {values}; last: {self.all[-5:]}"
                left = end - time.monotonic()
                assert left > 0, f"no {values} within {DEADLINE:g} s; last: {self.all[-5:]}"
                self._more.wait(left)

    def close(self) -> None:
        """Read what is left of a program that has ended."""
        self._reader.join()
        self._pipe.close()

    def _read(self) -> None:
        for line in self._pipe:
            with self._more:
                self.all.append(_json_of(line))
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()


def _json_of(line: str) -> Json:
    try:
        told: Json = json.loads(line)
    except ValueError:
        return {"text": line}
    return told


class Program:
    """A process that tells what happens to it in lines of JSON."""

    def __init__(self, name: str, arguments: Sequence[str], *, environ: Mapping[str, str]) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environ},
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.log = Lines(self.process.stderr)
        self._told = Lines(self.process.stdout)
        self._heard = 0

    @property
    def heard(self) -> list[Json]:
        """What was told so far, up to the last event that was awaited."""
        return self._told.all[: self._heard]

    def tells(self, **values: object) -> Json:
        """Wait for the next line with these values, whatever comes before it.

        Raises:
            AssertionError: the program ends without it, or takes too long.
        """
        self._heard = self._told.awaited(self._heard, **values)
        return self.heard[-1]

    def ended(self) -> Json:
        """Wait until the server ends the program's stream, and return how."""
        return self.tells(event="ended")

    def say(self) -> None:
        """Give the program the word that it waits for."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kinds(self) -> set[str]:
        """Return the kinds of the notices that were heard, but for the server's own delays."""
        kinds = {line["kind"] for line in self.heard if line["event"] == "notice"}
        return kinds - {"NOTICE_KIND_SERVER_LATE"}

    def stop(self) -> None:
        """End the process, and wait for it."""
        self.process.kill()
        self.process.wait()
        self.log.close()
        self._told.close()
        assert self.process.stdin is not None
        self.process.stdin.close()


@dataclass(frozen=True)
class Trouble:
    """A tournament in which one bot misbehaved, after its end."""

    bad: str
    games: list[tuple[list[str], Json]]
    """Names by seat, and the record."""
    standings: dict[str, pb.Standing]

    def endings_of(self, bot: str) -> set[str]:
        """Return how a bot's games ended."""
        return {record["endings"][bots.index(bot)] for bots, record in self.games}


class Arena:
    """A running server, and the programs that were started for it."""

    def __init__(self, folder: Path, *, environ: Mapping[str, str]) -> None:
        """Start a server with settings from the environment, its files in a folder."""
        self._stack = ExitStack()
        self.server = self._start(
            "server", "happycity", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
            "--store", f"sqlite:///{folder}/games.sqlite", "--grace", "0",
            environ={f"HAPPYCITY_SERVE_{key}": value for key, value in environ.items()},
        )  # fmt: skip
        told = self.server.tells()
        self.address, self.metrics = str(told["listening"]), str(told["metrics"])
        self.channel = self._stack.enter_context(grpc.insecure_channel(self.address))
        self.metadata: tuple[tuple[str, str], ...] = ()
        """Shown with the calls of the methods below."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    # Programs ------------------------------------------------------------------------------------------

    def start_good_bots(self, names: Sequence[str] = GOOD, *, token: str = "") -> None:
        """Start reference bots in one process, which plays until the end."""
        bots = [f"{name}=greedy" for name in names]
        self._start(
            "good", "happycity", "bot", *bots, "--server", self.address, environ={"HAPPYCITY_TOKEN": token}
        )

    @contextmanager
    def bad_bot(self, script: str, *, name: str = "", token: str = "") -> Iterator[Program]:
        """Run one of the scripts in `bots` while the context lasts; the bot is named after it."""
        arguments = [f"tests.misbehaviour.bots.{script}", self.address, name or script, "--token", token]
        program = Program(name or script, arguments, environ={})
        try:
            yield program
        finally:
            program.stop()

    def _start(self, name: str, *arguments: str, environ: Mapping[str, str]) -> Program:
        program = Program(name, arguments, environ=environ)
        self._stack.callback(program.stop)
        return program

    # Games ---------------------------------------------------------------------------------------------

    def trouble(
        self,
        bad: str,
        *,
        decision_ms: int = 30_000,
        connect_ms: int = 60_000,
        max_strikes: int = 3,
        grace_ms: int = 60_000,
    ) -> Trouble:
        """Play a tournament of the good bots and a bad one and check what must always hold.

        Every game is finished and stored, its record replays, and the good bots played all to the end.
        """
        config = pb.TournamentConfig(
            bots=[*GOOD, bad],
            game=config_message(Config(players=3)),
            rounds=1,
            seed=11,
            time_control=match_pb.TimeControl(connect_ms=connect_ms, decision_ms=decision_ms),
            failure_policy=match_pb.FailurePolicy(max_strikes=max_strikes, grace_ms=grace_ms),
        )
        stub = TournamentServiceStub(self.channel)
        created = stub.CreateTournament(pb.CreateTournamentRequest(config=config), metadata=self.metadata)
        request = pb.WatchTournamentRequest(tournament_id=created.tournament.tournament_id, interval_ms=20)
        for update in stub.WatchTournament(request, timeout=DEADLINE, metadata=self.metadata):
            last = update
        tournament = last.tournament
        assert tournament.state == pb.TOURNAMENT_STATE_FINISHED
        assert tournament.games_finished == tournament.games_total == GAMES
        assert tournament.games_voided == 0
        standings = {standing.bot: standing for standing in last.standings}
        assert {standing.games for standing in standings.values()} == {GAMES}
        matches = MatchServiceStub(self.channel).ListMatches(
            match_pb.ListMatchesRequest(tournament_id=tournament.tournament_id), metadata=self.metadata
        )
        games = [(list(match.bots), self.record(match.match_id)) for match in matches.matches]
        assert len(games) == GAMES
        trouble = Trouble(bad, games, standings)
        for name in GOOD:
            assert trouble.endings_of(name) == {FINISHED}
            assert standings[name].forfeits == 0
        return trouble

    def side_match(self) -> Json:
        """Let the good bots play one deal, always the same, and return its record without think times."""
        return without_measurements(self.finished(self.create_match(*GOOD)))

    def create_match(self, *bots: str) -> int:
        """Set up a match on the one deal and return its id."""
        request = match_pb.CreateMatchRequest(
            config=config_message(Config(players=len(bots))),
            bots=bots,
            seed=SIDE_SEED,
            time_control=match_pb.TimeControl(connect_ms=60_000, decision_ms=30_000),
            failure_policy=match_pb.FailurePolicy(grace_ms=60_000),
        )
        created = MatchServiceStub(self.channel).CreateMatch(request, metadata=self.metadata)
        return int(created.match.match_id)

    def finished(self, match_id: int) -> Json:
        """Wait for the end of a match and return its record."""
        request = match_pb.WatchMatchRequest(match_id=match_id, from_decision=2**31)
        stub = MatchServiceStub(self.channel)
        for _ in stub.WatchMatch(request, timeout=DEADLINE, metadata=self.metadata):
            pass
        return self.record(match_id)

    def record(self, match_id: int) -> Json:
        """Return the record of a match that is over and stored; it replays."""
        stub, request = MatchServiceStub(self.channel), match_pb.GetMatchRecordRequest(match_id=match_id)
        record = loads(stub.GetMatchRecord(request, metadata=self.metadata).record_json)
        assert replay(record).outcome is not None
        return record

    # The server's inside, as seen from outside ---------------------------------------------------------

    def rss(self) -> int:
        """Return the bytes that the server's process occupies."""
        for line in Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the server's process is gone")

    def metric(self, name: str, **labels: str) -> float:
        """Return one of the server's metrics; 0 for labels that there are not."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=DEADLINE) as answer:
            text = answer.read().decode()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == name and sample.labels == labels:
                    return float(sample.value)
        return 0.0

    def failures(self) -> list[Json]:
        """Return the lines of the server's log that tell of an error of its own."""
        return [
            line
            for line in self.server.log.all
            if line.get("level") not in ("info", "warning") or "exception" in line
        ]
