"""The rules engine: a game of Happy City, from the deal to the outcome.

The state is small integers and shared tuples, so `copy` is cheap; cards and moves are interned objects
outside. Nothing here does I/O, reads a clock or draws randomness that wasn't passed in.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import attrgetter

from happycity import moves as m
from happycity.cards import (
    CARDS,
    DWELLINGS,
    HAPPY_MARKET,
    Card,
    CardKind,
    Colour,
    Mode,
    deck_cards,
)
from happycity.deals import DECKS, MAX_SEED, Config, Deal, Scoring, reshuffle_rng, shuffled
from happycity.effects import EFFECTS, Effect
from happycity.errors import ConfigError, DealError, IllegalMoveError
from happycity.moves import Move, MoveKind
from happycity.views import Event, EventKind, Phase, View

START_COINS = 2
CITY_SIZE = 10
CENTRE_SIZE = 3
LAST_ROUND = 30

# Tables by card number, so that the inner loop touches integers only.
_CARD: tuple[Card, ...] = (HAPPY_MARKET, *CARDS)  # number 0 is nobody's
_PRINTED_PRICES: tuple[int, ...] = tuple(card.cost for card in _CARD)
_INCOME = tuple(card.income for card in _CARD)
_PILE = tuple(card.deck - 1 for card in _CARD)
_DWELLING_NUMBERS = tuple(card.number for card in DWELLINGS)
_STACKS = range(len(DWELLINGS))
_STACK = {card.number: stack for stack, card in enumerate(DWELLINGS)}

# A city's cards by colour are counted in one integer, five bits a colour (a count is at most 10, the
# fifth bit is spare). A condition is met if subtracting it borrows from no spare bit.
_ONE_OF = tuple(1 << 5 * (card.colour - 1) if card.colour else 0 for card in _CARD)
_SPARE_BITS = sum(16 << 5 * (colour - 1) for colour in Colour)
_CONDITION = tuple(sum(n << 5 * (colour - 1) for colour, n in card.condition.items()) for card in _CARD)

# Members of an enum, bound once: looking one up in its class costs as much as a whole step.
_DISCARD_PHASE, _DRAW_PHASE, _BUY_PHASE, _SPECIAL_PHASE = Phase.DISCARD, Phase.DRAW, Phase.BUY, Phase.SPECIAL
_BUILT, _DWELT = EventKind.BUILD, EventKind.DWELL


@cache
def _event(kind: EventKind, seat: int, number: int, amount: int) -> Event:
    """Return an event. They are made once: a few thousand are all there are."""
    return Event(kind, seat, _CARD[number] if number else None, amount)


def _by_seat(kind: EventKind) -> tuple[Event, ...]:
    return tuple(_event(kind, seat, 0, 0) for seat in range(5))


def _by_seat_and_card(kind: EventKind) -> tuple[tuple[Event, ...], ...]:
    return tuple(tuple(_event(kind, seat, number, 0) for number in range(len(_CARD))) for seat in range(5))


_KEPT, _DECLINED = _by_seat(EventKind.KEEP), _by_seat(EventKind.DECLINE)
_DISCARDED, _DREW = _by_seat_and_card(EventKind.DISCARD), _by_seat_and_card(EventKind.DRAW)
_TOOK = _by_seat_and_card(EventKind.TAKE)

_ALL_DRAWS = tuple(m.DRAW[deck] for deck in DECKS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended by the rules alone, per seat (articles 4.2-4.4)."""

    points: tuple[int, ...]
    coins: tuple[int, ...]
    inhabitants: tuple[int, ...]
    hearts: tuple[int, ...]
    ranks: tuple[int, ...]
    """1 is first; equal seats share a place and the places after it stay empty (1, 2, 2, 4)."""


