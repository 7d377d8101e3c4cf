"""Buys the most expensive card on offer in some decisions, and moves at random in the others."""

from happycity_client import Bot, Decision, Move, MoveKind, run

CARE = 0
"""In how many of four decisions it looks at the prices; negative: to do what is cheapest."""


class Careful(Bot):
    """Plays one game."""

    def choose(self, decision: Decision) -> Move:
        """Return one of the moves."""
        if self.rng.randrange(4) >= abs(CARE):
            return self.rng.choice(list(decision.moves))
        return (max if CARE > 0 else min)(decision.moves, key=price)


def price(move: Move) -> int:
    """Return how expensive a move is."""
    if move.kind is MoveKind.TAKE:
        return 100
    if move.card is None or move.kind is MoveKind.DISCARD:
        return 0
    return move.card.cost


if __name__ == "__main__":
    run(Careful)
