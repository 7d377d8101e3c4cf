"""Following a tournament from outside, over lost connections; the server is a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import grpc
import pytest

from happycity import ConfigError
from happycity.v1 import tournament_service_pb2 as pb
from happycity_tournament.access import Access
from happycity_tournament.watch import ServerLostError, Watch

if TYPE_CHECKING:  # in the generated stub's types only
    from happycity.v1.tournament_service_pb2_grpc import TournamentServiceAsyncStub

WAITING, RUNNING, FINISHED, STOPPED, INTERRUPTED = (
    pb.TOURNAMENT_STATE_WAITING,
    pb.TOURNAMENT_STATE_RUNNING,
    pb.TOURNAMENT_STATE_FINISHED,
    pb.TOURNAMENT_STATE_STOPPED,
    pb.TOURNAMENT_STATE_INTERRUPTED,
)


def failure(code: grpc.StatusCode) -> grpc.aio.AioRpcError:
    nothing = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(code, nothing, nothing, details="as the script says")


LOST = failure(grpc.StatusCode.UNAVAILABLE)
UNKNOWN = failure(grpc.StatusCode.NOT_FOUND)


class Call:
    """One WatchTournament: sends states, and then ends or fails."""

    def __init__(self, steps: list[Any]) -> None:
        self._steps: Iterator[Any] = iter(steps)

    async def read(self) -> object:
        step: Any = next(self._steps, grpc.aio.EOF)
        if isinstance(step, Exception):
            raise step
        if step is grpc.aio.EOF:
            return grpc.aio.EOF
        return pb.WatchTournamentResponse(tournament=pb.Tournament(tournament_id=7, state=step))

    def cancel(self) -> bool:
        return True


class Server:
    """Plays one script a call."""

    def __init__(self, *scripts: list[Any]) -> None:
        self._scripts = iter(scripts)
        self.stops = iter([LOST, None])
        self.stopped = 0

    def WatchTournament(self, request: pb.WatchTournamentRequest, metadata: object) -> Call:  # noqa: N802
        assert (request.tournament_id, metadata) == (7, (("authorization", "Bearer x"),))
        return Call(next(self._scripts))

    async def StopTournament(self, request: pb.StopTournamentRequest, **options: object) -> None:  # noqa: N802
        self.stopped += 1
        if (error := next(self.stops)) is not None:
            raise error


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pause between two attempts be none."""
    monkeypatch.setattr("happycity_tournament.watch.FIRST_PAUSE_SECONDS", 0.0)


@pytest.fixture
def remarks() -> list[str]:
    return []


@pytest.fixture
def watch(remarks: list[str]) -> Callable[..., Watch]:
    def make(server: Server, patience: float = 60.0) -> Watch:
        stub = cast("TournamentServiceAsyncStub", server)
        metadata = Access(token="x").metadata
        return Watch(stub, 7, metadata=metadata, patience=patience, remark=remarks.append)

    return make


async def states(watch: Watch) -> list[int]:
    return [update.tournament.state async for update in watch.updates()]


@pytest.mark.parametrize("end", [FINISHED, STOPPED])
async def test_a_tournament_is_followed_to_its_end(
    watch: Callable[..., Watch], remarks: list[str], end: int
) -> None:
    """Without trouble there is one call and nothing to remark."""
    assert await states(watch(Server([WAITING, RUNNING, end]))) == [WAITING, RUNNING, end]
    assert remarks == []


async def test_a_lost_server_is_looked_for_and_found(watch: Callable[..., Watch], remarks: list[str]) -> None:
    """Every absence is told once, however many attempts it takes, and so is every return."""
    server = Server([RUNNING, LOST], [LOST], [LOST], [RUNNING, RUNNING, LOST], [FINISHED])
    assert await states(watch(server)) == [RUNNING, RUNNING, RUNNING, FINISHED]
    gone = "the server is gone (as the script says); it has 60 s to come back"
    assert remarks == [gone, "the server is back", gone, "the server is back"]


async def test_an_interruption_is_no_end(watch: Callable[..., Watch], remarks: list[str]) -> None:
    """A server that shuts down in good order says so; the next one goes on with the tournament."""
    server = Server([RUNNING, INTERRUPTED], [LOST], [INTERRUPTED], [RUNNING, FINISHED])
    assert await states(watch(server)) == [RUNNING, RUNNING, FINISHED]
    assert remarks == ["the server is gone (it shut down); it has 60 s to come back", "the server is back"]


async def test_the_end_may_be_missed(watch: Callable[..., Watch]) -> None:
    """A connection that breaks after the last update was read is no loss."""
    assert await states(watch(Server([RUNNING, FINISHED, LOST]))) == [RUNNING, FINISHED]


async def test_patience_ends(watch: Callable[..., Watch], remarks: list[str]) -> None:
    """A server that doesn't come back is an error that says how the tournament may go on."""
    with pytest.raises(ServerLostError, match="before the end of tournament 7; a server on the same store"):
        await states(watch(Server([RUNNING, LOST]), patience=0.0))
    assert remarks == []


async def test_another_error_is_told_at_once(watch: Callable[..., Watch]) -> None:
    """A server on another store doesn't know the tournament: no time will mend that."""
    with pytest.raises(grpc.aio.AioRpcError):
        await states(watch(Server([RUNNING, LOST], [UNKNOWN])))


async def test_a_stop_reaches_a_server_that_is_away(watch: Callable[..., Watch]) -> None:
    """It is repeated until it is heard."""
    server = Server()
    await watch(server).stop()
    assert server.stopped == 2


# Access --------------------------------------------------------------------------------------------------


async def test_a_token_stays_on_this_machine_without_tls() -> None:
    """In the clear it goes to loopback only."""
    access = Access(token="hc_secret")
    for address in ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/tmp/socket"):
        await access.channel(address).close()
    with pytest.raises(ConfigError, match=r"token: it would travel unencrypted to 192\.0\.2\.1:1; use --tls"):
        access.channel("192.0.2.1:1")
    await Access(token="hc_secret", tls=True).channel("192.0.2.1:1").close()


@pytest.mark.parametrize(
    "access", [Access(cert=Path("file.pem")), Access(key=Path("file.pem"))], ids=["cert", "key"]
)
async def test_a_certificate_needs_its_key(access: Access) -> None:
    """One without the other is refused before any handshake."""
    with pytest.raises(ConfigError, match="one needs the other"):
        access.channel("127.0.0.1:1")


async def test_files_that_are_no_certificates_are_refused(tmp_path: Path) -> None:
    """What gRPC would only answer with a failed handshake is told in one line."""
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(ConfigError, match="can't be used for TLS"):
        Access(ca=tmp_path / "ca.pem").channel("127.0.0.1:1")


def test_bots_learn_how_to_encrypt_but_no_secrets(tmp_path: Path) -> None:
    """A bot that is started for a run gets neither the organiser's token nor his certificate."""
    ca, cert, key = (tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem"))
    assert Access(token="x").environment == {}
    assert Access(token="x", tls=True).environment == {"HAPPYCITY_TLS": "1"}
    everything = Access(token="x", ca=ca, cert=cert, key=key).environment
    assert everything == {"HAPPYCITY_TLS": "1", "HAPPYCITY_CA": str(ca)}
