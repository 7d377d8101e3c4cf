"""The rules engine: a game of Happy City, from the deal to the outcome.

The state is small integers and shared tuples, so `copy` is cheap; cards and moves are interned objects
outside. Nothing here does I/O, reads a clock or draws randomness that wasn't passed in.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Callable
from functools import cache

from happycity import moves as m
from happycity.cards import DWELLINGS, HAPPY_MARKET, Card, Mode
from happycity.deals import DECKS, MAX_SEED, Config, Deal, reshuffle_rng, shuffled
from happycity.effects import Occasion, effect_of
from happycity.errors import IllegalMoveError
from happycity.holdings import CARD, CONDITION, PILE, SPARE_BITS, Holdings, event
from happycity.moves import Move, MoveKind
from happycity.rulebook import CENTRE_SIZE, CITY_SIZE, LAST_ROUND
from happycity.scoring import Outcome, score
from happycity.views import Event, EventKind, Phase, View
from happycity.worlds import check_possible, sample_box, sample_decks

_STACKS = tuple((stack, card.number, m.DWELL[card.number]) for stack, card in enumerate(DWELLINGS))
_STACK = {card.number: stack for stack, card in enumerate(DWELLINGS)}

# Members of an enum, bound once: looking one up in its class costs as much as a whole step.
_DISCARD_PHASE, _DRAW_PHASE, _BUY_PHASE, _SPECIAL_PHASE = Phase.DISCARD, Phase.DRAW, Phase.BUY, Phase.SPECIAL
_ROUND, _PAID, _BUILT, _DWELT, _PASSED = (
    EventKind.ROUND,
    EventKind.INCOME,
    EventKind.BUILD,
    EventKind.DWELL,
    EventKind.COIN,
)


def _by_seat(kind: EventKind) -> tuple[Event, ...]:
    return tuple(event(kind, seat, 0, 0) for seat in range(5))


def _by_seat_and_card(kind: EventKind) -> tuple[tuple[Event, ...], ...]:
    return tuple(tuple(event(kind, seat, number, 0) for number in range(len(CARD))) for seat in range(5))


_KEPT, _DECLINED = _by_seat(EventKind.KEEP), _by_seat(EventKind.DECLINE)
_DISCARDED, _DREW = _by_seat_and_card(EventKind.DISCARD), _by_seat_and_card(EventKind.DRAW)
_TOOK = _by_seat_and_card(EventKind.TAKE)

_ALL_DRAWS = tuple(m.DRAW[deck] for deck in DECKS)


@cache
def _discard_moves(centre: tuple[int, ...]) -> tuple[Move, ...]:
    """List keep, then the distinct cards to discard; there are a few thousand centres in all."""
    return (m.KEEP, *[m.DISCARD[number] for number in sorted(set(centre))])


class Game(Holdings):
    """One game. `legal_moves` is empty exactly when `outcome` is there."""

    __slots__ = (
        "_box",
        "_centre",
        "_decks",
        "_dwellings",
        "_offers",
        "_rebuilt",
        "_seed",
        "_specials",
        "legal_moves",
        "outcome",
        "phase",
        "reshuffles",
        "round",
        "seat",
    )

    round: int
    """The running round, 1 to 30; 0 in the market draft."""
    seat: int
    """Whose decision it is."""
    phase: Phase
    legal_moves: tuple[Move, ...]
    """What the seat may choose from, in a fixed order: two or more moves, or none when the game is over."""
    outcome: Outcome | None
    reshuffles: list[tuple[int, tuple[Card, ...]]]
    """Decks rebuilt so far, in order: the deck (1-3) and its new order, top card first."""

    def __init__(self, deal: Deal) -> None:
        """Set the table (chapter 2) and play up to the first decision."""
        config = deal.config
        super().__init__(config)
        self.round = 0
        self.seat = 0
        self.phase = Phase.DISCARD
        self.legal_moves = ()
        self.outcome = None
        self.reshuffles = []
        self._seed = deal.seed
        # The top card is last, where taking it is cheap.
        self._decks = [[card.number for card in reversed(deck)] for deck in deal.decks]
        self._rebuilt = [0, 0, 0]
        self._centre: list[int] = []  # in table order
        self._lay_out(deal.specials)
        self._box = deal.box
        self._dwellings = [config.players - 1] * len(DWELLINGS)
        if config.mode is Mode.EXPERT:
            self.seat = config.players - 1
            self._market_step()
        else:
            for seat in range(config.players):
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
        """The move of a seat that doesn't choose: keep, the lowest deck, coin, decline, a market, the box."""
        return self.legal_moves[0]

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
            tuple([CARD[number] for number in self._centre]),
            self._specials,
            tuple(self._dwellings),
            (len(decks[0]), len(decks[1]), len(decks[2])),
            (len(discards[0]), len(discards[1]), len(discards[2])),
            self._uses,
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
        self._copy_to(twin)
        twin.round = self.round
        twin.seat = self.seat
        twin.phase = self.phase
        twin.legal_moves = self.legal_moves
        twin.outcome = self.outcome
        twin.reshuffles = self.reshuffles[:]
        twin._seed = self._seed
        decks = self._decks
        twin._decks = [decks[0][:], decks[1][:], decks[2][:]]
        twin._rebuilt = self._rebuilt[:]
        twin._centre = self._centre[:]
        twin._box = self._box
        twin._specials = self._specials
        twin._offers = self._offers
        twin._dwellings = self._dwellings[:]
        return twin

    @classmethod
    def from_view(cls, view: View, rng: random.Random) -> Game:
        """Return a game that looks like `view`, with everything hidden drawn at random.

        The unseen cards of each deck are spread over deck and discard pile in their known sizes, and
        later reshuffles get a seed of their own.

        Raises:
            DealError: no game can look like this view.
        """
        check_possible(view)
        game = cls.__new__(cls)
        Holdings.__init__(game, view.config)
        game.round = view.round
        game.seat = view.seat
        game.phase = view.phase
        game.outcome = None
        game.reshuffles = []
        game._seed = rng.randint(0, MAX_SEED)
        game._decks, game._discards = sample_decks(view, rng)
        game._box = sample_box(view, rng)
        game._rebuilt = [0, 0, 0]
        game._centre = sorted([card.number for card in view.centre])
        game._lay_out(view.specials)
        game._dwellings = list(view.dwellings)
        game._coins = list(view.coins)
        for seat, city in enumerate(view.cities):
            for card in city:
                game._add(seat, card)
        if view.uses != game._uses:
            game._set_uses(view.uses)
        _STEP[game.phase](game)
        return game

    # The market draft (article 2.7) ---------------------------------------------------------------------

    def _market_step(self) -> None:
        self.phase = Phase.MARKET
        drafted = [city[0] for city in self._cities if city]
        moves = tuple([move for move in m.MARKET.values() if move.card not in drafted])
        if len(moves) > 1:
            self.legal_moves = moves
        else:
            self._play_market(moves[0])

    def _play_market(self, move: Move) -> None:
        seat = self.seat
        self._log.append(event(EventKind.MARKET, seat, move.number, 0))
        self._add(seat, CARD[move.number])
        if seat > 0:
            self.seat -= 1
            self._market_step()
        else:
            self._start_round()

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
        log.append(event(_ROUND, 0, 0, self.round))
        if self._effects:
            self._pay_before_income()
        coins, incomes = self._coins, self.incomes()
        for seat, income in enumerate(incomes):
            coins[seat] += income
            log.append(event(_PAID, seat, 0, income))
        if self._effects:
            self._pay_after_income(incomes)
        self._discard_step()

    def _pay_before_income(self) -> None:
        for seat, effect in enumerate(self._effects):
            if effect.before_income is not None:
                self._gain(seat, effect.before_income(self, seat, self._special_at[seat]))

    def _pay_after_income(self, incomes: tuple[int, ...]) -> None:
        """Pay what comes along with the incomes, then what comes after them (article 6.1)."""
        for seat, effect in enumerate(self._effects):
            if effect.with_income is not None and self._applies(seat):
                self._gain(seat, effect.with_income(self, seat, self._special_at[seat], incomes))
            self._use_up(seat, Occasion.INCOME_PHASE)
        for seat, effect in enumerate(self._effects):
            if effect.after_income is not None:
                self._gain(seat, effect.after_income(self, seat, self._special_at[seat]))

    def _end_turn(self) -> None:
        """Pass the turn on; after the last seat, start a round or end the game (articles 4.1, 4.5)."""
        self.seat += 1
        if self.seat < self.config.players:
            self._discard_step()
        elif self._ending or self.round >= LAST_ROUND:
            self._sphinx_step()
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
        self._discards[PILE[number]].append(number)
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
        self.reshuffles.append((pile + 1, tuple(CARD[number] for number in order)))
        self._log.append(event(EventKind.RESHUFFLE, self.seat, 0, pile + 1))

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
        left = self._dwellings
        for stack, number, dwell in _STACKS:
            if prices[number] <= coins and left[stack] and not owned >> number & 1:
                legal.append(dwell)
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
        self._log.append(event(kind, seat, number, price))
        self._add(seat, CARD[number])
        if self._effects:
            self._use_up(seat, Occasion.PURCHASE)
            for owner, effect in enumerate(self._effects):
                if effect.paid is not None:
                    self._gain(owner, effect.paid(self, owner, self._special_at[owner], seat, price))
        self._special_step()

    def _play_coin(self, move: Move) -> None:
        seat = self.seat
        gained = self._effects[seat].coins_for_nothing if self._effects else 1
        self._coins[seat] += gained
        self._log.append(event(_PASSED, seat, 0, gained))
        self._special_step()

    # Step 4: special (articles 3.10, 3.11) -------------------------------------------------------------

    def _special_step(self) -> None:
        """List decline, then the specials whose condition the city meets."""
        self.phase = _SPECIAL_PHASE
        seat = self.seat
        if self._special_at[seat] < 0:
            colours = self._colours[seat] | SPARE_BITS
            met = [move for condition, move in self._offers if colours - condition & SPARE_BITS == SPARE_BITS]
            if met and len(self._cities[seat]) == CITY_SIZE:
                met = [move for move in met if effect_of(CARD[move.number]).replaces_last]
            if met:
                self.legal_moves = (m.DECLINE, *met)
                return
        self._play_decline(m.DECLINE)

    def _play_take(self, move: Move) -> None:
        seat, card = self.seat, CARD[move.number]
        self._lay_out(tuple([special for special in self._specials if special is not card]))
        effect = effect_of(card)
        if effect.replaces_last:
            self._demolish_last(seat)
        self._log.append(_TOOK[seat][move.number])
        self._add(seat, card)
        if effect.taken is not None:
            self._gain(seat, effect.taken(self, seat, self._special_at[seat]))
        self._end_turn()

    def _lay_out(self, specials: tuple[Card, ...]) -> None:
        """Set which specials can be taken."""
        self._specials = specials
        self._offers = tuple([(CONDITION[card.number], m.TAKE[card.number]) for card in specials])

    def _play_decline(self, move: Move) -> None:
        self._log.append(_DECLINED[self.seat])
        self._end_turn()

    # The end (chapter 4) -------------------------------------------------------------------------------
    #
    # In the order of article 6.3: the Sphinx's choice, copied values, incomes, totals, points.

    def _sphinx_step(self) -> None:
        """Let the owner of a special that copies another one choose; without one, end the game."""
        for seat, effect in enumerate(self._effects):
            if effect.chooses_copy:
                self.seat = seat
                self.phase = Phase.SPHINX
                owners = [other for other in self.opponents(seat) if self._special_at[other] >= 0]
                if owners:
                    self.legal_moves = (m.COPY_BOX, *[m.COPY[other] for other in owners])
                else:
                    self._play_copy(m.COPY_BOX)
                return
        self._end()

    def _play_copy(self, move: Move) -> None:
        seat = self.seat
        if move is m.COPY_BOX:
            card = self._box[0]
        else:
            card = self._cities[move.number][self._special_at[move.number]]
        self._log.append(event(EventKind.COPY, seat, card.number, 0))
        self._copy_values(seat, card)
        # Whatever is limited is of no use any more.
        self._install(seat, effect_of(card), uses=0)
        self._end()

    def _end(self) -> None:
        self.seat = 0
        self.phase = Phase.OVER
        self.legal_moves = ()
        for seat, effect in enumerate(self._effects):
            if effect.copied is not None:
                card = effect.copied(self, seat, self._special_at[seat])
                if card is not None:
                    self._copy_values(seat, card)
        self.outcome = score(self)


_STEP: dict[Phase, Callable[[Game], None]] = {
    Phase.MARKET: Game._market_step,
    Phase.DISCARD: Game._discard_step,
    Phase.DRAW: Game._draw_step,
    Phase.BUY: Game._buy_step,
    Phase.SPECIAL: Game._special_step,
    Phase.SPHINX: Game._sphinx_step,
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
    MoveKind.MARKET: Game._play_market,
    MoveKind.COPY: Game._play_copy,
}
