"""A server with a ladder in a thread of this process, its bots, and calls to it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from tests.server.conftest import FirstMove
from tests.server.harness import Outcome, Service, refused
from tests.server.news import NEWS, telling
from tests.tournament.servers import Arena, arena

from happycity import BotInfo, Move
from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity_client import Bot, Decision

until = NEWS.until

FILE = """
name = "Test ladder"
anchor = "rock"
anchor_elo = 1600.0
provisional_error = 1000.0
boards = [{players = 2}, {players = 3}]
[quotas]
open_challenges = 3
deals_per_challenge = 20
"""


class LastMove(Bot):
    def choose(self, decision: Decision) -> Move:
        return decision.moves[-1]


@dataclass(frozen=True)
class LadderServer:
    """A server that keeps a ladder, as clients see it."""

    arena: Arena
    call: Service
    """The LadderService."""
    channel: grpc.Channel

    def connect(self, name: str, factory: Any = FirstMove, *, version: str = "1") -> None:
        """Let a bot play; one of the same name is taken off first."""
        self.arena.connect(name, factory, info=BotInfo(version=version))

    def board(self, **fields: Any) -> pb.GetLeaderboardResponse:
        board: pb.GetLeaderboardResponse = self.call.GetLeaderboard(**fields)
        return board

    def challenge(self, bot: str, **fields: Any) -> pb.Challenge:
        """Ask for deals, one of them rated unless it is said otherwise."""
        made: pb.Challenge = self.call.CreateChallenge(
            **{"bot": bot, "kind": pb.DEAL_KIND_RATED, "deals": 1, **fields}
        )
        return made

    def answer(self, how: str, number: int, bot: str, **fields: Any) -> pb.Challenge:
        """Accept, decline or withdraw a challenge."""
        answered: pb.Challenge = getattr(self.call, f"{how}Challenge")(challenge_id=number, bot=bot, **fields)
        return answered

    def finished(self, number: int) -> pb.Challenge:
        """Wait until all deals of a challenge are over; return it."""

        def over() -> pb.Challenge | None:
            known = {each.challenge_id: each for each in self.call.ListChallenges(page_size=200).challenges}
            return known[number] if known[number].state == pb.CHALLENGE_STATE_FINISHED else None

        return until(over)


def refusal(call: Callable[[], object]) -> Outcome:
    try:
        call()
    except grpc.RpcError as error:
        return refused(error)
    return Outcome()


@contextmanager
def ladder_server(
    folder: Path, *, file: str = FILE, house: str = "", **settings: Any
) -> Iterator[LadderServer]:
    path = folder / "ladder.toml"
    path.write_text(file)
    values = {"calls_per_second": 1e6, "calls_burst": 1_000_000, "house": house, "ladder": path, **settings}
    with ExitStack() as stack:
        with telling():
            opened = stack.enter_context(arena(folder, {}, **values))
        channel = stack.enter_context(grpc.insecure_channel(opened.address))
        yield LadderServer(opened, Service(channel, "happycity.ladder.v1beta1.LadderService"), channel)