def rank(scores: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return each seat's place, highest score first, equal scores sharing it (article 4.4)."""
    return tuple(1 + sum(other > score for other in scores) for score in scores)


@cache
def _discard_moves(centre: tuple[int, ...]) -> tuple[Move, ...]:
    """List keep, then the distinct cards to discard; there are a few thousand centres in all."""
    return (m.KEEP, *[m.DISCARD[number] for number in sorted(set(centre))])


class Game:
    """One game. `legal_moves` is empty exactly when `outcome` is there."""

    __slots__ = (
        "_centre",
        "_cities",
        "_coins",
        "_colours",
        "_decks",
        "_discards",
        "_dwellings",
        "_effects",
        "_ending",
        "_has_special",
        "_log",
        "_owned",
        "_prices",
        "_printed_income",
        "_rebuilt",
        "_seed",
        "_specials",
        "config",
        "legal_moves",
        "outcome",
        "phase",
        "reshuffles",
        "round",
        "seat",
    )

    config: Config
    round: int
    """The running round, 1 to 30."""
    seat: int
    """Whose decision it is."""
    phase: Phase
    legal_moves: tuple[Move, ...]
    """What the seat may choose from, in a fixed order: two or more moves, or none when the game is over."""
    outcome: Outcome | None
    reshuffles: list[tuple[int, tuple[Card, ...]]]
    """Decks rebuilt so far, in order: the deck (1-3) and its new order, top card first."""

    def __init__(self, deal: Deal) -> None:
        """Set the table (chapter 2) and play up to the first decision.

        Raises:
            ConfigError: the deal is for the expert game, which this version doesn't play yet.
        """
        config = deal.config
        if config.mode is Mode.EXPERT:
            raise ConfigError("mode: the expert game is not playable in this version, use family")
        players = config.players
        self.config = config
        self.round = 0
        self.seat = 0
        self.phase = Phase.DISCARD
        self.legal_moves = ()
        self.outcome = None
        self.reshuffles = []
        self._seed = deal.seed
        # The top card is last, where taking it is cheap.
        self._decks = [[card.number for card in reversed(deck)] for deck in deal.decks]
        self._discards: list[list[int]] = [[], [], []]
        self._rebuilt = [0, 0, 0]
        self._centre: list[int] = []  # in table order
        self._specials = deal.specials
        self._dwellings = [players - 1] * len(DWELLINGS)
        self._coins = [START_COINS] * players
        self._cities: list[tuple[Card, ...]] = [()] * players
        self._owned = [0] * players  # bit n: a card with number n is in the city
        self._colours = [0] * players  # see _ONE_OF
        self._printed_income = [0] * players
        self._prices: list[Sequence[int]] = [_PRINTED_PRICES] * players  # by card number
        self._has_special = [False] * players
        self._effects: tuple[tuple[int, int, Effect], ...] = ()  # seat, position, effect
        self._ending = False
        self._log: list[Event] = []
        for seat in range(players):
            self._add(seat, HAPPY_MARKET)
        self._start_round()

    @classmethod
    def deal(cls, config: Config, *, seed: int) -> Game:
        """Start a game on the deal that `seed` shuffles."""
        return cls(Deal.shuffle(config, seed=seed))

    # What a caller may see -----------------------------------------------------------------------------

    @property
    def events(self) -> tuple[Event, ...]:
        """What the last `apply` (or the set-up) brought about, up to the decision that waits now."""
        return tuple(self._log)

    @property
    def neutral_move(self) -> Move:
        """The move of a seat that doesn't choose: keep, the lowest deck, coin or decline."""
        return self.legal_moves[0]

    def price(self, seat: int, card: Card) -> int:
        """Return the coins that `seat` would pay for `card` now, after discounts (article 3.7)."""
        return self._prices[seat][card.number]

    def income(self, seat: int) -> int:
        """Return the coins that `seat` would gain in an income phase held now (article 3.1)."""
        income = self._printed_income[seat]
        if self._effects:
            for owner, position, effect in self._effects:
                if owner == seat and effect.income is not None:
                    income += effect.income(self, seat, position)
        return income

    def incomes(self) -> tuple[int, ...]:
        """Return every seat's income."""
        if self._effects:
            return tuple(self.income(seat) for seat in range(self.config.players))
        return tuple(self._printed_income)

    def view(self) -> View:
        """Return what any seat may know (chapter 7)."""
        decks, discards = self._decks, self._discards
        return View(
            self.config,
            self.round,
            self.seat,
            self.phase,
            tuple(self._coins),
            self.incomes(),
            tuple(self._cities),
            tuple([_CARD[number] for number in self._centre]),
            self._specials,
            tuple(self._dwellings),
            (len(decks[0]), len(decks[1]), len(decks[2])),
            (len(discards[0]), len(discards[1]), len(discards[2])),
        )

    # Playing -------------------------------------------------------------------------------------------

    def apply(self, move: Move) -> None:
        """Play `move` for the seat to decide, then every forced move up to the next decision (5.1).

        Raises:
            IllegalMoveError: `move` is not among `legal_moves`; nothing has changed.
        """
        if move not in self.legal_moves:
            raise IllegalMoveError(move, self.legal_moves)
        self._log = []
        _PLAY[move.kind](self, move)

    def copy(self) -> Game:
        """Return an independent game in the same position, hidden orders included."""
        twin = Game.__new__(Game)
        twin.config = self.config
        twin.round = self.round
        twin.seat = self.seat
        twin.phase = self.phase
        twin.legal_moves = self.legal_moves
        twin.outcome = self.outcome
        twin.reshuffles = self.reshuffles[:]
        twin._seed = self._seed
        decks, discards = self._decks, self._discards
        twin._decks = [decks[0][:], decks[1][:], decks[2][:]]
        twin._discards = [discards[0][:], discards[1][:], discards[2][:]]
        twin._rebuilt = self._rebuilt[:]
        twin._centre = self._centre[:]
        twin._specials = self._specials
        twin._dwellings = self._dwellings[:]
        twin._coins = self._coins[:]
        twin._cities = self._cities[:]
        twin._owned = self._owned[:]
        twin._colours = self._colours[:]
        twin._printed_income = self._printed_income[:]
        twin._prices = self._prices[:]
        twin._has_special = self._has_special[:]
        twin._effects = self._effects
        twin._ending = self._ending
        twin._log = self._log
        return twin

    @classmethod
    def from_view(cls, view: View, rng: random.Random) -> Game:
        """Return a game that looks like `view`, with everything hidden drawn at random.

        The unseen cards of each deck are spread over deck and discard pile in their known sizes, and
        later reshuffles get a seed of their own.

        Raises:
            DealError: no game can look like this view.
        """
        _check_possible(view)
        game = cls.__new__(cls)
        game.config = view.config
        game.round = view.round
        game.seat = view.seat
        game.phase = view.phase
        game.outcome = None
        game.reshuffles = []
        game._seed = rng.randint(0, MAX_SEED)
        game._decks, game._discards = _sample_decks(view, rng)
        game._rebuilt = [0, 0, 0]
        game._centre = sorted([card.number for card in view.centre])
        game._specials = view.specials
        game._dwellings = list(view.dwellings)
        game._coins = list(view.coins)
        game._effects = ()
        players = view.config.players
        game._cities = [()] * players
        game._owned = [0] * players
        game._colours = [0] * players
        game._printed_income = [0] * players
        game._prices = [_PRINTED_PRICES] * players
        game._has_special = [False] * players
        game._ending = False
        for seat, city in enumerate(view.cities):
            for card in city:
                game._add(seat, card)
        game._log = []
        _STEP[game.phase](game)
        return game

    # The round (chapter 3) -----------------------------------------------------------------------------
    #
    # A step lists its moves and stops there, or plays the only one, which begins the next step (article
    # 5.1). Such chains end within a turn: a city holds at most 9 of the 66 buildings, so every turn but a
    # game's first finds a card to keep or discard.

    def _start_round(self) -> None:
        """Begin a round with its income phase (article 3.1)."""
        self.round += 1
        self.seat = 0
        log = self._log
        log.append(_event(EventKind.ROUND, 0, 0, self.round))
        if self._effects:
            self._run_effects("before_income")
        coins = self._coins
        for seat, income in enumerate(self.incomes()):
            coins[seat] += income
            log.append(_event(EventKind.INCOME, seat, 0, income))
        if self._effects:
            self._run_effects("after_income")
        self._discard_step()

    def _run_effects(self, hook: str) -> None:
        for seat, position, effect in self._effects:
            function: Callable[[Game, int, int], None] | None = getattr(effect, hook)
            if function is not None:
                function(self, seat, position)

    def _end_turn(self) -> None:
        """Pass the turn on; after the last seat, start a round or end the game (articles 4.1, 4.5)."""
        self.seat += 1
        if self.seat < self.config.players:
            self._discard_step()
        elif self._ending or self.round >= LAST_ROUND:
            self._end()
        else:
            self._start_round()

    # Step 1: discard (article 3.3) ---------------------------------------------------------------------

    def _discard_step(self) -> None:
        self.phase = _DISCARD_PHASE
        if self._centre:
            self.legal_moves = _discard_moves(tuple(self._centre))
        else:
            self._play_keep(m.KEEP)

    def _play_keep(self, move: Move) -> None:
        self._log.append(_KEPT[self.seat])
        self._draw_step()

    def _play_discard(self, move: Move) -> None:
        number = move.number
        self._centre.remove(number)
        self._discards[_PILE[number]].append(number)
        self._log.append(_DISCARDED[self.seat][number])
        self._draw_step()

    # Step 2: draw (articles 3.4, 3.5) ------------------------------------------------------------------

    def _draw_step(self) -> None:
        if len(self._centre) >= CENTRE_SIZE:
            self._buy_step()
            return
        self.phase = _DRAW_PHASE
        a, b, c = self._decks
        if a and b and c:
            self.legal_moves = _ALL_DRAWS
            return
        moves = tuple(m.DRAW[deck] for deck in DECKS if self._decks[deck - 1] or self._discards[deck - 1])
        if len(moves) > 1:
            self.legal_moves = moves
        elif moves:
            self._play_draw(moves[0])
        else:
            self._buy_step()

    def _play_draw(self, move: Move) -> None:
        pile = move.number - 1
        deck = self._decks[pile]
        if not deck:
            self._rebuild(pile)
        number = deck.pop()
        insort(self._centre, number)
        self._log.append(_DREW[self.seat][number])
        self._draw_step()

    def _rebuild(self, pile: int) -> None:
        """Shuffle a discard pile, sorted in table order, into a new deck (articles 3.5, 5.5)."""
        rng = reshuffle_rng(self._seed, pile + 1, self._rebuilt[pile])
        order = shuffled(sorted(self._discards[pile]), rng)
        self._rebuilt[pile] += 1
        self._discards[pile].clear()
        self._decks[pile].extend(reversed(order))
        self.reshuffles.append((pile + 1, tuple(_CARD[number] for number in order)))
        self._log.append(_event(EventKind.RESHUFFLE, self.seat, 0, pile + 1))

    # Step 3: buy (articles 3.6-3.9) --------------------------------------------------------------------

    def _buy_step(self) -> None:
        """List coin, then what the seat can pay for and doesn't own yet (article 3.8)."""
        self.phase = _BUY_PHASE
        seat = self.seat
        coins, owned, prices = self._coins[seat], self._owned[seat], self._prices[seat]
        legal = [m.COIN]
        before = 0
        for number in self._centre:
            if prices[number] <= coins and not owned >> number & 1 and number != before:
                legal.append(m.BUILD[number])
                before = number
        for stack in _STACKS:
            number = _DWELLING_NUMBERS[stack]
            if prices[number] <= coins and self._dwellings[stack] and not owned >> number & 1:
                legal.append(m.DWELL[number])
        if len(legal) > 1:
            self.legal_moves = tuple(legal)
        else:
            self._play_coin(m.COIN)

    def _play_build(self, move: Move) -> None:
        self._centre.remove(move.number)
        self._pay(_BUILT, move.number)

    def _play_dwell(self, move: Move) -> None:
        self._dwellings[_STACK[move.number]] -= 1
        self._pay(_DWELT, move.number)

    def _pay(self, kind: EventKind, number: int) -> None:
        seat = self.seat
        price = self._prices[seat][number]
        self._coins[seat] -= price
        self._log.append(_event(kind, seat, number, price))
        self._add(seat, _CARD[number])
        self._special_step()

    def _play_coin(self, move: Move) -> None:
        self._coins[self.seat] += 1
        self._log.append(_event(EventKind.COIN, self.seat, 0, 1))
        self._special_step()

    def _add(self, seat: int, card: Card) -> None:
        """Put a card on the next free position of a city (articles 3.7, 3.9, 3.10)."""
        number = card.number
        city = self._cities[seat]
        self._cities[seat] = (*city, card)
        self._owned[seat] |= 1 << number
        self._colours[seat] += _ONE_OF[number]
        self._printed_income[seat] += _INCOME[number]
        if card.special_set is not None:
            self._has_special[seat] = True
            if card in EFFECTS:
                self._install(seat, len(city), EFFECTS[card])
        if len(city) + 1 == CITY_SIZE:
            self._ending = True

    def _install(self, seat: int, position: int, effect: Effect) -> None:
        self._effects += ((seat, position, effect),)
        if effect.price is not None:
            prices = self._prices[seat]
            self._prices[seat] = [
                effect.price(card, price) for card, price in zip(_CARD, prices, strict=True)
            ]

    # Step 4: special (articles 3.10, 3.11) -------------------------------------------------------------

    def _special_step(self) -> None:
        """List decline, then the specials whose condition the city meets."""
        self.phase = _SPECIAL_PHASE
        seat = self.seat
        if not self._has_special[seat] and len(self._cities[seat]) < CITY_SIZE:
            colours = self._colours[seat] | _SPARE_BITS
            met = [
                m.TAKE[card.number]
                for card in self._specials
                if colours - _CONDITION[card.number] & _SPARE_BITS == _SPARE_BITS
            ]
            if met:
                self.legal_moves = (m.DECLINE, *met)
                return
        self._play_decline(m.DECLINE)

    def _play_take(self, move: Move) -> None:
        seat, card = self.seat, _CARD[move.number]
        self._specials = tuple([special for special in self._specials if special is not card])
        self._log.append(_TOOK[seat][move.number])
        position = len(self._cities[seat])
        self._add(seat, card)
        effect = EFFECTS.get(card)
        if effect is not None and effect.taken is not None:
            effect.taken(self, seat, position)
        self._end_turn()

    def _play_decline(self, move: Move) -> None:
        self._log.append(_DECLINED[self.seat])
        self._end_turn()

    # The end (chapter 4) -------------------------------------------------------------------------------

    def _end(self) -> None:
        self.seat = 0
        self.phase = Phase.OVER
        self.legal_moves = ()
        self.outcome = self._score()

    def _score(self) -> Outcome:
        seats = range(self.config.players)
        inhabitants = tuple(max(0, self._total(seat, "inhabitants")) for seat in seats)
        hearts = tuple(max(0, self._total(seat, "hearts")) for seat in seats)
        points = tuple(self._points(seat, inhabitants[seat], hearts[seat]) for seat in seats)
        return Outcome(
            points=points,
            coins=tuple(self._coins),
            inhabitants=inhabitants,
            hearts=hearts,
            ranks=rank(list(zip(points, self._coins, strict=True))),
        )

    def _total(self, seat: int, symbol: str) -> int:
        """Sum the `inhabitants` or `hearts` of a city, before the cut at 0 (article 4.2)."""
        total: int = sum(map(attrgetter(symbol), self._cities[seat]))
        for owner, position, effect in self._effects:
            function: Callable[[Game, int, int], int] | None = getattr(effect, symbol)
            if owner == seat and function is not None:
                total += function(self, seat, position)
        return total

    def _points(self, seat: int, inhabitants: int, hearts: int) -> int:
        """Score a city (article 4.3)."""
        product = self.config.scoring is Scoring.PRODUCT
        points = inhabitants * hearts if product else inhabitants + hearts
        for owner, _, effect in self._effects:
            if owner == seat and effect.points is not None:
                points = effect.points(self, seat, points)
        return points


@lru_cache(maxsize=16)  # a search samples the same view many times over
def _check_possible(view: View) -> None:
    """Refuse a view that no game can look like; sizes of the decks are checked as they are drawn."""
    if view.config.mode is Mode.EXPERT:
        raise ConfigError("mode: the expert game is not playable in this version, use family")
    players, cities, row = view.config.players, view.cities, view.specials
    owned = [card for city in cities for card in city]
    specials = [*row, *(card for card in owned if card.kind is CardKind.SPECIAL)]
    problems = {
        "round": not 1 <= view.round <= LAST_ROUND,
        "seat": not 0 <= view.seat < players,
        "phase": view.phase not in _STEP,
        "coins": len(view.coins) != players or min(view.coins) < 0,
        "cities": len(cities) != players
        or any(len(set(city)) != len(city) or not 0 < len(city) <= CITY_SIZE for city in cities)
        or any(sum(card.kind is CardKind.SPECIAL for card in city) > 1 for city in cities),
        "centre": len(view.centre) > CENTRE_SIZE or not all(card.deck for card in view.centre),
        "specials": len(set(specials)) != len(specials)
        or any(card.special_set is not view.config.mode for card in specials),
        "dwellings": view.dwellings != tuple([players - 1 - owned.count(card) for card in DWELLINGS]),
        "decks": len(view.decks) != 3 or min(view.decks) < 0,
        "discards": len(view.discards) != 3 or min(view.discards) < 0,
    }
    for part, wrong in problems.items():
        if wrong:
            raise DealError(f"{part}: no game can look like this view")


def _sample_decks(view: View, rng: random.Random) -> tuple[list[list[int]], list[list[int]]]:
    """Draw decks (top card last) and discard piles that a view allows."""
    decks: list[list[int]] = []
    discards: list[list[int]] = []
    seen = [*view.centre, *(card for city in view.cities for card in city if card.deck)]
    for deck in DECKS:
        hidden = [card.number for card in deck_cards(deck)]
        for card in seen:
            if card.deck == deck:
                if card.number not in hidden:
                    raise DealError(f"{card.id}: more than two in sight")
                hidden.remove(card.number)
        size, discarded = view.decks[deck - 1], view.discards[deck - 1]
        if size + discarded != len(hidden):
            raise DealError(f"deck {deck}: {size} + {discarded} hidden cards instead of {len(hidden)}")
        order = shuffled(hidden, rng)
        decks.append(order[:size])
        discards.append(order[size:])
    return decks, discards


_STEP: dict[Phase, Callable[[Game], None]] = {
    Phase.DISCARD: Game._discard_step,
    Phase.DRAW: Game._draw_step,
    Phase.BUY: Game._buy_step,
    Phase.SPECIAL: Game._special_step,
}
_PLAY: dict[MoveKind, Callable[[Game, Move], None]] = {
    MoveKind.KEEP: Game._play_keep,
    MoveKind.DISCARD: Game._play_discard,
    MoveKind.DRAW: Game._play_draw,
    MoveKind.BUILD: Game._play_build,
    MoveKind.DWELL: Game._play_dwell,
    MoveKind.COIN: Game._play_coin,
    MoveKind.TAKE: Game._play_take,
    MoveKind.DECLINE: Game._play_decline,
}
