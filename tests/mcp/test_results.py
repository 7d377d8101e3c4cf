"""What an agent hears of games that have ended: all of them, each once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import Client
from tests.mcp.clients import Player, agents_of, joined
from tests.server.harness import serving

from happycity_mcp.decisions import KEPT_GAMES, DecisionBoard, GameResult
from happycity_mcp.server import mcp_server


@asynccontextmanager
async def agent_and_board(folder: Path) -> AsyncIterator[tuple[Player, DecisionBoard]]:
    """Let an agent join an arena; yield it with the board on which its games end."""
    async with serving(folder) as (server, _):
        agents = agents_of(server.address)
        try:
            async with Client(mcp_server(agents)) as client:
                player = await joined(client, "ann")
                with agents.using(player.key) as agent:
                    yield player, agent.board
        finally:
            await agents.close()


def end(board: DecisionBoard, *matches: int) -> None:
    for match in matches:
        board.end(
            GameResult(match=match, place=1, players=2, points=10 + match, ending="finished"), "you won"
        )


async def test_each_ended_game_is_told_once(tmp_path: Path) -> None:
    """The oldest first, in one answer; the next call has only what ended since."""
    async with agent_and_board(tmp_path) as (ann, board):
        seen = []
        for ended in ((1, 2), (), (3,), ()):
            end(board, *ended)
            update = await ann.call("wait_for_turn", timeout=0)
            seen.append((update["state"], [(one["match"], one["points"]) for one in update["results"]]))
            texts = [f"Match {match} is over: you won." for match in ended]
            assert ann.texts[-1].splitlines()[: len(texts)] == texts
            assert ann.texts[-1].count("is over") == len(texts)
        assert seen == [
            ("game_over", [(1, 11), (2, 12)]),
            ("waiting", []),
            ("game_over", [(3, 13)]),
            ("waiting", []),
        ]


async def test_a_look_at_the_position_uses_no_result_up(tmp_path: Path) -> None:
    async with agent_and_board(tmp_path) as (ann, board):
        end(board, 1)
        assert (await ann.call("get_position"))["results"] == []
        assert [one["match"] for one in (await ann.call("wait_for_turn", timeout=0))["results"]] == [1]


async def test_only_the_latest_games_wait_for_an_agent(tmp_path: Path) -> None:
    """One that never asks costs no more memory than these."""
    async with agent_and_board(tmp_path) as (ann, board):
        end(board, *range(KEPT_GAMES + 2))
        results = (await ann.call("wait_for_turn", timeout=0))["results"]
        assert [one["match"] for one in results] == [*range(2, KEPT_GAMES + 2)]
