"""A bot on raw stubs that keeps to the protocol, and others that differ from it in one fault each.

Run as `python raw_bot.py FAULT`, where FAULT is the name of the step that will fail, or `none` or `staying`.
"""

from __future__ import annotations

import os
import queue
import random
import signal
import sys
import time
from collections.abc import Iterator
from typing import cast

import grpc
from google.protobuf.unknown_fields import UnknownFieldSet
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status

from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub

Key = tuple[int, int]


class RawBot:
    """Chooses by the game's seed, remembers its last answer in each game, and comes back."""

    def __init__(self) -> None:
        self.resume_token = ""
        self.seeds: dict[int, int] = {}  # by game that runs
        self.answers: dict[int, tuple[int, int]] = {}  # by game: decision and move
        self.streams = 0
        self.leaving = False
        self.outgoing: queue.SimpleQueue[play.PlayRequest | None] = queue.SimpleQueue()

    def run(self) -> None:
        """Play until told to stop."""
        signal.signal(signal.SIGTERM, lambda *_: self.leave())
        while not self.leaving:
            try:
                self.play_once()
            except grpc.RpcError as error:
                self.lost(cast(grpc.Call, error))  # an error of a stream is its call
                time.sleep(random.uniform(0.01, 0.05))  # the pause before the next attempt

    def play_once(self) -> None:
        """Play on one stream."""
        self.streams += 1
        self.outgoing = queue.SimpleQueue()
        self.outgoing.put(self.first_message())
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(os.environ["HAPPYCITY_SERVER"], options=options) as channel:
            for response in PlayServiceStub(channel).Play(self.sent(), metadata=self.metadata()):
                request = play.PlayRequest()
                self.take(response, request)
                if request.ByteSize():
                    self.outgoing.put(request)

    def sent(self) -> Iterator[play.PlayRequest]:
        """Yield what is put into the queue."""
        while (request := self.outgoing.get()) is not None:
            yield request

    def leave(self) -> None:
        """Say goodbye and close the sending side."""
        self.leaving = True
        self.outgoing.put(play.PlayRequest(goodbye=play.Goodbye()))
        self.outgoing.put(None)

    def lost(self, error: grpc.Call) -> None:
        """Exit if there is no coming back."""
        if reason_of(error) == "REPLACED":
            sys.exit(1)

    def first_message(self) -> play.PlayRequest:
        """Make the hello."""
        return play.PlayRequest(
            hello=play.Hello(
                name=os.environ["HAPPYCITY_NAME"],
                protocol_version=1,
                software=f"raw bot {os.getpid()}",
                resume_token=self.resume_token,
                games=self.seeds if self.resume_token else (),
            )
        )

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Make the call's metadata."""
        return (("authorization", f"Bearer {os.environ.get('HAPPYCITY_TOKEN', '')}"),)

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Deal with a message; `request` is the answer."""
        if response.HasField("welcome"):
            self.welcome(response.welcome)
        for started in response.games_started:
            self.seeds[started.game_id] = started.seed
            self.answers.pop(started.game_id, None)
        for decision in response.decisions:
            self.decide(decision, request)
        for over in response.games_over:
            self.end(over, request)
        for notice in response.notices:
            self.note(notice)
        if response.HasField("ping"):
            request.pong.CopyFrom(response.ping)

    def welcome(self, welcome: play.Welcome) -> None:
        """Keep the token, and the games if they go on."""
        self.resume_token = welcome.resume_token
        if not welcome.resumed:
            self.seeds.clear()
            self.answers.clear()

    def decide(self, decision: play.Decision, request: play.PlayRequest) -> None:
        """Answer, from memory if it was answered already."""
        asked, move = self.answers.get(decision.game_id, (0, 0))
        if asked != decision.decision_id:
            move = self.choose(decision)
            self.answers[decision.game_id] = decision.decision_id, move
        request.answers.add(game_id=decision.game_id, decision_id=decision.decision_id, move=move)

    def choose(self, decision: play.Decision) -> int:
        """Choose by the seed alone."""
        seed = f"{self.seeds[decision.game_id]} {decision.decision_id}"
        return random.Random(seed).randrange(len(decision.moves))

    def end(self, over: play.GameOver, request: play.PlayRequest) -> None:
        """Forget a game."""
        self.seeds.pop(over.game_id, None)
        self.answers.pop(over.game_id, None)

    def note(self, notice: play.Notice) -> None:
        """Show a notice."""
        sys.stderr.write(f"{notice.text}\n")


def reason_of(error: grpc.Call) -> str:
    """Return the typed reason of a status, or ""."""
    status = rpc_status.from_call(error)
    info = ErrorInfo()
    for detail in status.details if status else ():
        detail.Unpack(info)
    return str(info.reason)


# The faults ----------------------------------------------------------------------------------------------


class Hello(RawBot):
    """Says more than hello."""

    def first_message(self) -> play.PlayRequest:
        """Add a heartbeat."""
        request = super().first_message()
        request.heartbeat.nonce = 1
        return request


class Name(RawBot):
    """Goes by a name of its own."""

    def first_message(self) -> play.PlayRequest:
        """Ignore HAPPYCITY_NAME."""
        request = super().first_message()
        request.hello.name = "bond"
        return request


class Version(RawBot):
    """Doesn't say its version."""

    def first_message(self) -> play.PlayRequest:
        """Leave the version out."""
        request = super().first_message()
        request.hello.ClearField("protocol_version")
        return request


