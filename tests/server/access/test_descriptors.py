"""A server whose connections hold all its file descriptors: what protects others still works."""

import asyncio
import os
import resource
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
from tests.server import harness as h
from tests.waiting import LIMIT

from happycity_runtime.tokens import Role, add_tokens, new_token
from happycity_server.access.spare_descriptors import SpareDescriptors

MOST = 256
"""Descriptors that the server of the child process may have."""


def use_up() -> None:
    """Take all file descriptors of this process, for good."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST, MOST))
    with suppress(OSError):
        while True:
            os.open(os.devnull, os.O_RDONLY)


async def revoke_without_descriptors(folder: Path) -> None:
    """Revoke tokens while no file can be opened; the first one's stream ends, and so does the second's."""
    tokens, clear, ids = folder / "tokens.json", dict[str, str](), dict[str, str]()
    for name in ("ann", "ben", "cem"):
        clear[name], token = new_token(Role.BOT, name, created=datetime.now(UTC), owner="Team 1")
        ids[name] = token.id
        add_tokens(tokens, [token])
    async with h.serving(folder, tokens=tokens) as (_, channel):
        access = h.Service(channel, "happycity.access.v1beta1.AccessService")
        streams = {name: await h.connected(channel, name, h.bearer(clear[name])) for name in ("ann", "ben")}
        for name, stream in streams.items():
            use_up()
            await access.RevokeToken(h.bearer(clear["cem"]), id=ids[name])
            ended = await h.end_of(stream)
            assert (ended.reason, ended.text) == ("REVOKED", f"the token {ids[name]} was revoked")
            refused = await h.outcome_of(access.ListTokens(h.bearer(clear[name])))
            assert refused.status is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.level(2)
def test_tokens_are_revoked_without_descriptors(tmp_path: Path) -> None:
    """In a process of its own, as nothing gives it any back."""
    command = [sys.executable, "-m", "tests.server.access.test_descriptors", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ended.returncode == 0, ended.stderr


def test_spare_descriptors_are_taken_again() -> None:
    """Several may use them at once; who is last takes them back."""
    spare = SpareDescriptors()
    kept = list(spare._kept)
    with spare.used():
        with spare.used():
            assert spare._kept == []
        assert spare._kept == []
    assert len(spare._kept) == len(kept) > 0


if __name__ == "__main__":
    asyncio.run(revoke_without_descriptors(Path(sys.argv[1])))
