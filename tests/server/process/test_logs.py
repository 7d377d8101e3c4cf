"""What log lines may hold."""

import itertools
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
import structlog
from tests.server.server_process import server_process
from tests.waiting import LIMIT

from happycity import Config
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire.messages import config_message
from happycity_server.config import LogFormat
from happycity_server.process.logs import MAX_TEXT, QueuedOutput, configure, sanitize
from happycity_tournament.storage.store import Store

CLEAR = "hc_01234567_" + "s" * 43


@pytest.fixture(autouse=True)
def _configuration() -> object:
    """Leave the logging of other tests alone."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = list(root.handlers), root.level
    structlog.reset_defaults()
    yield
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


def test_values_of_strangers_do_no_harm() -> None:
    """Tokens keep their ids only, long values are cut, and none can begin a line or control a terminal."""
    for said, logged in (
        ({"text": f"sent {CLEAR} here"}, {"text": "sent hc_01234567_*** here"}),
        ({"exception": f"ValueError: {CLEAR}\n  at"}, {"exception": "ValueError: hc_01234567_***\n  at"}),
        ({"software": "x" * 10_000, "games": 7}, {"software": "x" * MAX_TEXT + "...", "games": 7}),
        ({"reason": "well\n\x1b[31mred\x9b\x7f, à"}, {"reason": "well\\n\\x1b[31mred\\x9b\\x7f, à"}),
    ):
        assert sanitize(None, "info", dict(said)) == logged


@pytest.mark.parametrize("log_format", [LogFormat.CONSOLE, LogFormat.JSON])
def test_failures_keep_their_traceback(log_format: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    """In both forms an error is logged with where it happened, and without a warning."""
    output = configure(log_format)
    try:
        raise ValueError(CLEAR)
    except ValueError:
        structlog.get_logger().exception("failed", match=3)
    output.drain(60)
    logged = capsys.readouterr().err
    assert "test_failures_keep_their_traceback" in logged
    assert "s" * 43 not in logged
    if log_format is LogFormat.JSON:
        assert json.loads(logged)["match"] == 3


def test_libraries_log_in_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    """What uvicorn or asyncio say is a line of JSON like any other, bounded and without secrets."""
    output = configure(LogFormat.JSON)
    logging.getLogger("uvicorn.error").warning("odd %s\n%s", CLEAR, "x" * 1000)
    logging.getLogger("uvicorn.error").info("nothing that an operator has to know")
    output.drain(60)
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["level"], line["logger"]) == ("library", "warning", "uvicorn.error")
    assert line["text"].startswith("odd hc_01234567_***\\nxxx")
    assert len(line["text"]) <= MAX_TEXT + 3


def test_a_log_that_is_not_read_holds_nothing_up() -> None:
    """Lines beyond the limit are dropped, counted, and reported once the reader reads again."""
    reader, writer = full_pipe()
    with open(writer, "w", encoding="utf-8") as pipe, open(reader, encoding="utf-8") as read:
        output = QueuedOutput(pipe, most=10)
        structlog.configure(processors=[structlog.processors.JSONRenderer()], logger_factory=output)
        for number in range(1000):
            structlog.get_logger().info("refused", number=number)
        lines = (json.loads(line) for line in read if line.strip())
        kept = list(itertools.takewhile(lambda line: line["event"] == "refused", lines))
    assert [line["number"] for line in kept[:10]] == list(range(10))
    assert len(kept) == 1000 - output.dropped
    assert output.dropped in {989, 990}  # the thread may have taken a line, and waits to write it


@pytest.mark.level(3)
def test_a_tournament_loses_no_game_while_its_log_is_not_read(tmp_path: Path) -> None:
    """The pipe of the server and of its worker is full from the start to the end; each game is stored."""
    bots = ("ann", "ben")
    config = tournament_pb.TournamentConfig(
        bots=bots,
        game=config_message(Config(players=2)),
        seed=7,
        random_rounds=tournament_pb.RandomRounds(rounds=100),
    )
    flags = ("--open", "--house", ",".join(f"{bot}=random" for bot in bots), "--workers", "1")
    with (
        unread_pipe() as stderr,
        server_process(tmp_path, *flags, stderr=stderr) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        stub = TournamentServiceStub(channel)
        created = stub.CreateTournament(tournament_pb.CreateTournamentRequest(config=config), timeout=LIMIT)
        watch = tournament_pb.WatchTournamentRequest(tournament_id=created.tournament_id)
        *_, last = stub.WatchTournament(watch, timeout=LIMIT)
    assert last.progress.state == tournament_pb.TOURNAMENT_STATE_FINISHED
    assert [(line.games, line.forfeits) for line in last.standings] == [(200, 0)] * 2
    store = Store.create(f"sqlite:///{tmp_path}/games.sqlite")
    assert len({game.position for game in store.games(1000)}) == 200
    store.close()


@contextmanager
def unread_pipe() -> Iterator[int]:
    """Yield the writing end of a pipe that is full, stays open, and is not read; nothing gets into it."""
    reader, writer = full_pipe()
    try:
        yield writer
        os.set_blocking(reader, False)
        with suppress(BlockingIOError):
            while written := os.read(reader, 1 << 16):
                assert not written.strip(b"\n")
    finally:
        os.close(writer)
        os.close(reader)


def full_pipe() -> tuple[int, int]:
    """Return the ends of a pipe that can't be written to before it is read."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"\n" * 4096)
    os.set_blocking(writer, True)
    return reader, writer
