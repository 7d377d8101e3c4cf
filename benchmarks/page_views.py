"""`python -m benchmarks.page_views`: how long other callers wait while a finished game is looked at by many.

A server plays one match; then another process asks for its page 200 times at once, while this one calls
GetCatalogue again and again. With `--tree` the server is that of another checkout, with its own interpreter.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import grpc

from happycity import Config
from happycity.v1 import catalogue_service_pb2 as catalogue
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1.catalogue_service_pb2_grpc import CatalogueServiceStub
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.messages import config_message

QUIET_SECONDS = 3.0
"""How long calls are timed without visitors."""
PAUSE_SECONDS = 0.02
"""Time between two calls, so that no limit is reached."""
BURSTS = 5
"""How often all ask again, so that there are enough calls meanwhile."""
VISITORS = "127.0.0.2"
"""The address from which the page is asked for: another caller's."""


async def view(url: str, views: int) -> Counter[str]:
    """Ask for a page many times at once; return how often each status came."""
    target = urlsplit(url)
    request = (
        f"GET {target.path}?{target.query} HTTP/1.1\r\nHost: {target.netloc}\r\nConnection: close\r\n"
        "Accept-Encoding: gzip\r\n\r\n"
    ).encode()

    async def ask() -> str:
        reader, writer = await asyncio.open_connection(
            target.hostname, target.port, limit=2**22, local_addr=(VISITORS, 0)
        )
        writer.write(request)
        answer = await reader.read()
        writer.close()
        return answer[9:12].decode() or "none"

    return Counter(await asyncio.gather(*(ask() for _ in range(views))))


def timed(stub: CatalogueServiceStub) -> float:
    """Return how many milliseconds a call takes, after a pause."""
    time.sleep(PAUSE_SECONDS)
    started = time.perf_counter()
    stub.GetCatalogue(catalogue.GetCatalogueRequest())
    return (time.perf_counter() - started) * 1e3


def measure(address: str, web: str, path: str, views: int) -> None:
    """Play a match, time calls without visitors and with them, and print what they took."""
    with grpc.insecure_channel(address) as channel:
        matches, stub = MatchServiceStub(channel), CatalogueServiceStub(channel)
        bots = ("greedy", "random", "greedy", "random", "greedy")
        config = config_message(Config(players=len(bots)))
        match = matches.CreateMatch(match_pb.CreateMatchRequest(config=config, bots=bots, seed=7))
        matches.WaitMatch(match_pb.WaitMatchRequest(match_id=match.match_id))
        quiet, busy = list[float](), list[float]()
        asyncio.run(view(f"{web}{path}", 1))  # the server imports what serves pages for the first visitor
        end = time.perf_counter() + QUIET_SECONDS
        while time.perf_counter() < end:
            quiet.append(timed(stub))
        viewing = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.page_views", "--visit", f"{web}{path}", "--views", str(views)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert viewing.stdout is not None
        viewing.stdout.readline()  # it begins now
        started = time.perf_counter()
        while viewing.poll() is None:
            busy.append(timed(stub))
        seconds, answers = time.perf_counter() - started, viewing.stdout.read().strip()
        print(
            f"{path}: {BURSTS} times {views} views in {seconds:.2f} s, {answers}; a call: "
            f"median {median(quiet):.1f} ms and worst {max(quiet):.0f} ms before, "
            f"median {median(busy):.1f} ms and worst {max(busy):.0f} ms meanwhile "
            f"(x{median(busy) / median(quiet):.1f}, {len(busy)} calls)"
        )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", type=Path, default=Path.cwd(), help="the server's checkout")
    parser.add_argument("--path", action="append", help="what is looked at")
    parser.add_argument("--views", type=int, default=200)
    parser.add_argument("--visit", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.visit:
        print("begins", flush=True)
        bursts = (asyncio.run(view(options.visit, options.views)) for _ in range(BURSTS))
        print(dict(sum(bursts, Counter[str]())), flush=True)
        return
    python = options.tree / ".venv/bin/python"
    for path in options.path or ["/matches/1.json", "/matches/1"]:
        with tempfile.TemporaryDirectory() as folder:
            command = [
                *(str(python), "-m", "happycity", "serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0"),
                *("--open", "--house", "random,greedy", "--stop-with-stdin", "--grace", "0"),
                *("--store", f"sqlite:///{folder}/games.sqlite", "--log", "json"),
            ]
            with (
                (Path(folder) / "log").open("w") as log,
                subprocess.Popen(
                    command,
                    cwd=options.tree,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                ) as server,
            ):
                assert server.stdin is not None
                assert server.stdout is not None
                addresses = json.loads(server.stdout.readline())
                measure(addresses["listening"], addresses["web"], path, options.views)
                server.stdin.close()


if __name__ == "__main__":
    main()
