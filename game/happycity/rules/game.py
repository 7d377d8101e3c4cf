"""The rules engine: a game of Happy City, from the deal to the outcome.

The state is small integers and shared tuples, so `copy` is cheap; cards and moves are interned objects
outside. Nothing here does I/O, reads a clock or draws randomness that wasn't passed in.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final, Self

from happycity.errors import IllegalMoveError
from happycity.rules import moves as m
from happycity.rules.cards import DWELLINGS, HAPPY_MARKET, Card, CardKind, Mode
from happycity.rules.cities import CARD, Cities
from happycity.rules.deals import CENTRE_SIZE, CITY_SIZE, DECKS, LAST_ROUND, MAX_SEED, Config, Deal
from happycity.rules.determinization import HiddenCards, check_possible
from happycity.rules.effects import Gains, Occasion, effect_of
from happycity.rules.moves import Move, MoveKind
from happycity.rules.scoring import Outcome, score
from happycity.rules.shuffling import reshuffle_rng, shuffled
from happycity.rules.views import Event, EventKind, Phase, View

# Final: compiled code reads such names without looking them up.
PILE: Final = tuple(card.deck - 1 for card in CARD)
"""The pile (0-2) of each building, by its number; -1 for other cards."""
_STACKS: Final = tuple((stack, card.number, m.DWELL[card.number]) for stack, card in enumerate(DWELLINGS))
_ALL_DWELLINGS: Final = sum(1 << card.number for card in DWELLINGS)
STACK: Final = {card.number: stack for stack, card in enumerate(DWELLINGS)}
"""The stack of each dwelling, by its number."""

# Members of an enum, bound once: looking one up in its class costs as much as a whole step.
_DISCARD_PHASE: Final = Phase.DISCARD
_DRAW_PHASE: Final = Phase.DRAW
_BUY_PHASE: Final = Phase.BUY
_SPECIAL_PHASE: Final = Phase.SPECIAL
_BUILD: Final = MoveKind.BUILD
_DWELL: Final = MoveKind.DWELL
_COIN: Final = MoveKind.COIN
_BUILT: Final = EventKind.BUILD
_DWELT: Final = EventKind.DWELL
_COIN_TAKEN: Final = EventKind.COIN
_PAID: Final = EventKind.INCOME_PAID

# What an open game awaits a card of: a pile (0-2) or one of these.
_NO_PILE: Final = -1
_BOX: Final = 3


def _by_seat(kind: EventKind) -> tuple[Event, ...]:
    return tuple(Event(kind, seat) for seat in range(5))


def _by_seat_and_card(kind: EventKind) -> tuple[tuple[Event, ...], ...]:
    return tuple(tuple(Event(kind, seat, card) for card in CARD) for seat in range(5))


_KEPT: Final = _by_seat(EventKind.KEEP)
_DECLINED: Final = _by_seat(EventKind.DECLINE)
_DISCARDED: Final = _by_seat_and_card(EventKind.DISCARD)
_DREW: Final = _by_seat_and_card(EventKind.DRAW)
_TOOK: Final = _by_seat_and_card(EventKind.TAKE)
_ROUND_STARTED: Final = tuple(
    Event(EventKind.ROUND_STARTED, round=number) for number in range(LAST_ROUND + 1)
)


_COINS_MOVED: Final[dict[int, Event]] = {}
"""Events that move coins; most recur. By their fields, in one number."""


def _coins_event(kind: EventKind, seat: int, number: int, coins: int) -> Event:
    """Return an event that moves coins; `number` is the card's, or 0."""
    key = ((coins << 8 | number) << 3 | seat) << 4 | kind
    event = _COINS_MOVED.get(key)
    if event is None:
        event = _COINS_MOVED[key] = Event(kind, seat, CARD[number] if number else None, coins=coins)
    return event


_DISCARDS: Final[dict[tuple[int, ...], tuple[Move, ...]]] = {}
"""The moves of discard steps by the centre, of which there are some thousands."""
_DRAWS: Final = tuple(
    tuple(m.DRAW[deck] for deck in DECKS if some & 1 << deck - 1) for some in range(1 << len(DECKS))
)
"""The draws by the decks that have cards: bit 0 is set for deck 1."""


