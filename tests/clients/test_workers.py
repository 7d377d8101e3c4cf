"""Bots of all languages on a server with workers: they keep a stream to each of them."""

from __future__ import annotations

import os
import shlex
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
import trustme
from tests.clients.programs import Reference, duel, records, run, serving, started

from happycity import Mode
from happycity.runtime.transport import Access
from happycity.v1 import bot_service_pb2, play_service_pb2
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub

ROLES = {"greedy": "bot", "random": "bot", "olga": "organiser"}
PYTHON_GREEDY = shlex.join([sys.executable, "-m", "happycity", "bot", "greedy"])
RANDOM = (sys.executable, "-m", "happycity", "bot", "random")
JOINING = ("--bots", "", "--join", "random", "--join", "greedy")
RUN = (sys.executable, "-m", "happycity_tournament", "run", *duel(Mode.FAMILY), *JOINING)


@pytest.mark.thorough
async def test_python_plays_at_every_worker(in_python: Reference, tmp_path: Path) -> None:
    """What is asked of the other languages holds for the Python SDK."""
    await play_at_every_worker(PYTHON_GREEDY, in_python, tmp_path)


@pytest.mark.thorough
async def test_a_bot_plays_at_every_worker(greedy: str, in_python: Reference, tmp_path: Path) -> None:
    """It opens a stream to each, with its token and by TLS, and plays there as it does at the server."""
    await play_at_every_worker(greedy, in_python, tmp_path)


async def play_at_every_worker(greedy: str, in_python: Reference, folder: Path) -> None:
    """Let a greedy bot play against one that is connected to one worker alone, to each of them in turn.

    No game can be played elsewhere, as a game is played where all its bots are.
    """
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(folder / "both.pem"))
    tls = ("--tls-cert", str(folder / "both.pem"), "--tls-key", str(folder / "both.pem"))
    tokens = {name: new_token(name, role, folder) for name, role in ROLES.items()}
    store = f"sqlite:///{folder / 'games.sqlite'}"

    def environment(name: str, server: str) -> dict[str, str]:
        mine = {"SERVER": server, "NAME": name, "TOKEN": tokens[name], "CA": "ca.pem", "GAMES": "0"}
        return os.environ | {f"HAPPYCITY_{variable}": value for variable, value in mine.items()}

    options = ("--workers", "2", "--tokens", str(folder / "tokens.json"), *tls)
    async with (
        serving(store, *options) as server,
        started(*shlex.split(greedy), env=environment("greedy", server), cwd=folder) as playing,
    ):
        duelling = (*RUN, "--server", server)
        organiser = Access(ca=folder / "ca.pem", token=tokens["olga"])
        workers = await worker_addresses(server, Access(ca=folder / "ca.pem", token=tokens["random"]))
        assert len(workers) == 2
        for number, worker in enumerate(workers, start=1):
            await absent("random", server, organiser)  # the last worker may not have reported that yet
            async with (
                started(*RANDOM, env=environment("random", worker), cwd=folder),
                started(*duelling, env=environment("olga", server), cwd=folder, stderr=PIPE) as running,
            ):
                _, errors = await running.communicate()
                assert running.returncode == 0, errors
            assert records(store, tournament_id=number) == in_python("greedy", Mode.FAMILY)
        playing.terminate()
        assert await playing.wait() == 0


def new_token(name: str, role: str, folder: Path) -> str:
    """Return a new token of the server."""
    options = ("--role", role, "--name", name, "--tokens", "tokens.json")
    return run("happycity", "token", "create", *options, cwd=folder).stdout.strip()


async def worker_addresses(server: str, access: Access) -> list[str]:
    """Return the addresses that the welcome of a bot names."""
    async with access.channel(server, ()) as channel:
        call = PlayServiceStub(channel).Play(metadata=access.metadata)
        await call.write(play_service_pb2.PlayRequest(hello=play_service_pb2.Hello(name="random")))
        response = await call.read()
        assert isinstance(response, play_service_pb2.PlayResponse)
        await call.write(play_service_pb2.PlayRequest(goodbye=play_service_pb2.Goodbye()))
        assert await call.code() is not None
    return list(response.welcome.worker_addresses)


async def absent(name: str, server: str, access: Access) -> None:
    """Wait until a bot is connected nowhere."""
    async with access.channel(server, ()) as channel:
        bots = BotServiceStub(channel)
        connected = True
        while connected:
            listed = await bots.ListBots(bot_service_pb2.ListBotsRequest(), metadata=access.metadata)
            connected = any(bot.connected for bot in listed.bots if bot.name == name)
