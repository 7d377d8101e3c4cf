"""The bot of docs/protocol.md, and others that differ from it in one fault each.

Run as `python raw_bot.py FAULT`, where FAULT is the name of the step that will fail, or `none` or `staying`.
"""

import importlib.util
import os
import random
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc
from google.protobuf.unknown_fields import UnknownFieldSet

from happycity.v1 import cards_pb2, game_pb2
from happycity.v1 import play_service_pb2 as pb
from happycity.wire.status import details_of


def _program() -> Any:
    spec = importlib.util.spec_from_file_location("whole_bot", Path(__file__).parents[1] / "whole_bot.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    module = ModuleType("program")
    exec(page.code(), module.__dict__)
    return module


program = _program()
Session: Any = program.Session


class RawBot(Session):  # type: ignore[misc]  # it is shown without types
    """Plays any number of games at once, chooses by the match alone, and says its process's number."""

    def __init__(self) -> None:
        super().__init__()
        self.streams = 0
        program.choose = self.choose

    def hello(self) -> Any:
        request = super().hello()
        request.hello.software = f"raw bot {os.getpid()}"
        request.hello.ClearField("max_games")
        self.greet(request)
        return request

    def reply(self, batch: pb.PlayResponse) -> Any:
        self.read(batch)
        request = super().reply(batch)
        self.write(request, batch)
        return request

    def greet(self, request: pb.PlayRequest) -> None:
        """Change the first message."""

    def read(self, batch: pb.PlayResponse) -> None:
        """Change what was received, before it is replied to."""

    def write(self, request: pb.PlayRequest, batch: pb.PlayResponse) -> None:
        """Change the reply."""

    def play(self) -> Any:
        self.streams += 1
        try:
            return super().play()
        except grpc.RpcError as error:
            self.lost(error)
            raise

    def lost(self, error: Any) -> None:
        """Do nothing besides trying again."""

    def choose(self, decision: pb.Decision) -> int:
        return random.Random(decision.decision_id).randrange(len(decision.moves))


def reason_of(error: Any) -> str:
    return details_of(error).reason


def key_of(decision: pb.Decision) -> tuple[int, int]:
    return decision.match_id, decision.view.seat


def drop(batch: pb.PlayResponse, decisions: list[pb.Decision]) -> None:
    for decision in decisions:
        batch.decisions.remove(decision)


class Hello(RawBot):  # says more than hello
    def greet(self, request: pb.PlayRequest) -> None:
        request.pong.nonce = 1


class ProtocolVersion(RawBot):  # is from before the protocol had a version
    def greet(self, request: pb.PlayRequest) -> None:
        request.hello.ClearField("protocol_version")


class Name(RawBot):  # goes by a name of its own where it is given one
    def greet(self, request: pb.PlayRequest) -> None:
        if request.hello.HasField("name"):
            request.hello.name = "bond"


class Token(RawBot):  # has no token
    def __init__(self) -> None:
        super().__init__()
        program.HEADERS = []


class TokenAlone(RawBot):  # has a name of its own where it is given none
    def greet(self, request: pb.PlayRequest) -> None:
        request.hello.name = request.hello.name or "bond"


class FirstDecision(RawBot):  # counts moves from 1
    def choose(self, decision: pb.Decision) -> int:
        return len(decision.moves)


class WholeGame(RawBot):  # gives up in the middle of a game
    def read(self, batch: pb.PlayResponse) -> None:
        drop(batch, [one for one in batch.decisions if one.decision_id >= 60])


class ManyGames(RawBot):  # overlooks games of a large batch
    def read(self, batch: pb.PlayResponse) -> None:
        del batch.decisions[8:]


class Expert(RawBot):  # knows the moves of the family game only
    def choose(self, decision: pb.Decision) -> int:
        if decision.moves[0].kind == game_pb2.MOVE_KIND_MARKET:
            raise KeyError("market")
        return super().choose(decision)


class TableSizes(RawBot):  # knows no table of five in which points are summed up
    def choose(self, decision: pb.Decision) -> int:
        if len(decision.view.seats) > 4 and decision.view.config.scoring == cards_pb2.SCORING_SUM:
            raise IndexError("seat 4")
        return super().choose(decision)


class LargeNumbers(RawBot):  # keeps ids in floats, as some languages do
    def write(self, request: pb.PlayRequest, batch: pb.PlayResponse) -> None:
        for answer in request.answers:
            answer.match_id = min(int(float(answer.match_id)), 2**63 - 1)


class OneMessage(RawBot):  # takes a message that starts games for nothing else
    def read(self, batch: pb.PlayResponse) -> None:
        if batch.games_started:
            batch.ClearField("decisions")


class SeveralSeats(RawBot):  # plays one game for each match: the seat that was started last
    def __init__(self) -> None:
        super().__init__()
        self.seats: dict[int, int] = {}

    def read(self, batch: pb.PlayResponse) -> None:
        self.seats.update((started.match_id, started.seat) for started in batch.games_started)
        seats = self.seats
        drop(batch, [one for one in batch.decisions if seats.get(one.match_id, 0) != one.view.seat])


class RepeatedMessages(RawBot):  # chooses again when it is asked again on the same stream
    asked: set[tuple[int, int]]

    def hello(self) -> Any:
        self.asked = set()
        return super().hello()

    def write(self, request: pb.PlayRequest, batch: pb.PlayResponse) -> None:
        moves = {(one.match_id, one.decision_id): len(one.moves) for one in batch.decisions}
        for answer in request.answers:
            ids = answer.match_id, answer.decision_id
            if ids in self.asked:
                answer.move = (answer.move + 1) % moves[ids]
            self.asked.add(ids)


class Notices(RawBot):  # takes a notice for an error
    def read(self, batch: pb.PlayResponse) -> None:
        for notice in batch.notices:
            if notice.kind == pb.NOTICE_KIND_TIMEOUT:
                raise RuntimeError(notice.text)


class UnknownFields(RawBot):  # is strict about fields
    def read(self, batch: pb.PlayResponse) -> None:
        if len(UnknownFieldSet(batch)):
            raise ValueError("unknown field")


class UnknownValues(RawBot):  # is strict about enums
    def read(self, batch: pb.PlayResponse) -> None:
        for notice in batch.notices:
            sys.stderr.write(f"{pb.NoticeKind.Name(notice.kind)}\n")


class GameOver(RawBot):  # says its last answer again when a game is over
    def write(self, request: pb.PlayRequest, batch: pb.PlayResponse) -> None:
        over = {message.match_id for message in batch.games_over}
        request.answers.extend(answer for key, answer in self.answers.items() if key[0] in over)


class Voided(RawBot):  # takes for granted that each game has a result
    def read(self, batch: pb.PlayResponse) -> None:
        for over in batch.games_over:
            sys.stderr.write(f"place {over.outcome.result.seats[0].place}\n")


class Ping(RawBot):  # overlooks pings that come with decisions
    def read(self, batch: pb.PlayResponse) -> None:
        if batch.decisions:
            batch.ClearField("ping")


class Reconnect(RawBot):  # connects again without its token
    def greet(self, request: pb.PlayRequest) -> None:
        request.hello.ClearField("resume_token")


class ResumedGames(RawBot):  # never drops a game
    def __init__(self) -> None:
        super().__init__()
        self.last: dict[tuple[int, int], int] = {}

    def read(self, batch: pb.PlayResponse) -> None:
        last = self.last
        drop(batch, [one for one in batch.decisions if one.decision_id < last.get(key_of(one), 0)])
        last.update((key_of(one), one.decision_id) for one in batch.decisions)
        for over in batch.games_over:
            self.last = {key: last for key, last in self.last.items() if key[0] != over.match_id}


class ResumedSeats(RawBot):  # resumes one game for each match
    def __init__(self) -> None:
        super().__init__()
        self.resumed: set[int] = set()

    def read(self, batch: pb.PlayResponse) -> None:
        if batch.HasField("welcome"):
            self.resumed = {*batch.welcome.match_ids}
        drop(batch, [one for one in batch.decisions if one.view.seat and one.match_id in self.resumed])


class ResentDecision(RawBot):  # chooses again after each lost connection
    def play(self) -> Any:
        self.answers.clear()
        return super().play()

    def choose(self, decision: pb.Decision) -> int:
        return (super().choose(decision) + self.streams) % len(decision.moves)


class Interrupted(RawBot):  # takes a connection that ends before the welcome for the end
    def lost(self, error: Any) -> None:
        if not self.received:
            sys.exit("there is no server")


class Retried(RawBot):  # doesn't wait
    def __init__(self) -> None:
        super().__init__()
        delay = program.retry_delay
        program.retry_delay = lambda error: None if delay(error) is None else 0.0


class Deterministic(RawBot):  # has randomness of its own, which is not forbidden
    def choose(self, decision: pb.Decision) -> int:
        return random.randrange(len(decision.moves))


class Speed(RawBot):  # has no room for many games, and its hello doesn't say so
    def read(self, batch: pb.PlayResponse) -> None:
        if len(batch.decisions) > 40:
            raise MemoryError("too many games")


class ShuttingDown(RawBot):  # takes the server's shutdown for its own failure
    def lost(self, error: Any) -> None:
        if reason_of(error) == "SHUTTING_DOWN":
            sys.exit("the server is gone")


class Refused(RawBot):  # says nothing when it is refused
    def lost(self, error: Any) -> None:
        if not self.received and error.code() is not grpc.StatusCode.UNAVAILABLE:
            os._exit(2)


class Unreachable(RawBot):  # takes it for the end of all games that there is no server
    def lost(self, error: Any) -> None:
        if not self.resume_token and error.code() is grpc.StatusCode.UNAVAILABLE:
            os._exit(0)


class Ended(RawBot):  # connects again although another program has its place
    def __init__(self) -> None:
        super().__init__()
        delay = program.retry_delay
        program.retry_delay = lambda error: delay(error) or 0.0


class Staying(RawBot):  # stays away, but doesn't end, when its place is taken. This is no fault
    def lost(self, error: Any) -> None:
        if reason_of(error) == "REPLACED":
            signal.pause()


class Proxy(RawBot):  # lets gRPC use the proxies of the environment
    def play(self) -> Any:
        program.OPTIONS.remove(("grpc.enable_http_proxy", 0))
        return super().play()


class CleanExit(RawBot):  # ends without a goodbye
    def leave(self) -> None:
        os._exit(0)


def bot_class(fault: str) -> type[RawBot]:
    """Return the bot with a fault, or the good one."""
    name = "".join(word.capitalize() for word in fault.split("-"))
    bots: dict[str, type[RawBot]] = {bot.__name__: bot for bot in RawBot.__subclasses__()}
    return bots.get(name, RawBot)


if __name__ == "__main__":
    bot_class(sys.argv[1])().run()
