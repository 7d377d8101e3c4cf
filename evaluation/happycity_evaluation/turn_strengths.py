"""How strong the seats are after each choice of a turn, by the champion's network."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from happycity import View
from happycity_evaluation.features import Frame, purchases, waiting_rows
from happycity_evaluation.valuation import cities_of

if TYPE_CHECKING:
    from happycity_evaluation.network import Network

WEIGHTS = "champion.npz"
"""The file of the network's weights, in this package: integers, made by `python -m tools train`."""
CONFIDENCE = 8
"""Trials that the network's first judgement counts as."""


@cache
def champions_network() -> Network:
    """Return the network whose weights come with the package."""
    # Imported here, as numpy takes long to import and the other reference bots do without it.
    from happycity_evaluation.network import Network  # noqa: PLC0415

    return Network.load(files("happycity_evaluation") / WEIGHTS)


class TurnStrengths(NamedTuple):
    """How strong the seats are after one turn, by what is bought in it: a single pass of the network."""

    before: list[float]
    """All seats before the turn."""
    own: dict[int, float]
    """The acting seat after each purchase that it can pay for, by the card's number; 0 for the coin."""
    next: dict[int, float]
    """The next seat after each purchase in its own turn, alike."""
    after_purchase: list[float]
    """The seats but the acting one, in their order, if it has bought a card; empty unless asked for."""
    after_coin: list[float]
    """The same if it has taken a coin."""

    @classmethod
    def of(cls, view: View, network: Network, *, rivals_after: bool) -> TurnStrengths:
        """Compute the strengths of one turn; they don't depend on the cards in the centre.

        With `rivals_after` also those of the other seats after the turn.
        """
        cities, seat, players = cities_of(view), view.seat, len(view.cities)
        before = Frame.before_turn(view)
        idle, bought = before.after_turn(seat, bought=0), before.after_turn(seat, bought=1)
        follower = (seat + 1) % players
        frame, coins = bought, view.coins[follower]
        if follower == 0:  # its next turn is in the next round
            frame, coins = bought.next_round(), coins + view.incomes[follower]
        own = purchases(view, seat, view.coins[seat], before, cities)
        their = purchases(view, follower, coins, frame, cities)
        rows, frames = own.rows + their.rows, [before, bought, idle] if rivals_after else [before]
        for rival in range(players):
            if rival != seat:
                rows += waiting_rows(view, rival, frames, cities)
        strengths = network.strengths(rows + waiting_rows(view, seat, [before], cities))
        waiting = strengths[len(own.rows) + len(their.rows) : -1]
        standing, *after = [waiting[number :: len(frames)] for number in range(len(frames))]
        standing.insert(seat, strengths[-1])
        return cls(
            before=standing,
            own=dict(zip(own.numbers, strengths, strict=False)),
            next=dict(zip(their.numbers, strengths[len(own.rows) :], strict=False)),
            after_purchase=after[0] if after else [],
            after_coin=after[1] if after else [],
        )


def lead(own: float, other: float) -> float:
    """Return how surely a seat of strength `own` ends before one of strength `other`, from -1 to 1."""
    apart = own - other
    return apart / sqrt(1 + apart * apart)