class Token(RawBot):
    """Has no token."""

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Send none."""
        return ()


class FirstDecision(RawBot):
    """Counts moves from 1."""

    def choose(self, decision: play.Decision) -> int:
        """Choose the last, or so it thinks."""
        return len(decision.moves)


class WholeGame(RawBot):
    """Gives up in the middle of a game."""

    def decide(self, decision: play.Decision, request: play.PlayRequest) -> None:
        """Answer at the beginning only."""
        if decision.decision_id < 60:
            super().decide(decision, request)


class ManyGames(RawBot):
    """Overlooks games of a large batch."""

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Answer eight at most."""
        del response.decisions[8:]
        super().take(response, request)


class Expert(RawBot):
    """Knows the moves of the family game only."""

    def choose(self, decision: play.Decision) -> int:
        """Choke on a market."""
        if decision.moves[0].WhichOneof("kind") == "market":
            raise KeyError("market")
        return super().choose(decision)


class TableSizes(RawBot):
    """Knows no table of five."""

    def decide(self, decision: play.Decision, request: play.PlayRequest) -> None:
        """Choke on one seat too many."""
        if len(decision.view.seats) > 4:
            raise IndexError("seat 4")
        super().decide(decision, request)


class LargeNumbers(RawBot):
    """Keeps ids in floats, as some languages do."""

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Round."""
        super().take(response, request)
        for answer in request.answers:
            answer.game_id = int(float(answer.game_id))


class RepeatedDecision(RawBot):
    """Changes its mind when it is asked again."""

    def play_once(self) -> None:
        """Remember nothing from the last stream."""
        self.answers.clear()
        super().play_once()

    def decide(self, decision: play.Decision, request: play.PlayRequest) -> None:
        """Choose another move the second time."""
        asked, move = self.answers.get(decision.game_id, (0, 0))
        again = asked == decision.decision_id
        move = (move + 1) % len(decision.moves) if again else self.choose(decision)
        self.answers[decision.game_id] = decision.decision_id, move
        request.answers.add(game_id=decision.game_id, decision_id=decision.decision_id, move=move)


class Notices(RawBot):
    """Can't bear criticism."""

    def note(self, notice: play.Notice) -> None:
        """Fall over a strike."""
        if notice.kind == play.NOTICE_KIND_TIMEOUT:
            raise RuntimeError(notice.text)


