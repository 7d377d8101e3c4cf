"""Buys the most expensive card on offer, and takes any special."""

from happycity_client import Bot, Decision, Move, MoveKind, run


class First(Bot):
    """Plays one game: there is an instance for each."""

    def choose(self, decision: Decision) -> Move:
        """Return one of the moves: the first, which is the neutral one, if nothing can be bought."""
        return max(decision.moves, key=price)


def price(move: Move) -> int:
    """Return how expensive a move is."""
    if move.kind is MoveKind.TAKE:
        return 100
    if move.card is None or move.kind is MoveKind.DISCARD:
        return 0
    return move.card.cost


if __name__ == "__main__":
    run(First)
