"""The champion: it values positions by a network that has learnt from games of itself and other bots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import sqrt
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from happycity import Game, Move, Outcome, View
from happycity_bots.features import Frame, position_rows, purchases, takings, waiting_rows
from happycity_bots.halving import Budget, halve, prune
from happycity_bots.planner import PlannerBot, Situation
from happycity_bots.quick import quick_move
from happycity_bots.valuation import STACKS, UNAFFORDABLE, Appraisal, cities_of
from happycity_client import GameStarted

if TYPE_CHECKING:
    from happycity_bots.network import Network

WEIGHTS = "champion.npz"
"""The file of the network's weights, in this package: integers, made by `python -m tools train`."""
DENIAL = 0.6
"""How likely it is that the next player buys the best card that is left to it, and not one that it draws."""
NEAR = 0.1
"""How far behind the best move another one may be to be tried; 2 is from the last place to the first."""
MOST = 4
"""Moves that are tried, at most."""
CONFIDENCE = 8
"""Trials that the network's first judgement counts as."""

_CARDS_ON_SALE = STACKS[-1]


@cache
def champions_network() -> Network:
    """Return the network whose weights come with the package."""
    # Imported here, as numpy takes long to import and the other reference bots do without it.
    from happycity_bots.network import Network  # noqa: PLC0415

    return Network.load(files("happycity_bots") / WEIGHTS)


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


class Prospect(Situation):
    """One turn's choices, weighed by the place at the end: own gain less what is left to the next player.

    Worth is measured from -1, the last place, to 1, the first one.
    """

    def __init__(self, view: View, network: Network) -> None:
        strengths = TurnStrengths.of(view, network, rivals_after=True)
        on_sale = {0, *[card.number for card in view.centre]}
        level = max([strength for number, strength in strengths.own.items() if number in on_sale])
        self.own = _own_gains(
            strengths.own, after_purchase=strengths.after_purchase, after_coin=strengths.after_coin
        )
        self.next = _others_gains(strengths.next, level, rivals=len(view.cities) - 1)
        self._denial = DENIAL
        self._own_dwelling = self.own.best_dwelling(view)
        self._next_dwelling = self.next.best_dwelling(view)
        self._best_upsides = {}


def _own_gains(
    strengths: dict[int, float], *, after_purchase: Sequence[float], after_coin: Sequence[float]
) -> Appraisal:
    """Return what each purchase adds to the own place."""
    gains = [0.0] + [UNAFFORDABLE] * _CARDS_ON_SALE
    idle = mean_lead(strengths.pop(0), after_coin)
    for number, strength in strengths.items():
        gains[number] = mean_lead(strength, after_purchase) - idle
    return Appraisal(idle, gains)


def _others_gains(strengths: dict[int, float], level: float, *, rivals: int) -> Appraisal:
    """Return what each purchase of another seat takes from the place of one whose strength is `level`."""
    gains = [0.0] + [UNAFFORDABLE] * _CARDS_ON_SALE
    idle = lead(level, strengths.pop(0))
    for number, strength in strengths.items():
        gains[number] = (idle - lead(level, strength)) / rivals
    return Appraisal(idle, gains)


class ChampionBot(PlannerBot):
    """Play for the place at the end, by a network that has learnt from many games how likely each one is."""

    network: ClassVar[Network | None] = None
    """The network to play by; None: the one that comes with the package."""
    budget = Budget(playouts=48)

    def __init__(self, start: GameStarted, *, budget: Budget | None = None) -> None:
        super().__init__(start)
        self._network = self.network or champions_network()
        if budget is not None:
            self.budget = budget

    def buy(self, situation: Situation, view: View, moves: tuple[Move, ...]) -> Move:
        """Return the purchase that does best at once and a round later."""
        return self._tried(view, moves, situation.buys(view, moves))

    def take(self, view: View, moves: tuple[Move, ...]) -> Move:
        """Return the special, or `decline`, that does best at once and a round later."""
        cities, seat = cities_of(view), view.seat
        before = Frame.before_turn(view)
        rows = takings(view, [move.card for move in moves if move.card is not None], before, cities)
        for rival in range(len(view.cities)):
            if rival != seat:
                rows += waiting_rows(view, rival, [before.after_turn(seat, bought=1)], cities)
        strengths = self._network.strengths(rows)
        rivals = strengths[len(moves) :]
        return self._tried(view, moves, [mean_lead(own, rivals) for own in strengths[: len(moves)]])

    def _appraised(self, view: View) -> Situation:
        if self._situation is None or self._round != view.round:
            self._situation, self._round = Prospect(view, self._network), view.round
        return self._situation

    def _tried(self, view: View, moves: tuple[Move, ...], values: Sequence[float]) -> Move:
        candidates = prune(moves, values, near=NEAR, most=MOST)
        return halve(
            view, candidates, self._round_later, budget=self.budget, confidence=CONFIDENCE, rng=self.rng
        )

    def _round_later(self, world: Game, moves: Sequence[Move]) -> list[float]:
        """Return the worth of the position before the own next turn, after each move."""
        seat, played, players = world.seat, world.round, world.config.players
        rows: list[list[float]] = []
        ended: list[float | None] = []
        for move in moves:
            game = world.copy()
            game.apply(move)
            while game.outcome is None and (game.seat != seat or game.round == played):
                game.apply(quick_move(game))
            if game.outcome is None:
                rows += position_rows(game.view())
            ended.append(None if game.outcome is None else _place_value(game.outcome, seat))
        strengths = iter(self._network.strengths(rows) if rows else ())
        values = []
        for value in ended:
            if value is not None:
                values.append(value)
            else:
                seats = [next(strengths) for _ in range(players)]
                values.append(mean_lead(seats.pop(seat), seats))
        return values


def lead(own: float, other: float) -> float:
    """Return how surely a seat of strength `own` ends before one of strength `other`, from -1 to 1."""
    apart = own - other
    return apart / sqrt(1 + apart * apart)


def mean_lead(own: float, others: Sequence[float]) -> float:
    """Return the expected place of a seat among others: 1 for the first, -1 for the last."""
    return sum([lead(own, other) for other in others]) / len(others)


def _place_value(outcome: Outcome, seat: int) -> float:
    """Return the place of a seat, as `happycity.selfplay.Reward.RANK`, which imports numpy."""
    own, ranks = outcome.ranks[seat], outcome.ranks
    return sum([(own < rank) - (own > rank) for rank in ranks]) / (len(ranks) - 1)
