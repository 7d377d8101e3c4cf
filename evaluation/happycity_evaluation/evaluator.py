"""What a position is worth to each seat: its expected place, by the champion's network or by rules.

A place counts from 1, and seats that share places share their mean. All values follow from what every seat
has seen, so they are the same for the same position, whatever the hidden order of the cards is.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice
from operator import add, itemgetter
from typing import Final, NamedTuple, TypeVar

from happycity import Card, Game, Move, View
from happycity.records.record import dumps, state_json
from happycity.rules.cards import BUILDINGS, CARDS, DWELLINGS, CardKind
from happycity.rules.cities import Cities
from happycity.rules.deals import CENTRE_SIZE, CITY_SIZE, LAST_ROUND
from happycity.rules.scoring import points_of, shared_places
from happycity.rules.views import Phase
from happycity_evaluation.features import Frame
from happycity_evaluation.network import Network
from happycity_evaluation.quick import quick_move
from happycity_evaluation.turn_strengths import CONFIDENCE, TurnStrengths, champions_network, lead
from happycity_evaluation.valuation import DECKS, SECOND_DRAW, STACKS, appraise, cities_of

_T = TypeVar("_T")

ExpectedPlaces = tuple[float, ...]
"""The expected place of each seat, from 1 (first) to the number of seats."""

SHARPNESS: Final = 0.2
"""By how much more strengths between turns count for each turn until a city is full.

The network knows good bots, and trusts leads too little, most of all early ones. Found so that
`python -m tools luck-checks reliability` shows the least errors in other games.
"""
LEFT: Final = 0.3
"""The share of what is left on sale that counts for the next seat, found as `SHARPNESS`."""
_COIN: Final = 0


def mean(values: Sequence[float]) -> float:
    """Return the mean; `statistics.fmean` takes three times as long for a few numbers."""
    return sum(values) / len(values)


class Offers:
    """What the cards on sale are worth to one seat: a number for each that it can buy, and for the coin."""

    def __init__(self, values: dict[int, float], dwellings: Iterable[int]) -> None:
        self._values = values
        self.floor = max([values[_COIN], *[values[n] for n in dwellings if n in values]])
        """What the seat has without any building."""
        self._decks = [sorted([values.get(n, self.floor) for n in deck]) for deck in DECKS]
        self._sums = [[0.0, *accumulate(reversed(deck))] for deck in self._decks]

    def best(self, centre: Iterable[int]) -> tuple[float, int]:
        """Return the value of the best offer, and the building that is bought, or 0."""
        value, pick = self.floor, _COIN
        for number in centre:
            offer = self._values.get(number)
            if offer is not None and offer > value:
                value, pick = offer, number
        return value, pick

    def drawn(self, value: float) -> list[float]:
        """Return the best offer after each card of the best deck to draw from, if it is `value` before."""
        return max([[max(value, other) for other in deck] for deck in self._decks], key=mean)

    def expected(self, value: float, draws: int) -> float:
        """Return the best offer to expect after some draws if it is `value` before."""
        if not draws:
            return value
        most = 0.0
        for deck, sums in zip(self._decks, self._sums, strict=True):
            better = len(deck) - bisect_right(deck, value)
            most = max(most, (sums[better] - value * better) / len(deck))
        return value + most * (1 + SECOND_DRAW * (draws - 1))


def _without(centre: Sequence[int], pick: int) -> list[int]:
    """Return the centre without one copy of a card that is bought."""
    left = list(centre)
    if pick:
        left.remove(pick)
    return left


class NetworkTurn:
    """A turn by the network: its judgement of the position, and what the offers change in it.

    The network knows a position between turns, without the centre. So the acting seat gains by which its best
    offer surpasses a usual one, and the next seat by the share `LEFT` of what is left to it.
    """

    def __init__(self, view: View, network: Network) -> None:
        strengths = TurnStrengths.of(view, network, rivals_after=False)
        dwellings = _dwellings(view.dwellings)
        self._seat, self._next = view.seat, (view.seat + 1) % len(view.cities)
        frame = Frame.before_turn(view)
        factor = 1 + SHARPNESS * min([frame.turns(seat) for seat in range(len(view.cities))])
        self._before = [factor * strength for strength in strengths.before]
        self._own, self._others = Offers(strengths.own, dwellings), Offers(strengths.next, dwellings)
        self._usual = [offers.expected(offers.floor, 2) for offers in (self._own, self._others)]
        self._left: dict[float, float] = {}

    def places(self, centre: Sequence[int], draws: int) -> ExpectedPlaces:
        """Return the places expected when `centre` lies in the centre and that many draws are to come."""
        value, pick = self._own.best(centre)
        left, _ = self._others.best(_without(centre, pick))
        gain = self._left.get(left)
        if gain is None:
            gain = self._left[left] = LEFT * (self._others.expected(left, 1) - self._usual[1])
        strengths = self._before[:]
        strengths[self._seat] += self._own.expected(value, draws) - self._usual[0]
        strengths[self._next] += gain
        return places_by(strengths, lead)


class LastTurn:
    """A turn of the last round by the rules: the points that each seat can still reach.

    The seats before have their points, the acting one chooses among the cards on sale, and later ones draw.
    """

    def __init__(self, game: Game) -> None:
        view = game.view()
        cities, seats = Cities.of_view(view), range(game.config.players)
        dwellings = _dwellings(view.dwellings)
        self._seat = game.seat
        self._reached = [[_mark(cities, seat)] for seat in seats]
        self._offers = {
            seat: Offers(_final_marks(cities, seat, game.specials), dwellings) for seat in seats[game.seat :]
        }
        for seat, offers in self._offers.items():
            self._reached[seat] = offers.drawn(offers.floor)

    def places(self, centre: Sequence[int], draws: int) -> ExpectedPlaces:
        """Return the places expected, by the points that can be reached; see `NetworkTurn.places`."""
        own = self._offers[self._seat]
        value, pick = own.best(centre)
        reached = self._reached[:]
        reached[self._seat] = own.drawn(value) if draws else [value]
        after = self._offers.get(self._seat + 1)
        if after is not None:
            reached[self._seat + 1] = after.drawn(after.best(_without(centre, pick))[0])
        return places_by(list(map(sorted, reached)), _mean_lead)


def places_by(strengths: Sequence[_T], compared: Callable[[_T, _T], float]) -> ExpectedPlaces:
    """Return the places that follow from how surely each seat ends before each other one, from -1 to 1."""
    places = [(len(strengths) + 1) / 2] * len(strengths)
    for seat, own in enumerate(strengths):
        for other in range(seat):
            half = compared(own, strengths[other]) / 2
            places[seat] -= half
            places[other] += half
    return tuple(places)


def _mean_lead(own: Sequence[float], other: Sequence[float]) -> float:
    """Return by how much more often one of some results is better than one of others; both are sorted."""
    total = 0
    for result in own:
        total += bisect_left(other, result) + bisect_right(other, result) - len(other)
    return total / (len(own) * len(other))


_PER_COIN: Final = 1e-3
"""Coins decide between equal points (article 4.4)."""


def _mark(cities: Cities, seat: int) -> float:
    """Return a seat's points with coins behind the decimal point if the game ended now."""
    return points_of(cities, seat) + _PER_COIN * cities.coins[seat]