class UnknownFields(RawBot):
    """Is strict about fields."""

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Refuse what isn't known."""
        if len(UnknownFieldSet(response)):
            raise ValueError("unknown field")
        super().take(response, request)


class UnknownValues(RawBot):
    """Is strict about enums."""

    def note(self, notice: play.Notice) -> None:
        """Look the kind's name up, which fails."""
        sys.stderr.write(f"{play.NoticeKind.Name(notice.kind)}: {notice.text}\n")


class GameOver(RawBot):
    """Says its last answer again when a game is over."""

    def end(self, over: play.GameOver, request: play.PlayRequest) -> None:
        """Answer too late."""
        asked, move = self.answers.get(over.game_id, (1, 0))
        request.answers.add(game_id=over.game_id, decision_id=asked, move=move)
        super().end(over, request)


class Voided(RawBot):
    """Takes for granted that each game has a result."""

    def end(self, over: play.GameOver, request: play.PlayRequest) -> None:
        """Read the places."""
        sys.stderr.write(f"place {over.result.places[0]}\n")
        super().end(over, request)


class Ping(RawBot):
    """Never says that it is alive."""

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Overlook pings."""
        response.ClearField("ping")
        super().take(response, request)


class PingInPlay(RawBot):
    """Overlooks pings that come with decisions."""

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Play or answer pings, never both."""
        if response.decisions:
            response.ClearField("ping")
        super().take(response, request)


class Reconnect(RawBot):
    """Ends with its connection."""

    def lost(self, error: grpc.Call) -> None:
        """Take it for the end of all things."""
        sys.exit(0)


class ResumeToken(RawBot):
    """Comes back as a stranger."""

    def welcome(self, welcome: play.Welcome) -> None:
        """Forget the token."""
        super().welcome(welcome)
        self.resume_token = ""


class ResumeGames(RawBot):
    """Doesn't say which games it plays."""

    def first_message(self) -> play.PlayRequest:
        """Leave the games out."""
        request = super().first_message()
        request.hello.ClearField("games")
        return request


class ResentDecision(RawBot):
    """Thinks anew after each lost connection."""

    def play_once(self) -> None:
        """Remember nothing from the last stream."""
        self.answers.clear()
        super().play_once()

    def choose(self, decision: play.Decision) -> int:
        """Come to another result each time."""
        return (super().choose(decision) + self.streams) % len(decision.moves)


class ForgottenGames(RawBot):
    """Never lets go of a game."""

    def welcome(self, welcome: play.Welcome) -> None:
        """Keep all games."""
        self.resume_token = welcome.resume_token


class Deterministic(RawBot):
    """Has randomness of its own, which is not forbidden."""

    def choose(self, decision: play.Decision) -> int:
        """Choose by chance."""
        return random.randrange(len(decision.moves))


class Speed(RawBot):
    """Has no room for many games, and didn't say so."""

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Burst."""
        super().take(response, request)
        if len(self.seeds) > 40:
            raise MemoryError("too many games")


class ShuttingDown(RawBot):
    """Takes the server's end for its own failure."""

    def lost(self, error: grpc.Call) -> None:
        """Fail."""
        if reason_of(error) == "SHUTTING_DOWN":
            sys.exit("the server is gone")
        super().lost(error)


class Replaced(RawBot):
    """Fights for its place."""

    def lost(self, error: grpc.Call) -> None:
        """Come back whatever happens."""


class Staying(RawBot):
    """Stays away, but doesn't end, when its place is taken. This is no fault."""

    def lost(self, error: grpc.Call) -> None:
        """Wait to be told to stop."""
        if reason_of(error) == "REPLACED":
            signal.pause()


class CleanExit(RawBot):
    """Leaves without a word."""

    def leave(self) -> None:
        """Just end."""
        os._exit(0)


if __name__ == "__main__":
    name = "".join(word.capitalize() for word in sys.argv[1].split("-"))
    bots: dict[str, type[RawBot]] = {bot.__name__: bot for bot in RawBot.__subclasses__()}
    bots.get(name, RawBot)().run()
