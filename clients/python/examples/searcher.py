"""A bot that searches with the native engine: it plays moves out in sampled worlds, good ones most often.

Sequential halving: the playouts of a decision are shared among a few stages, and after each the worse half of
the moves is dropped. All moves are tried in the same worlds, so that luck cancels out. The worlds' seeds
count up from the game's, so `happycity ask` repeats each choice.
"""

from happycity import Move
from happycity_client import Bot, Decision, run

PLAYOUTS = 800
"""Playouts of all moves of a decision together, at most."""


class Searcher(Bot):
    """Chooses the move that did best."""

    def choose(self, decision: Decision) -> Move:
        """Return the best move by sequential halving."""
        worth = dict.fromkeys(decision.moves, 0.0)
        alive = list(worth)
        stages = (len(alive) - 1).bit_length()
        seed = self.start.seed
        for _ in range(stages):
            for _ in range(PLAYOUTS // (stages * len(alive))):
                seed = (seed + 1) % 2**64
                world = decision.position(seed=seed)
                for move in alive:
                    worth[move] += world.playout(move.index)
            alive.sort(key=worth.__getitem__, reverse=True)
            del alive[(len(alive) + 1) // 2 :]
        return alive[0]


if __name__ == "__main__":
    run(Searcher)
