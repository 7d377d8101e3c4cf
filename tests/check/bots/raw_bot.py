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

from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire import STATUS_METADATA, decode_status

Seat = tuple[int, int]
"""A match and one of its seats."""


class RawBot:
    """Chooses by the game's seed, remembers its last answer in each game, and connects again."""

    def __init__(self) -> None:
        self.resume_token = ""
        self.seeds: dict[Seat, int] = {}  # of the games that run
        self.answers: dict[Seat, tuple[int, int]] = {}  # decision and move
        self.streams = 0
        self.leaving = False
        self.outgoing: queue.SimpleQueue[play.PlayRequest | None] = queue.SimpleQueue()

    def run(self) -> None:
        """Play until a signal comes."""
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
        """Exit if there is no point in connecting again."""
        if reason_of(error) == "REPLACED":
            sys.exit(1)

    def first_message(self) -> play.PlayRequest:
        """Make the hello."""
        return play.PlayRequest(
            hello=play.Hello(
                name=os.environ["HAPPYCITY_NAME"],
                software=f"raw bot {os.getpid()}",
                resume_token=self.resume_token,
                match_ids={match_id for match_id, _ in self.seeds} if self.resume_token else (),
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
            self.start(started)
        for decision in response.decisions:
            self.decide(decision, request)
        for over in response.games_over:
            self.end(over, request)
        for notice in response.notices:
            self.note(notice)
        if response.HasField("ping"):
            request.pong.nonce = response.ping.nonce

    def welcome(self, welcome: play.Welcome) -> None:
        """Keep the token, and the games if they go on."""
        self.resume_token = welcome.resume_token
        if not welcome.resumed:
            self.seeds.clear()
            self.answers.clear()

    def start(self, started: play.GameStarted) -> None:
        """Begin a game."""
        self.seeds[started.match_id, started.seat] = started.seed
        self.answers.pop((started.match_id, started.seat), None)

    def decide(self, decision: play.Decision, request: play.PlayRequest) -> None:
        """Answer, from memory if it was answered already."""
        seat = seat_of(decision)
        if seat not in self.seeds:
            return
        decided, move = self.answers.get(seat, (0, 0))
        if decided != decision.decision_id:
            move = self.choose(decision)
            self.answers[seat] = decision.decision_id, move
        request.answers.add(match_id=decision.match_id, decision_id=decision.decision_id, move=move)

    def choose(self, decision: play.Decision) -> int:
        """Choose by the seed alone."""
        seed = f"{self.seeds[seat_of(decision)]} {decision.decision_id}"
        return random.Random(seed).randrange(len(decision.moves))

    def end(self, over: play.GameOver, request: play.PlayRequest) -> None:
        """Forget the games of a match."""
        for seat in [seat for seat in self.seeds if seat[0] == over.match_id]:
            del self.seeds[seat]
            self.answers.pop(seat, None)

    def note(self, notice: play.Notice) -> None:
        """Show a notice."""
        sys.stderr.write(f"{notice.text}\n")


def seat_of(decision: play.Decision) -> Seat:
    """Return whose decision it is."""
    return decision.match_id, decision.view.seat


def reason_of(error: grpc.Call) -> str:
    """Return the typed reason of a status, or ""."""
    for key, value in error.trailing_metadata() or ():
        if key == STATUS_METADATA and isinstance(value, bytes):
            return decode_status(value).reason
    return ""


# The faults ----------------------------------------------------------------------------------------------


class Hello(RawBot):
    """Says more than hello."""

    def first_message(self) -> play.PlayRequest:
        """Add a pong."""
        request = super().first_message()
        request.pong.nonce = 1
        return request


class Name(RawBot):
    """Goes by a name of its own."""

    def first_message(self) -> play.PlayRequest:
        """Ignore HAPPYCITY_NAME."""
        request = super().first_message()
        request.hello.name = "bond"
        return request


class Token(RawBot):
    """Has no token."""

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Send none."""
        return ()


class FirstDecision(RawBot):
    """Counts moves from 1."""

    def choose(self, decision: play.Decision) -> int:
        """Choose one beyond the last."""
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
        """Fail at a market."""
        if decision.moves[0].kind == game_pb2.MOVE_KIND_MARKET:
            raise KeyError("market")
        return super().choose(decision)


class TableSizes(RawBot):
    """Knows no table of five."""

    def decide(self, decision: play.Decision, request: play.PlayRequest) -> None:
        """Fail at one seat too many."""
        if len(decision.view.seats) > 4:
            raise IndexError("seat 4")
        super().decide(decision, request)


class LargeNumbers(RawBot):
    """Keeps ids in floats, as some languages do."""

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Round."""
        super().take(response, request)
        for answer in request.answers:
            answer.match_id = min(int(float(answer.match_id)), 2**63 - 1)


class SeveralSeats(RawBot):
    """Plays one game for each match: the seat that was started last."""

    def start(self, started: play.GameStarted) -> None:
        """Forget the other seats."""
        for seat in [seat for seat in self.seeds if seat[0] == started.match_id]:
            del self.seeds[seat]
        super().start(started)


class RepeatedDecision(RawBot):
    """Changes its mind when it is asked again."""

    def play_once(self) -> None:
        """Remember nothing from the last stream."""
        self.answers.clear()
        super().play_once()

    def decide(self, decision: play.Decision, request: play.PlayRequest) -> None:
        """Choose another move the second time."""
        seat = seat_of(decision)
        decided, move = self.answers.get(seat, (0, 0))
        again = decided == decision.decision_id
        move = (move + 1) % len(decision.moves) if again else self.choose(decision)
        self.answers[seat] = decision.decision_id, move
        request.answers.add(match_id=decision.match_id, decision_id=decision.decision_id, move=move)


class Notices(RawBot):
    """Takes a notice for an error."""

    def note(self, notice: play.Notice) -> None:
        """Fail at a strike."""
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
        for seat in [seat for seat in self.seeds if seat[0] == over.match_id]:
            decided, move = self.answers.get(seat, (1, 0))
            request.answers.add(match_id=over.match_id, decision_id=decided, move=move)
        super().end(over, request)


class Voided(RawBot):
    """Takes for granted that each game has a result."""

    def end(self, over: play.GameOver, request: play.PlayRequest) -> None:
        """Read the own place."""
        sys.stderr.write(f"place {over.result.seats[0].place}\n")
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
        """Take it for the end."""
        sys.exit(0)


class ResumeToken(RawBot):
    """Connects again without its token."""

    def welcome(self, welcome: play.Welcome) -> None:
        """Forget the token."""
        super().welcome(welcome)
        self.resume_token = ""


class ResumeGames(RawBot):
    """Doesn't say which games it plays."""

    def first_message(self) -> play.PlayRequest:
        """Leave the games out."""
        request = super().first_message()
        request.hello.ClearField("match_ids")
        return request


class ResumeSeats(RawBot):
    """Resumes one game for each match."""

    def welcome(self, welcome: play.Welcome) -> None:
        """Forget all seats but the first."""
        super().welcome(welcome)
        self.seeds = {seat: seed for seat, seed in self.seeds.items() if seat[1] == 0}


class ResentDecision(RawBot):
    """Chooses again after each lost connection."""

    def play_once(self) -> None:
        """Remember nothing from the last stream."""
        self.answers.clear()
        super().play_once()

    def choose(self, decision: play.Decision) -> int:
        """Choose another move each time."""
        return (super().choose(decision) + self.streams) % len(decision.moves)


class ForgottenGames(RawBot):
    """Never forgets a game."""

    def welcome(self, welcome: play.Welcome) -> None:
        """Keep all games."""
        self.resume_token = welcome.resume_token


class Deterministic(RawBot):
    """Has randomness of its own, which is not forbidden."""

    def choose(self, decision: play.Decision) -> int:
        """Choose by chance."""
        return random.randrange(len(decision.moves))


class Speed(RawBot):
    """Has no room for many games, and its hello doesn't say so."""

    def take(self, response: play.PlayResponse, request: play.PlayRequest) -> None:
        """Fail at too many games."""
        super().take(response, request)
        if len(self.seeds) > 40:
            raise MemoryError("too many games")


class ShuttingDown(RawBot):
    """Takes the server's shutdown for its own failure."""

    def lost(self, error: grpc.Call) -> None:
        """Fail."""
        if reason_of(error) == "SHUTTING_DOWN":
            sys.exit("the server is gone")
        super().lost(error)


class Replaced(RawBot):
    """Connects again although another program has its place."""

    def lost(self, error: grpc.Call) -> None:
        """Try again whatever happens."""


class Staying(RawBot):
    """Stays away, but doesn't end, when its place is taken. This is no fault."""

    def lost(self, error: grpc.Call) -> None:
        """Wait for a signal."""
        if reason_of(error) == "REPLACED":
            signal.pause()


class CleanExit(RawBot):
    """Ends without a goodbye."""

    def leave(self) -> None:
        """Just end."""
        os._exit(0)


if __name__ == "__main__":
    name = "".join(word.capitalize() for word in sys.argv[1].split("-"))
    bots: dict[str, type[RawBot]] = {bot.__name__: bot for bot in RawBot.__subclasses__()}
    bots.get(name, RawBot)().run()
