"""What bad bots are made of: a Play stream by the bare stub, and lines that tell a test what happened."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub

_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


def arguments() -> argparse.Namespace:
    """Return what the test says: where the server is, who the bot is, and its token."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("name")
    parser.add_argument("--token", default="")
    return parser.parse_args()


def tell(event: str, **values: object) -> None:
    """Print one line for the test."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


def wait_for_a_word() -> None:
    """Wait for a line, or the end, of what the test says."""
    sys.stdin.readline()


def channel(address: str) -> grpc.Channel:
    """Return a connection without any limit of its own."""
    return grpc.insecure_channel(address, _OPTIONS)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """Return the metadata of a call with a token; empty without."""
    return (("authorization", f"Bearer {token}"),) if token else ()


def error_info(error: grpc.RpcError) -> ErrorInfo:
    """Return the typed reason of an error; an empty one if it has none."""
    info = ErrorInfo()
    metadata: Any = error.trailing_metadata()  # a tuple of pairs; its type is declared otherwise
    for key, value in metadata or ():
        if key == "grpc-status-details-bin":
            Status.FromString(value).details[0].Unpack(info)
    return info


def tell_refusal(error: grpc.RpcError) -> None:
    """Tell how a call ended."""
    info = error_info(error)
    tell("ended", status=error.code().name, reason=info.reason, metadata=dict(info.metadata))


class Stream:
    """A Play stream on a connection of its own. It reads nothing unless it is told to."""

    def __init__(self, address: str, token: str = "") -> None:
        self._channel = channel(address)
        self._outbox = SimpleQueue[play.PlayRequest | None]()
        self._noticed: set[play.NoticeKind.ValueType] = set()  # each kind is told once
        method = PlayServiceStub(self._channel).Play
        # Iterator and call in one; only the former is declared.
        self._call: Any = method(iter(self._outbox.get, None), metadata=bearer(token))

    def hello(self, name: str, *, resume_token: str = "", games: Sequence[int] = ()) -> None:
        """Send a proper hello."""
        self.send(
            play.PlayRequest(
                hello=play.Hello(name=name, protocol_version=1, resume_token=resume_token, games=games)
            )
        )

    def send(self, request: play.PlayRequest) -> None:
        """Send a message, some time soon."""
        self._outbox.put(request)

    def waiting(self) -> int:
        """Return how many messages are not sent yet."""
        return self._outbox.qsize()

    def answer(self, decision: play.Decision, move: int) -> None:
        """Answer a decision."""
        answer = play.Answer(game_id=decision.game_id, decision_id=decision.decision_id, move=move)
        self.send(play.PlayRequest(answers=[answer]))

    def read(self) -> play.PlayResponse | None:
        """Return the server's next message; None at the end of the stream, which is told."""
        try:
            response: play.PlayResponse = next(self._call)
        except StopIteration:
            tell("ended", status="OK", reason="", metadata={})
            return None
        except grpc.RpcError as error:
            tell_refusal(error)
            return None
        if response.HasField("welcome"):
            tell("welcome", resumed=response.welcome.resumed)
        for decision in response.decisions:
            tell("asked", game=decision.game_id)
        for kind in {notice.kind for notice in response.notices} - self._noticed:
            self._noticed.add(kind)
            tell("notice", kind=play.NoticeKind.Name(kind))
        for over in response.games_over:
            tell("over", game=over.game_id, places=list(over.result.places))
        return response

    def batches(self) -> Iterator[play.PlayResponse]:
        """Yield the server's messages up to the end; its pings are answered."""
        while (response := self.read()) is not None:
            self.pong(response)
            yield response

    def pong(self, response: play.PlayResponse) -> None:
        """Give the sign of life that a message asks for."""
        if response.HasField("ping"):
            self.send(play.PlayRequest(pong=response.ping))

    def when_ended(self, call: Callable[[], object]) -> None:
        """Call something once the stream has ended, or at once if it has."""
        self._call.add_done_callback(lambda _: call())

    def close(self) -> None:
        """Break the connection off, without a goodbye."""
        self._call.cancel()
        self._channel.close()