def _final_marks(cities: Cities, seat: int, specials: Sequence[Card]) -> dict[int, float]:
    """Return what a seat has at the end after each purchase that it can pay for in its last turn."""
    coins, prices = cities.coins[seat], cities.prices[seat]
    marks = {}
    for number in (_COIN, *_ON_SALE):
        bought = cities.copy()
        if number == _COIN:
            bought.coins[seat] += cities.coin_gain(seat)
        elif prices[number] > coins or cities.owned[seat] >> number & 1:
            continue
        elif len(cities.cards[seat]) == CITY_SIZE:
            break
        else:
            bought.add(seat, CARDS[number - 1])
            bought.coins[seat] -= prices[number]
        ends = [bought]
        if bought.special_at[seat] < 0 and len(bought.cards[seat]) < CITY_SIZE:
            ends += [bought.with_cards(seat, special) for special in bought.eligible(seat, specials)]
        marks[number] = max([_mark(end, seat) for end in ends])
    return marks


_ON_SALE: Final = tuple(card.number for card in (*BUILDINGS, *DWELLINGS))


def _dwellings(stacks: Sequence[int]) -> list[int]:
    """Return the numbers of the dwellings of which there are some left."""
    return [number for number, left in zip(STACKS, stacks, strict=True) if left]


class SeatValue(NamedTuple):
    """What a position is worth to a seat."""

    place: float
    """The expected place, from 1; a shared place counts as the mean of the places that it fills."""
    points: float
    """The expected points at the end: the planner's estimate, as the network knows places only."""


class MoveValue(NamedTuple):
    """A legal move, and what is to be expected after it."""

    move: Move
    places: ExpectedPlaces