class Game:
    """One game. `legal_moves` is empty exactly when `outcome` is there, or when an open game awaits a card.

    An ordinary game has its cards in a fixed hidden order. An open one (`opened`) has none: at each draw it
    waits until `reveal` says which card it is, so searches that treat draws as chance can't look ahead.
    """

    __slots__ = (
        "_awaited",
        "_box",
        "_decks",
        "_discards",
        "_log",
        "_open",
        "_rebuilt",
        "_seed",
        "centre",
        "cities",
        "config",
        "dwellings",
        "legal_moves",
        "outcome",
        "phase",
        "reshuffles",
        "round",
        "seat",
        "specials",
    )

    def __new__(cls, *_: object) -> Self:
        """Return a game without content; without this method, mypyc's `Game.__new__` calls `__init__`."""
        return object.__new__(cls)

    def _lay_out(
        self, config: Config, cities: Cities, specials: tuple[Card, ...], dwellings: list[int]
    ) -> None:
        """Lay out what all see, before the first round and without hidden cards."""
        self.config = config
        self.cities = cities
        """What the seats own."""
        self.centre: list[int] = []
        """The numbers of the buildings face up in the centre, in table order."""
        self.specials = specials
        """Specials that can still be taken."""
        self.dwellings = dwellings
        """Cards left in the stacks of `happycity.DWELLINGS`, in that order."""
        self.round = 0
        """The current round, 1 to 30; 0 in the market draft."""
        self.seat = 0
        """Whose decision it is."""
        self.phase = Phase.DISCARD
        self.legal_moves: tuple[Move, ...] = ()
        """What the seat may choose from, in a fixed order: two or more, or none when the game is over."""
        self.outcome: Outcome | None = None
        self.reshuffles: list[tuple[int, tuple[Card, ...]]] = []
        """Decks rebuilt so far, in order: the deck (1-3) and its new order, top card first."""
        self._log: list[Event] = []
        self._open = False
        self._awaited = _NO_PILE
        self._seed = 0
        self._decks: list[list[int]] = [[], [], []]
        self._discards: list[list[int]] = [[], [], []]
        self._rebuilt = [0, 0, 0]
        self._box: tuple[Card, ...] = ()

    def __init__(self, deal: Deal) -> None:
        """Set the table (chapter 2) and play up to the first decision."""
        config = deal.config
        self._lay_out(config, Cities(config), deal.specials, [config.players - 1] * len(DWELLINGS))
        self._seed = deal.seed
        # The top card is last, where taking it is cheap.
        self._decks = [[card.number for card in reversed(deck)] for deck in deal.decks]
        self._box = deal.box
        if config.mode is Mode.EXPERT:
            self.seat = config.players - 1
            self._market_step()
        else:
            for seat in range(config.players):
                self.cities.add(seat, HAPPY_MARKET)
            self._start_round()

    @classmethod
    def deal(cls, config: Config, *, seed: int) -> Game:
        """Start a game on the deal that `seed` shuffles."""
        return cls(Deal.shuffle(config, seed=seed))

    def __repr__(self) -> str:
        game = f"{self.config.players} seats, {self.config.mode.value}"
        return f"<Game {game}: round {self.round}, seat {self.seat}, {self.phase}>"

    @property
    def events(self) -> tuple[Event, ...]:
        """What the last `apply` (or the set-up) brought about, up to the decision that waits now.

        In an open game also what was revealed since.
        """
        return tuple(self._log)

    @property
    def neutral_move(self) -> Move:
        """The move of a seat that doesn't choose: keep, the lowest deck, coin, decline, a market, the box."""
        return self.legal_moves[0]

    def view(self) -> View:
        """Return what any seat may know (chapter 7)."""
        cities = self.cities
        return View(
            self.config,
            self.round,
            self.seat,
            self.phase,
            tuple(cities.coins),
            cities.incomes(),
            tuple(cities.cards),
            tuple([CARD[number] for number in self.centre]),
            self.specials,
            tuple(self.dwellings),
            self.deck_sizes,
            self.discards,
            cities.uses,
        )

    @property
    def deck_sizes(self) -> tuple[int, int, int]:
        """Cards left in decks 1, 2 and 3."""
        a, b, c = self._decks
        return len(a), len(b), len(c)

    @property
    def discard_sizes(self) -> tuple[int, int, int]:
        """Cards in the discard piles of decks 1, 2 and 3."""
        a, b, c = self._discards
        return len(a), len(b), len(c)

    @property
    def discards(self) -> tuple[tuple[Card, ...], ...]:
        """The cards in the discard piles of decks 1, 2 and 3, each in table order."""
        return tuple([tuple([CARD[number] for number in pile]) for pile in self._discards])

    @property
    def discard_piles(self) -> list[list[int]]:
        """The numbers of the cards in the discard piles of decks 1, 2 and 3, sorted; only to be read."""
        return self._discards

    def coin_change(self, move: Move) -> int:
        """Return by how much a legal move itself changes the coins of the seat to decide.

        Negative for a purchase, positive for `coin`, 0 for all others; what effects pay is not in it.
        """
        kind, seat = move.kind, self.seat
        if kind is _BUILD or kind is _DWELL:
            return -self.cities.prices[seat][move.number]
        return self.cities.coin_gain(seat) if kind is _COIN else 0

    def apply(self, move: Move) -> None:
        """Play `move` for the seat to decide, then every forced move up to the next decision (5.1).

        Raises:
            IllegalMoveError: `move` is not among `legal_moves`; nothing has changed.
        """
        if move not in self.legal_moves:
            waits = self._awaited != _NO_PILE
            raise IllegalMoveError(move, ("none, a card is awaited",) if waits else self.legal_moves)
        self._log = []
        _PLAY[move.kind](self, move)

    def copy(self) -> Game:
        """Return an independent game in the same position, hidden orders included."""
        copied = Game.__new__(Game)
        copied.config = self.config
        copied.cities = self.cities.copy()
        copied._log = self._log
        copied._open = self._open
        copied._awaited = self._awaited
        copied.round = self.round
        copied.seat = self.seat
        copied.phase = self.phase
        copied.legal_moves = self.legal_moves
        copied.outcome = self.outcome
        copied.reshuffles = self.reshuffles[:]
        copied._seed = self._seed
        decks = self._decks
        copied._decks = [decks[0][:], decks[1][:], decks[2][:]]
        discards = self._discards
        copied._discards = [discards[0][:], discards[1][:], discards[2][:]]
        copied._rebuilt = self._rebuilt[:]
        copied.centre = self.centre[:]
        copied._box = self._box
        copied.specials = self.specials
        copied.dwellings = self.dwellings[:]
        return copied

    def __deepcopy__(self, memo: dict[int, object]) -> Game:
        return self.copy()

    @classmethod
    def from_view(cls, view: View, rng: random.Random) -> Game:
        """Return a game that looks like `view`, with everything hidden drawn at random.

        That is the order of each deck and of the box; later reshuffles get a seed of their own.

        Raises:
            DealError: no game can look like this view.
        """
        return next(cls.worlds(view, rng))

    @classmethod
    def worlds(cls, view: View, rng: random.Random) -> Iterator[Game]:
        """Yield games as `from_view` returns them, without end: each is drawn when it is asked for.

        Raises:
            DealError: no game can look like this view.
        """
        check_possible(view)
        hidden = HiddenCards(view)
        seen = cls.__new__(cls)
        seen._lay_out(view.config, Cities.of_view(view), view.specials, list(view.dwellings))
        seen.round, seen.seat, seen.phase = view.round, view.seat, view.phase
        seen.centre = sorted([card.number for card in view.centre])
        seen._discards = [sorted([card.number for card in pile]) for pile in view.discards]
        while True:
            game = seen.copy()
            game._log = []
            game._seed = rng.randint(0, MAX_SEED)
            game._decks = hidden.decks(rng)
            game._box = hidden.box(rng)
            _STEP[game.phase](game)
            yield game

    def opened(self) -> Game:
        """Return the same position as an open game: each hidden card is left to the caller of `reveal`.

        Piles keep their cards, and lose their order.
        """
        copied = self.copy()
        copied._open = True
        for deck in copied._decks:
            deck.sort()
        copied._box = tuple(sorted(copied._box, key=attrgetter("number")))
        return copied

    def closed(self, rng: random.Random) -> Game:
        """Return the same position as an ordinary game, with every hidden order drawn from `rng`.

        Raises:
            ValueError: a card is awaited.
        """
        if self._awaited != _NO_PILE:
            raise ValueError("a card is awaited; reveal it first")
        copied = self.copy()
        copied._open = False
        copied._seed = rng.randint(0, MAX_SEED)
        copied._decks = [shuffled(deck, rng) for deck in self._decks]
        copied._box = tuple(shuffled(self._box, rng))
        return copied

    @property
    def awaited(self) -> tuple[Card, ...]:
        """The cards of which an open game awaits one, each as likely as the others; () if it awaits none.

        They are in table order, and a card of which two are left is there twice.
        """
        if self._awaited == _NO_PILE:
            return ()
        if self._awaited == _BOX:
            return self._box
        return tuple([CARD[number] for number in self._decks[self._awaited]])

    def reveal(self, card: Card) -> None:
        """Let the card that an open game awaits be `card`, then play on to the next card or decision.

        Raises:
            ValueError: `card` is not among `awaited`; nothing has changed.
        """
        if card not in self.awaited:
            raise ValueError(f"{card} is not awaited; " + (", ".join(map(str, self.awaited)) or "no card is"))
        pile, self._awaited = self._awaited, _NO_PILE
        self._log = self._log[:]  # copies of the game share it
        if pile == _BOX:
            self._copy_special(card)
        else:
            self._decks[pile].remove(card.number)
            self._turn_over(card.number)

    def _await_card(self, pile: int) -> None:
        self._awaited = pile
        self.legal_moves = ()

    def _market_step(self) -> None:
        """List the coloured Happy Markets that no seat has drafted yet (article 2.7)."""
        self.phase = Phase.MARKET
        drafted = [city[0] for city in self.cities.cards if city]
        moves = tuple([move for move in m.MARKET.values() if move.card not in drafted])
        if len(moves) > 1:
            self.legal_moves = moves
        else:
            self._play_market(moves[0])

    def _play_market(self, move: Move) -> None:
        seat = self.seat
        card = CARD[move.number]
        self._log.append(Event(EventKind.MARKET, seat, card))
        self.cities.add(seat, card)
        if seat > 0:
            self.seat -= 1
            self._market_step()
        else:
            self._start_round()

    # A step of a round lists its moves and stops there, or plays the only one, which begins the next step
    # (article 5.1). Such chains end within a turn: a city holds at most 9 of the 66 buildings, so every turn
    # but a game's first finds a card to keep or discard.

    def _start_round(self) -> None:
        """Begin a round with its income phase (article 3.1)."""
        self.round += 1
        self.seat = 0
        log, cities = self._log, self.cities
        log.append(_ROUND_STARTED[self.round])
        if cities.effects:
            self._pay_before_income()
        coins, incomes = cities.coins, cities.incomes()
        for seat, income in enumerate(incomes):
            coins[seat] += income
            log.append(_coins_event(_PAID, seat, 0, income))
        if cities.effects:
            self._pay_after_income(incomes)
        self._discard_step()

    def _pay_before_income(self) -> None:
        cities = self.cities
        for seat, effect in enumerate(cities.effects):
            if effect.before_income is not None:
                self._pay_effect(seat, effect.before_income(cities, seat, cities.special_at[seat]))

    def _pay_after_income(self, incomes: tuple[int, ...]) -> None:
        """Pay what comes along with the incomes, then what comes after them (article 6.1)."""
        cities = self.cities
        for seat, effect in enumerate(cities.effects):
            if effect.with_income is not None and cities.applies(seat):
                gains = effect.with_income(cities, seat, cities.special_at[seat], incomes)
                self._pay_effect(seat, gains)
            cities.use(seat, Occasion.INCOME_PHASE)
        for seat, effect in enumerate(cities.effects):
            if effect.after_income is not None:
                self._pay_effect(seat, effect.after_income(cities, seat, cities.special_at[seat]))

    def _pay_effect(self, owner: int, gains: Gains) -> None:
        """Pay what the special of `owner` brings about."""
        cities = self.cities
        special = cities.cards[owner][cities.special_at[owner]]
        for seat, coins in gains:
            if coins:
                cities.coins[seat] += coins
                self._log.append(_coins_event(EventKind.EFFECT_PAID, seat, special.number, coins))

    def _end_turn(self) -> None:
        """Pass the turn on; after the last seat, start a round or end the game (articles 4.1, 4.5)."""
        self.seat += 1
        if self.seat < self.config.players:
            self._discard_step()
        elif self.cities.longest == CITY_SIZE or self.round >= LAST_ROUND:
            self._sphinx_step()
        else:
            self._start_round()

    def _discard_step(self) -> None:
        """List keep, then the distinct cards of the centre, which are in table order (article 3.3)."""
        self.phase = _DISCARD_PHASE
        centre = tuple(self.centre)
        legal = _DISCARDS.get(centre)
        if legal is None:
            legal = _DISCARDS[centre] = (m.KEEP, *[m.DISCARD[number] for number in dict.fromkeys(centre)])
        if len(legal) > 1:
            self.legal_moves = legal
        else:
            self._play_keep(m.KEEP)

    def _play_keep(self, move: Move) -> None:
        self._log.append(_KEPT[self.seat])
        self._draw_step()

    def _play_discard(self, move: Move) -> None:
        number = move.number
        self.centre.remove(number)
        insort(self._discards[PILE[number]], number)
        self._log.append(_DISCARDED[self.seat][number])
        self._draw_step()

    def _draw_step(self) -> None:
        """List the decks that have cards, until the centre is full (articles 3.4, 3.5)."""
        if len(self.centre) >= CENTRE_SIZE:
            self._buy_step()
            return
        self.phase = _DRAW_PHASE
        (a, b, c), (d, e, f) = self._decks, self._discards
        moves = _DRAWS[(1 if a or d else 0) | (2 if b or e else 0) | (4 if c or f else 0)]
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
        if self._open:
            self._await_card(pile)
        else:
            self._turn_over(deck.pop())

    def _turn_over(self, number: int) -> None:
        centre = self.centre
        insort(centre, number)
        self._log.append(_DREW[self.seat][number])
        if len(centre) < CENTRE_SIZE:
            self._draw_step()
        else:
            self._buy_step()

    def _rebuild(self, pile: int) -> None:
        """Shuffle a discard pile, which is in table order, into a new deck (articles 3.5, 5.5)."""
        cards = self._discards[pile]
        self._discards[pile] = []
        if self._open:
            self._decks[pile].extend(cards)
        else:
            order = cards
            if (
                len(cards) > 1
            ):  # a random generator costs more than a whole turn, and most piles are that small
                order = shuffled(cards, reshuffle_rng(self._seed, pile + 1, self._rebuilt[pile]))
            self._rebuilt[pile] += 1
            self._decks[pile].extend(reversed(order))
            self.reshuffles.append((pile + 1, tuple([CARD[number] for number in order])))
        self._log.append(Event(EventKind.DECK_REBUILT, self.seat, deck=pile + 1))

    def _buy_step(self) -> None:
        """List coin, then what the seat can pay for and doesn't own yet (articles 3.6-3.9)."""
        self.phase = _BUY_PHASE
        seat, cities = self.seat, self.cities
        coins, owned, prices = cities.coins[seat], cities.owned[seat], cities.prices[seat]
        legal = [m.COIN]
        before = 0
        for number in self.centre:
            if prices[number] <= coins and number != before and not owned >> number & 1:
                legal.append(m.BUILD[number])
                before = number
        if owned & _ALL_DWELLINGS != _ALL_DWELLINGS:
            left = self.dwellings
            for stack, number, dwell in _STACKS:
                if prices[number] <= coins and left[stack] and not owned >> number & 1:
                    legal.append(dwell)
        if len(legal) > 1:
            self.legal_moves = tuple(legal)
        else:
            self._play_coin(m.COIN)

    def _play_build(self, move: Move) -> None:
        self.centre.remove(move.number)
        self._pay(_BUILT, move.number)

    def _play_dwell(self, move: Move) -> None:
        self.dwellings[STACK[move.number]] -= 1
        self._pay(_DWELT, move.number)

    def _pay(self, kind: EventKind, number: int) -> None:
        seat, cities = self.seat, self.cities
        price = cities.prices[seat][number]
        cities.coins[seat] -= price
        self._log.append(_coins_event(kind, seat, number, -price))
        cities.add(seat, CARD[number])
        if cities.effects:
            cities.use(seat, Occasion.PURCHASE)
            for owner, effect in enumerate(cities.effects):
                if effect.paid is not None:
                    gains = effect.paid(cities, owner, cities.special_at[owner], seat, price)
                    self._pay_effect(owner, gains)
        self._special_step()

    def _play_coin(self, move: Move) -> None:
        seat, cities = self.seat, self.cities
        gain = cities.coin_gain(seat)
        cities.coins[seat] += gain
        self._log.append(_coins_event(_COIN_TAKEN, seat, 0, gain))
        self._special_step()

    def _special_step(self) -> None:
        """List decline, then the specials whose condition the city meets (articles 3.10, 3.11)."""
        self.phase = _SPECIAL_PHASE
        seat, cities = self.seat, self.cities
        if cities.special_at[seat] < 0:
            met = cities.eligible(seat, self.specials)
            if met and len(cities.cards[seat]) == CITY_SIZE:
                met = [card for card in met if effect_of(card).replaces_last]
            if met:
                self.legal_moves = (m.DECLINE, *[m.TAKE[card.number] for card in met])
                return
        self._log.append(_DECLINED[seat])
        self._end_turn()

    def _play_take(self, move: Move) -> None:
        seat, cities, card = self.seat, self.cities, CARD[move.number]
        self.specials = tuple([special for special in self.specials if special is not card])
        effect = effect_of(card)
        if effect.replaces_last:
            self._lose_last(seat)
        self._log.append(_TOOK[seat][move.number])
        cities.add(seat, card)
        if effect.taken is not None:
            self._pay_effect(seat, effect.taken(cities, seat, cities.special_at[seat]))
        self._end_turn()

    def _lose_last(self, seat: int) -> None:
        """Discard the last card of a city: a building to its pile, a dwelling out of the game."""
        card = self.cities.remove_last(seat)
        if card.kind is CardKind.BUILDING:
            insort(self._discards[PILE[card.number]], card.number)
        self._log.append(Event(EventKind.CARD_LOST, seat, card))

    def _play_decline(self, move: Move) -> None:
        self._log.append(_DECLINED[self.seat])
        self._end_turn()

    def _sphinx_step(self) -> None:
        """Let the owner of a special that copies another one choose; without one, end the game."""
        cities = self.cities
        for seat, effect in enumerate(cities.effects):
            if effect.chooses_copy:
                self.seat = seat
                self.phase = Phase.SPHINX
                owners = [other for other in cities.opponents(seat) if cities.special_at[other] >= 0]
                if owners:
                    self.legal_moves = (m.COPY_BOX, *[m.COPY[other] for other in owners])
                else:
                    self._play_copy(m.COPY_BOX)
                return
        self._end()

    def _play_copy(self, move: Move) -> None:
        cities = self.cities
        if move is not m.COPY_BOX:
            self._copy_special(cities.cards[move.number][cities.special_at[move.number]])
        elif self._open:
            self._await_card(_BOX)
        else:
            self._copy_special(self._box[0])

    def _copy_special(self, card: Card) -> None:
        seat, cities = self.seat, self.cities
        self._log.append(Event(EventKind.COPY, seat, card))
        cities.copy_special(seat, card)
        self._end()

    def _end(self) -> None:
        """Copy values, then score, in the order of article 6.3."""
        self.seat = 0
        self.phase = Phase.OVER
        self.legal_moves = ()
        cities = self.cities
        for seat, effect in enumerate(cities.effects):
            if effect.copied is not None:
                card = effect.copied(cities, seat, cities.special_at[seat])
                if card is not None:
                    cities.copy_values(seat, card)
        self.outcome = score(cities)


_STEP: Final[dict[Phase, Callable[[Game], None]]] = {
    Phase.MARKET: Game._market_step,
    Phase.DISCARD: Game._discard_step,
    Phase.DRAW: Game._draw_step,
    Phase.BUY: Game._buy_step,
    Phase.SPECIAL: Game._special_step,
    Phase.SPHINX: Game._sphinx_step,
}
_PLAY: Final[dict[MoveKind, Callable[[Game, Move], None]]] = {
    MoveKind.KEEP: Game._play_keep,
    MoveKind.DISCARD: Game._play_discard,
    MoveKind.DRAW: Game._play_draw,
    MoveKind.BUILD: Game._play_build,
    MoveKind.DWELL: Game._play_dwell,
    MoveKind.COIN: Game._play_coin,
    MoveKind.TAKE: Game._play_take,
    MoveKind.DECLINE: Game._play_decline,
    MoveKind.MARKET: Game._play_market,
    MoveKind.COPY: Game._play_copy,
}
