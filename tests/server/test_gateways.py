"""Gateways as programs, and what a tournament notices when one is killed."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from structlog.testing import capture_logs
from tests.commands.programs import records
from tests.server.api.tournaments import config
from tests.server.cables import Cable
from tests.server.conftest import playing
from tests.server.gateways import gateway
from tests.server.harness import Metadata, bearer, connected, issued_token, serving, tournaments_at
from tests.server.process.test_tls import issue
from tests.server.test_workers import nothing_was_lost, over
from tests.spaces import apart

from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity_runtime.tokens import Role, add_tokens, new_token
from happycity_runtime.transport import TOKENS_VARIABLE, Access, format_tokens

BOTS = ("anna", "ben", "cara", "dan")


@asynccontextmanager
async def gateway_program(
    server: str, *options: str, at: str = "127.0.0.1", within: Sequence[str] = (), **environment: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run `happycity gateway` while the context lasts; yields the process and its address.

    It listens at a host `at`, and is started by a command `within`.
    """
    command = (sys.executable, "-m", "happycity", "gateway", "--join", server, "--listen", f"{at}:0")
    process = await asyncio.create_subprocess_exec(
        *within, *command, *options, stdout=subprocess.PIPE, env={**os.environ, **environment}
    )
    assert process.stdout is not None
    try:
        yield process, json.loads(await process.stdout.readline())["listening"]
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _played(
    channel: grpc.aio.Channel,
    made: pb.TournamentConfig,
    address: str,
    *,
    metadata: Metadata = (),
    kill: asyncio.subprocess.Process | None = None,
) -> pb.WatchTournamentResponse:
    """Play a tournament between bots that connect to an address, and kill a process in the middle of it."""
    async with playing(address, *made.bots):
        created = await tournaments_at(channel).CreateTournament(metadata, config=made)
        if kill is not None:
            await over(channel, created.tournament_id, metadata, games=3)
            kill.kill()
        return await over(channel, created.tournament_id, metadata)


@pytest.mark.level(2)
async def test_killed_gateway_changes_no_record(tmp_path: Path) -> None:
    """Bots behind two gateways play the same games as without, though one of these is killed meanwhile."""
    found, made = [], config(*BOTS, rounds=4, seed=7)
    for name, number in (("direct", 0), ("gateways", 2)):
        folder = tmp_path / name
        folder.mkdir()
        with capture_logs() as logs:
            async with serving(folder) as (server, channel):
                if not number:
                    last = await _played(channel, made, server.address)
                else:
                    async with (
                        gateway_program(server.address) as (first, one),
                        gateway(server.address) as two,
                        Cable.to(one, two) as balancer,
                    ):
                        last = await _played(channel, made, balancer.address, kill=first)
        left = [entry["bots"] for entry in logs if entry["event"] == "gateway_left"]
        assert left[:1] == ([2] if number else [])  # the one that was killed, with its bots
        assert nothing_was_lost(last, last.progress.games_total)
        found.append(records(f"sqlite:///{folder}/games.sqlite"))
    assert found[0] == found[1]


@pytest.mark.nightly
@pytest.mark.timeout(0)
async def test_one_of_two_machines_with_gateways_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """500 bots play the same games as without gateways, and none of them forfeits one."""
    if os.geteuid() or shutil.which("ip") is None:
        pytest.skip("only root makes network name spaces, by ip of iproute2")
    bots, tokens = [f"bot{number}" for number in range(500)], tmp_path / "tokens.json"
    olga = bearer(issued_token(tokens, Role.ORGANISER, "olga"))
    gate = issued_token(tokens, Role.GATEWAY, "gate")
    own = {name: new_token(Role.BOT, name, created=datetime.now(UTC)) for name in bots}
    add_tokens(tokens, [token for _, token in own.values()])
    monkeypatch.setenv(TOKENS_VARIABLE, format_tokens({name: shown for name, (shown, _) in own.items()}))
    made, found = config(*bots, rounds=1, seed=7, concurrency=250), []
    values: dict[str, Any] = {"tokens": tokens, "listen": "0.0.0.0:0", "insecure": True}
    for name in ("direct", "gateways"):
        folder = tmp_path / name
        folder.mkdir()
        with capture_logs() as logs:
            async with serving(folder, **values) as (server, _), AsyncExitStack() as stack:
                port = server.address.rpartition(":")[2]
                channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{port}"))
                address, first, behind = f"127.0.0.1:{port}", None, []
                for number in range(2 if name == "gateways" else 0):
                    here, there = (f"10.79.{number}.{end}" for end in (1, 2))
                    within = stack.enter_context(apart(f"hc{number}-{os.getpid()}", here=here, there=there))
                    program = gateway_program(
                        f"{here}:{port}", "--insecure", at=there, within=within, HAPPYCITY_TOKEN=gate
                    )
                    process, listening = await stack.enter_async_context(program)
                    first = first or process
                    behind.append(listening)
                if behind:
                    address = (await stack.enter_async_context(Cable.to(*behind))).address
                last = await _played(channel, made, address, metadata=olga, kill=first)
        left = [entry["bots"] for entry in logs if entry["event"] == "gateway_left"]
        assert left[:1] == ([250] if behind else [])
        assert nothing_was_lost(last, last.progress.games_total)
        found.append(records(f"sqlite:///{folder}/games.sqlite"))
    assert found[0] == found[1]


@pytest.mark.level(2)
async def test_gateway_joins_and_listens_with_tls(tmp_path: Path) -> None:
    """Tokens and certificates hold on both ways; SIGTERM ends the program in good order."""
    tls, tokens = issue(tmp_path, "tls"), tmp_path / "tokens.json"
    anna, token = issued_token(tokens, Role.BOT, "anna"), issued_token(tokens, Role.GATEWAY, "gate")
    files: dict[str, Any] = {"tls_cert": tls.cert, "tls_key": tls.key}
    environment = {"HAPPYCITY_TOKEN": token, "HAPPYCITY_CA": str(tls.ca)}
    options = "--tls-cert", str(tls.cert), "--tls-key", str(tls.key)
    async with serving(tmp_path, tokens=tokens, **files) as (server, _):
        joining = gateway_program(f"grpcs://{server.address}", *options, **environment)
        async with joining as (process, address), Access(ca=tls.ca).channel(f"grpcs://{address}") as channel:
            await connected(channel, "anna", bearer(anna))
            process.terminate()
            assert await process.wait() == 0


@pytest.mark.level(2)
async def test_gateway_without_the_role_ends_with_one_line(tmp_path: Path) -> None:
    """Another attempt would change nothing."""
    tokens = tmp_path / "tokens.json"
    wrong = issued_token(tokens, Role.BOT, "anna")
    async with serving(tmp_path, tokens=tokens) as (server, _):
        command = (sys.executable, "-m", "happycity", "gateway", "--join", server.address)
        process = await asyncio.create_subprocess_exec(
            *command, stderr=subprocess.PIPE, env={**os.environ, "HAPPYCITY_TOKEN": wrong}
        )
        _, error = await process.communicate()
    assert process.returncode == 2
    assert "the token's role is bot; this call needs gateway" in error.decode()
