"""Programs that know of this project no more than its contract: a caller by reflection, a bot in Ruby."""

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path

from tests.readers.conftest import read_by, tool
from tests.server.harness import serving
from tests.waiting import LIMIT, PATIENT
from tools import ROOT
from tools.install import GRPCURL

from happycity.rules.cards import CARDS

NOT_FOUND = 64 + 5
"""How grpcurl exits by that status of gRPC."""
SERVICES = {
    "grpc.health.v1.Health",
    "happycity.v1.CatalogueService",
    "happycity.v1.MatchService",
    "happycity.v1.PlayService",
}


async def test_grpcurl_lists_describes_and_calls(tmp_path: Path) -> None:
    """It has the contract by reflection alone, and shows the reasons of errors."""
    curl = tool(GRPCURL, "grpcurl")
    async with serving(tmp_path) as (server, _):

        async def asked(*words: str, status: int = 0) -> str:
            return await asyncio.to_thread(read_by, curl, "-plaintext", *words, status=status)

        assert {*(await asked(server.address, "list")).split()} >= SERVICES
        described = await asked(server.address, "describe", "happycity.v1.PlayService")
        assert "rpc Play ( stream .happycity.v1.PlayRequest )" in described
        catalogue = await asked(server.address, "happycity.v1.CatalogueService/GetCatalogue")
        assert len(json.loads(catalogue)["cards"]) == len(CARDS)
        health = await asked(server.address, "grpc.health.v1.Health/Check")
        assert json.loads(health) == {"status": "SERVING"}
        unknown = ("-d", '{"match_id": 1}', server.address, "happycity.v1.MatchService/GetMatch")
        assert "UNKNOWN_MATCH" in await asked(*unknown, status=NOT_FOUND)


def test_a_bot_in_ruby_plays(tmp_path: Path) -> None:
    """There is no SDK for Ruby, so the bot has what the generator of gRPC makes of the contract."""
    generator, ruby = tool("grpc_tools_ruby_protoc", "ruby"), tool("ruby", "ruby")
    contract = ROOT / "proto"
    sources = sorted(map(str, (contract / "happycity/v1").glob("*.proto")))
    stubs = (f"--ruby_out={tmp_path}", f"--grpc_out={tmp_path}")
    read_by(generator, f"--proto_path={contract}", *stubs, *sources)
    bot = f"ruby={shlex.join([ruby, '-I', str(tmp_path), str(Path(__file__).with_name('bot.rb'))])}"
    words = ("run", "--rounds", "2", "--seats", "2", "--bots", "random", "--bot", bot, "--no-web", "--json")
    played = subprocess.run(
        [sys.executable, "-m", "happycity_tournament", *words, *PATIENT],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True,
    )  # fmt: skip
    standings = {line["bot"]: line for line in json.loads(played.stdout)["standings"]}
    assert (standings["ruby"]["games"], standings["ruby"]["forfeits"]) == (4, 0)
