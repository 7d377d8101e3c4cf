"""Bookkeeping beside a game: the public state, derived from its events alone."""

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter

from happycity import DWELLINGS, Card, CardKind, Deal, Event, EventKind, Mode, View
from happycity.rules.cards import HAPPY_MARKET
from happycity.rules.shuffling import reshuffle_rng, shuffled


class Ledger:
    """What an attentive onlooker writes down, who also knows the deal.

    Every event is entered by the rules' own bookkeeping; `check` compares the books with a view. What the
    specials of the expert game do to incomes and prices is not worked out here, but taken from the events.
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
        assert view.round == self.round
        assert view.coins == tuple(self.coins)
        assert self.expert or view.incomes == tuple(map(self._income_of, range(len(self.cities))))
        assert view.cities == tuple(map(tuple, self.cities))
        assert view.centre == tuple(sorted(self.centre, key=attrgetter("number")))
        assert view.specials == tuple(self.specials)
        assert view.dwellings == tuple(self.dwellings[dwelling] for dwelling in DWELLINGS)
        assert view.decks == tuple(map(len, self.decks))
        assert view.discards == tuple(tuple(sorted(pile, key=attrgetter("number"))) for pile in self.discards)

    def buildings(self) -> Counter[Card]:
        places = [self.centre, *self.decks, *self.discards, *self.cities]
        return Counter(card for place in places for card in place if card.deck)

    def _income_of(self, seat: int) -> int:
        return sum(card.income for card in self.cities[seat])

    def _round_started(self, event: Event) -> None:
        self.round += 1
        assert event == Event(EventKind.ROUND_STARTED, round=self.round)

    def _income_paid(self, event: Event) -> None:
        assert event.coins == self._income_of(_seat_of(event)) or self.expert
        assert event == Event(EventKind.INCOME_PAID, event.seat, coins=event.coins)
        self.coins[_seat_of(event)] += event.coins

    def _keep(self, event: Event) -> None:
        assert event == Event(EventKind.KEEP, event.seat)

    def _discard(self, event: Event) -> None:
        card = _only_card(event)
        self.centre.remove(card)
        self.discards[card.deck - 1].append(card)

    def _deck_rebuilt(self, event: Event) -> None:
        pile = event.deck - 1
        assert event == Event(EventKind.DECK_REBUILT, event.seat, deck=event.deck)
        assert not self.decks[pile]
        rng = reshuffle_rng(self.deal.seed, event.deck, self.rebuilt[pile])
        self.decks[pile] = shuffled(sorted(self.discards[pile], key=attrgetter("number")), rng)
        self.discards[pile] = []
        self.rebuilt[pile] += 1

    def _draw(self, event: Event) -> None:
        card = _only_card(event)
        assert self.decks[card.deck - 1].pop(0) is card
        self.centre.append(card)

    def _build(self, event: Event) -> None:
        self.centre.remove(_card_and_coins(event))
        self._buy(event)

    def _dwell(self, event: Event) -> None:
        self.dwellings[_card_and_coins(event)] -= 1
        self._buy(event)

    def _buy(self, event: Event) -> None:
        card = _card_and_coins(event)
        assert event.coins == -card.cost or self.expert
        assert event.coins <= 0
        self.coins[_seat_of(event)] += event.coins
        self.cities[_seat_of(event)].append(card)

    def _coin(self, event: Event) -> None:
        assert event == Event(EventKind.COIN, event.seat, coins=event.coins)
        assert event.coins == 1 or self.expert
        self.coins[_seat_of(event)] += event.coins

    def _take(self, event: Event) -> None:
        card = _only_card(event)
        self.specials.remove(card)
        self.cities[_seat_of(event)].append(card)

    def _market(self, event: Event) -> None:
        card = _only_card(event)
        assert card.kind is CardKind.MARKET
        assert self.round == 0
        self.cities[_seat_of(event)].append(card)

    def _effect_paid(self, event: Event) -> None:
        assert _card_and_coins(event) in self._owned()
        self.coins[_seat_of(event)] += event.coins

    def _card_lost(self, event: Event) -> None:
        card = self.cities[_seat_of(event)].pop()
        assert card is _only_card(event)
        if card.deck:
            self.discards[card.deck - 1].append(card)

    def _copy(self, event: Event) -> None:
        card = _only_card(event)
        assert card in self._owned() or card is self.deal.box[0]

    def _owned(self) -> set[Card]:
        return {card for city in self.cities for card in city}

    def _decline(self, event: Event) -> None:
        assert event == Event(EventKind.DECLINE, event.seat)


def _only_card(event: Event) -> Card:
    assert event == Event(event.kind, event.seat, event.card)
    return _card_and_coins(event)


def _seat_of(event: Event) -> int:
    """Return whose event it is."""
    assert event.seat is not None
    return event.seat


def _card_and_coins(event: Event) -> Card:
    assert event.card is not None
    assert event == Event(event.kind, event.seat, event.card, coins=event.coins)
    return event.card