class Evaluator:
    """Values positions; the same network, playouts and seed give the same values for the same position.

    With a number of playouts, purchases and specials are tried as the champion tries them: a round later, in
    the same sampled worlds for all moves, where the network's judgement counts as `CONFIDENCE` trials.
    """

    def __init__(self, network: Network | None = None, *, playouts: int = 0, seed: int = 0) -> None:
        self._network = network or champions_network()
        self.playouts = playouts
        """Playouts for each purchase and special."""
        self._seed = seed
        self._turns: dict[View, NetworkTurn | LastTurn] = {}

    @property
    def digest(self) -> str:
        """What identifies the values: a hash of weights and settings, 12 hexadecimal digits."""
        settings = f"{_VERSION} {self._network.digest} {self.playouts} {self._seed}"
        return hashlib.sha256(settings.encode()).hexdigest()[:12]

    def values(self, game: Game) -> list[SeatValue]:
        """Return what a position is worth to each seat; an open game may await a card.

        With playouts, these are the values after the acting seat's best move.
        """
        view = game.view()
        if game.outcome is not None:
            return list(map(SeatValue, shared_places(game.outcome.ranks), map(float, game.outcome.points)))
        places = self.places(game)
        if self.playouts and game.legal_moves:
            places = min([value.places for value in self.moves(game)], key=itemgetter(game.seat))
        cities = cities_of(view)
        seats = zip(places, view.coins, strict=True)
        return [
            SeatValue(place, appraise(view, seat, coins, cities).points)
            for seat, (place, coins) in enumerate(seats)
        ]

    def moves(self, game: Game) -> list[MoveValue]:
        """Return what is to be expected after each legal move, in the order of `legal_moves`."""
        known, tried = game.opened(), game.phase in (Phase.BUY, Phase.SPECIAL) and self.playouts > 0
        moves = known.legal_moves
        totals = [self._after(known, move) for move in moves]
        if tried:
            sums = [[place * CONFIDENCE for place in places] for places in totals]
            view = game.view()
            rng = random.Random(f"happycity evaluator {self._seed} {dumps(state_json(view))}")
            trials = max(1, self.playouts // len(moves))
            for world in islice(Game.worlds(view, rng), trials):
                for number, move in enumerate(moves):
                    sums[number] = list(map(add, sums[number], self._round_later(world, move)))
            totals = [tuple([place / (CONFIDENCE + trials) for place in places]) for places in sums]
        return list(map(MoveValue, moves, totals))

    def after_cards(self, game: Game, cards: Sequence[Card]) -> list[ExpectedPlaces]:
        """Return the places expected after each of the cards that an open game awaits."""
        if cards[0].kind is CardKind.SPECIAL:
            return [_after_copy(game, card) for card in cards]
        turn = self._turn_of(game)
        draws = CENTRE_SIZE - len(game.centre) - 1
        known = {card: turn.places([*game.centre, card.number], draws) for card in dict.fromkeys(cards)}
        return [known[card] for card in cards]

    def _turn_of(self, game: Game) -> NetworkTurn | LastTurn:
        """Return the turn, which is the same until something is bought, whatever is drawn before."""
        view = game.view()._replace(centre=(), decks=(), discards=(), phase=Phase.DRAW)
        turn = self._turns.pop(view, None)
        if turn is None:
            # A seat that can fill its city nearly always does.
            may_fill = CITY_SIZE - 1 in map(len, view.cities[view.seat :])
            is_last = may_fill or game.cities.longest == CITY_SIZE or game.round == LAST_ROUND
            turn = LastTurn(game) if is_last else NetworkTurn(view, self._network)
            if len(self._turns) == _KEPT:
                del self._turns[next(iter(self._turns))]
        self._turns[view] = turn
        return turn

    def _after(self, game: Game, move: Move) -> ExpectedPlaces:
        after = game.copy()
        after.apply(move)
        return self.places(after)

    def places(self, game: Game) -> ExpectedPlaces:
        """Return the places expected by the network, or at the end by the rules.

        An open game may await a card.
        """
        if game.outcome is not None:
            return shared_places(game.outcome.ranks)
        if awaited := game.awaited:
            return tuple([mean(of_seat) for of_seat in zip(*self.after_cards(game, awaited), strict=True)])
        if game.phase is Phase.MARKET:
            return self._after(game, quick_move(game))
        if game.phase in (Phase.SPECIAL, Phase.SPHINX):
            known = game.opened()
            return min([self._after(known, move) for move in known.legal_moves], key=itemgetter(game.seat))
        draws = 0 if game.phase is Phase.BUY else CENTRE_SIZE - len(game.centre)
        if game.phase is Phase.DISCARD:
            draws = max(1, draws)  # a full centre has a card to make way for a draw
        return self._turn_of(game).places(game.centre, draws)

    def _round_later(self, world: Game, move: Move) -> ExpectedPlaces:
        """Return the places expected before the own next turn, all seats playing quickly until then."""
        game, seat, played = world.copy(), world.seat, world.round
        game.apply(move)
        while game.outcome is None and (game.seat != seat or game.round == played):
            game.apply(quick_move(game))
        return self.places(game)


_KEPT: Final = 256
"""Turns that are remembered, the latest used: those of one game, with what its moves could have led to."""
_VERSION: Final = 5
"""It goes up whenever the same weights and settings give other values."""


def _after_copy(game: Game, card: Card) -> ExpectedPlaces:
    ended = game.copy()
    ended.reveal(card)
    assert ended.outcome is not None
    return shared_places(ended.outcome.ranks)
