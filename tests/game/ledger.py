"""Bookkeeping beside a game: the public state, told by its events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter

from happycity import DWELLINGS, Card, CardKind, Deal, Event, EventKind, Mode, View
from happycity.cards import HAPPY_MARKET
from happycity.deals import reshuffle_rng, shuffled


class Ledger:
    """What an attentive onlooker writes down, who also knows the deal.

    Every event is entered by the rules' own bookkeeping; `check` compares the books with a view. What the
    specials of the expert game do to incomes and prices is not worked out here, but taken as told.
    """

    def __init__(self, deal: Deal) -> None:
        players = deal.config.players
        self.deal = deal
        self.round = 0
        self.coins = [2] * players
        self.expert = deal.config.mode is Mode.EXPERT
        market = [] if self.expert else [HAPPY_MARKET]
        self.cities: list[list[Card]] = [market[:] for _ in range(players)]
        self.centre: list[Card] = []
        self.specials = list(deal.specials)
        self.dwellings = Counter(dict.fromkeys(DWELLINGS, players - 1))
        self.decks = [list(deck) for deck in deal.decks]  # top card first
        self.discards: list[list[Card]] = [[], [], []]
        self.rebuilt = [0, 0, 0]

    def enter(self, events: Iterable[Event]) -> None:
        for event in events:
            getattr(self, f"_{event.kind.name.lower()}")(event)

    def check(self, view: View) -> None:
        """Assert that the view shows what the events told."""
        assert view.round == self.round
        assert view.coins == tuple(self.coins)
        assert self.expert or view.incomes == tuple(map(self._income_of, range(len(self.cities))))
        assert view.cities == tuple(map(tuple, self.cities))
        assert view.centre == tuple(sorted(self.centre, key=attrgetter("number")))
        assert view.specials == tuple(self.specials)
        assert view.dwellings == tuple(self.dwellings[dwelling] for dwelling in DWELLINGS)
        assert view.decks == tuple(map(len, self.decks))
        assert view.discards == tuple(map(len, self.discards))

    def buildings(self) -> Counter[Card]:
        """Count every building, wherever it is."""
        places = [self.centre, *self.decks, *self.discards, *self.cities]
        return Counter(card for place in places for card in place if card.deck)

    def _income_of(self, seat: int) -> int:
        return sum(card.income for card in self.cities[seat])

    def _round(self, event: Event) -> None:
        self.round += 1
        assert event == (EventKind.ROUND, 0, None, self.round)

    def _income(self, event: Event) -> None:
        assert event.amount == self._income_of(event.seat) or self.expert
        self.coins[event.seat] += event.amount

    def _keep(self, event: Event) -> None:
        assert (event.card, event.amount) == (None, 0)

    def _discard(self, event: Event) -> None:
        card = _named(event)
        self.centre.remove(card)
        self.discards[card.deck - 1].append(card)

    def _reshuffle(self, event: Event) -> None:
        pile = event.amount - 1
        assert not self.decks[pile]
        rng = reshuffle_rng(self.deal.seed, event.amount, self.rebuilt[pile])
        self.decks[pile] = shuffled(sorted(self.discards[pile], key=attrgetter("number")), rng)
        self.discards[pile] = []
        self.rebuilt[pile] += 1

    def _draw(self, event: Event) -> None:
        card = _named(event)
        assert self.decks[card.deck - 1].pop(0) is card
        self.centre.append(card)

    def _build(self, event: Event) -> None:
        self.centre.remove(_named(event))
        self._buy(event)

    def _dwell(self, event: Event) -> None:
        self.dwellings[_named(event)] -= 1
        self._buy(event)

    def _buy(self, event: Event) -> None:
        card = _named(event)
        assert event.amount == card.cost or self.expert
        self.coins[event.seat] -= event.amount
        self.cities[event.seat].append(card)

    def _coin(self, event: Event) -> None:
        self.coins[event.seat] += event.amount

    def _take(self, event: Event) -> None:
        card = _named(event)
        self.specials.remove(card)
        self.cities[event.seat].append(card)

    def _market(self, event: Event) -> None:
        card = _named(event)
        assert card.kind is CardKind.MARKET
        assert self.round == 0
        self.cities[event.seat].append(card)

    def _coins(self, event: Event) -> None:
        assert _named(event) in self._owned()
        self.coins[event.seat] += event.amount

    def _demolish(self, event: Event) -> None:
        card = self.cities[event.seat].pop()
        assert card is event.card
        if card.deck:
            self.discards[card.deck - 1].append(card)

    def _copy(self, event: Event) -> None:
        card = _named(event)
        assert card in self._owned() or card is self.deal.box[0]

    def _owned(self) -> set[Card]:
        return {card for city in self.cities for card in city}

    def _decline(self, event: Event) -> None:
        assert (event.card, event.amount) == (None, 0)


def _named(event: Event) -> Card:
    assert event.card is not None
    return event.card
