"""Play random moves in a library that others wrote, and print its version and CPU microseconds a move.

    python tools/benchmarks/peer_games.py kaggle

`peers` runs it with an interpreter that has the library; it imports nothing of this project.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

SECONDS = 4.0
"""CPU seconds that each is measured for, its start left out."""
UCI = """
import sys
import chess
board = chess.Board()
for line in sys.stdin:
    word, *words = line.split()
    if word == "uci":
        print("uciok", flush=True)
    elif word == "isready":
        print("readyok", flush=True)
    elif word == "position":
        board = chess.Board()
        for move in words[2:]:
            board.push_uci(move)
    elif word == "go":
        print("bestmove", next(iter(board.legal_moves)), flush=True)
    elif word == "quit":
        break
"""
"""An engine that plays the first legal move."""


def cpu() -> float:
    """Return the CPU seconds of this process and of children that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def repeated(play: Callable[[], int]) -> float:
    """Return the CPU microseconds of a move; `play` plays a game and returns its number of moves."""
    play()
    moves, began = 0, cpu()
    while (used := cpu() - began) < SECONDS:
        moves += play()
    return 1e6 * used / moves


def kaggle() -> float:
    """Measure Connect X between the environment's own random agents, in this process."""
    from kaggle_environments import make  # noqa: PLC0415

    def play() -> int:
        game: Any = make("connectx")
        game.run(["random", "random"])
        return len(game.steps) - 1

    return repeated(play)


def pettingzoo() -> float:
    """Measure Connect Four by random legal actions, with its observations."""
    from pettingzoo.classic import connect_four_v3  # noqa: PLC0415

    game, rng = connect_four_v3.env(), random.Random(1)

    def play() -> int:
        game.reset(seed=1)
        moves = 0
        for _ in game.agent_iter():
            observation, _, termination, truncation, _ = game.last()
            done = termination or truncation
            legal = [action for action, allowed in enumerate(observation["action_mask"]) if allowed]
            game.step(None if done else rng.choice(legal))
            moves += not done
        return moves

    return repeated(play)


def chess() -> float:
    """Measure python-chess: two engines as processes that speak UCI, a position and a move a message."""
    import chess as board_game  # noqa: PLC0415
    import chess.engine as engines  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "engine.py"
        program.write_text(UCI)

        def play(moves: int) -> float:
            began = cpu()
            players = [engines.SimpleEngine.popen_uci([sys.executable, str(program)]) for _ in range(2)]
            board, rng = board_game.Board(), random.Random(1)
            for number in range(moves):
                if board.is_game_over() or number % 80 == 0:
                    board = board_game.Board()
                if number % 80 < 10:  # a game of its own each time
                    board.push(rng.choice(list(board.legal_moves)))
                result = players[number % 2].play(board, engines.Limit(depth=1))
                board.push(result.move)
            for player in players:
                player.quit()
            return cpu() - began

        return 1e6 * (play(3000) - play(300)) / 2700


if __name__ == "__main__":
    measures = {"kaggle-environments": kaggle, "pettingzoo": pettingzoo, "chess": chess}
    name = sys.argv[1]
    print(json.dumps({"version": version(name), "microseconds": measures[name]()}))
