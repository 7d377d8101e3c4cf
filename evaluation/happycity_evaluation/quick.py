"""A quick, sensible policy for playing a sampled world to its end: all seats by one cheap rule."""

from __future__ import annotations

from functools import cache
from typing import Final

from happycity.rules.cards import HAPPY_MARKET, Card, Mode
from happycity.rules.cities import Cities
from happycity.rules.deals import CITY_SIZE, Config
from happycity.rules.effects import EFFECTS, NO_EFFECT
from happycity.rules.game import Game
from happycity.rules.moves import COPY_BOX, DRAW, Move
from happycity.rules.scoring import Outcome
from happycity.rules.views import Phase, View
from happycity_evaluation.outlook import COIN_LEFT, VALUES, outlooks
from happycity_evaluation.special_values import PRINTED, Remaining, SpecialValue, coins_at_once, coins_to_come
from happycity_evaluation.usual_cards import USUAL_CARDS

FAIR_PURSE: Final = 4
"""The purse from which deck 2 is drawn in a playout."""
RICH_PURSE: Final = 7
"""The purse from which deck 3 is drawn."""
EVEN: Final = 0.07
"""The lead, as a share of both cities' points, that counts half as much as a lead without end."""


# Members of an enum, bound once: looking one up in its class costs as much as a whole step.
_DISCARD: Final = Phase.DISCARD
_DRAW: Final = Phase.DRAW
_BUY: Final = Phase.BUY
_SPECIAL: Final = Phase.SPECIAL
_MARKET: Final = Phase.MARKET

# The draws by what a purse can pay: from the best deck for it first, then from the next best one with cards.
_POOR: Final = (DRAW[1], DRAW[2], DRAW[3])
_FAIR: Final = (DRAW[2], DRAW[1], DRAW[3])
_RICH: Final = (DRAW[3], DRAW[2], DRAW[1])


def fast_builders(view: View) -> tuple[bool, ...]:
    """Return which rivals of the acting seat have bought a card in every turn so far.

    They will continue to, which ends the game earlier than a seat that waits for a good card expects.
    """
    return tuple(
        [
            seat != view.seat and _bought(city) >= view.round - (1 if seat > view.seat else 0)
            for seat, city in enumerate(view.cities)
        ]
    )


def _bought(city: tuple[Card, ...]) -> int:
    """Count the cards that were bought; one may have made way for a special (chapter 6)."""
    bought = 0
    for card in city:
        if card.cost > 0 or (card.effect and EFFECTS[card].replaces_last):
            bought += 1
    return bought


def play_out(game: Game, move: Move, fast: tuple[bool, ...]) -> float:
    """Play `move`, then `game` to its end, and return how its seat did: see `success`.

    Seats that are `fast` never take a coin when they can buy.
    """
    seat = game.seat
    game.apply(move)
    apply = game.apply
    while game.outcome is None:
        apply(quick_move(game, fast))
    return success(game.outcome, seat)


def success(outcome: Outcome, seat: int) -> float:
    """Return how far ahead of its rivals a seat ended, from -1 to 1.

    A rival that is barely ahead counts nearly as much as one far ahead: the places decide a game. But the
    distance counts too, as it says how safe a place is.
    """
    own = outcome.points[seat] + COIN_LEFT * outcome.coins[seat]
    total = 0.0
    for rival, points in enumerate(outcome.points):
        if rival != seat:
            other = points + COIN_LEFT * outcome.coins[rival]
            lead = own - other
            total += lead / (abs(lead) + EVEN * (own + other) + 1)
    return total / (len(outcome.points) - 1)


def quick_move(game: Game, fast: tuple[bool, ...] = ()) -> Move:
    """Return a sensible move at little cost; nothing is left to chance.

    Discard the first card, so that the centre never stands still; draw what the purse can pay; buy or
    take what makes the most of the own city; choose the market whose colour most specials ask for. Seats
    that are `fast` never take a coin when they can buy. Nothing hidden in the game is looked at.
    """
    moves = game.legal_moves
    phase = game.phase
    if phase is _DRAW:
        coins = game.cities.coins[game.seat]
        for move in _RICH if coins >= RICH_PURSE else _FAIR if coins >= FAIR_PURSE else _POOR:
            if move in moves:
                return move
    if phase is _DISCARD:
        return moves[1]
    if phase is _BUY:
        return _best_card(game, fast=bool(fast) and fast[game.seat])
    if phase is _SPECIAL:
        return _best_special(game)
    if phase is _MARKET:
        return _most_wanted_market(game)
    return _best_copy(game)


def _most_wanted_market(game: Game) -> Move:
    def wanted(move: Move) -> int:
        assert move.card is not None
        return sum([move.card.colour in special.condition for special in game.specials])

    return max(game.legal_moves, key=wanted)


def _best_card(game: Game, *, fast: bool) -> Move:
    moves, cities, seat, scoring = game.legal_moves, game.cities, game.seat, game.config.scoring
    coins, prices = cities.coins[seat], cities.prices[seat]
    income = cities.income(seat) if cities.effects else cities.printed_incomes[seat]
    inhabitants, hearts = cities.symbols(seat)
    free, by_positions = CITY_SIZE - len(cities.cards[seat]), outlooks(scoring, CITY_SIZE - cities.longest)
    choice, best = moves[0], -1.0  # less than any card's
    if not fast:
        idle = coins + cities.coin_gain(seat)
        best = by_positions[free].points(idle, income, inhabitants, hearts)
    outlook = by_positions[free - 1]
    for move in moves[1:]:
        more, more_inhabitants, more_hearts, _ = VALUES[move.number]
        left = coins - prices[move.number]
        value = outlook.points(left, income + more, inhabitants + more_inhabitants, hearts + more_hearts)
        if value > best:
            choice, best = move, value
    return choice


def _best_special(game: Game) -> Move:
    moves, cities, seat, scoring = game.legal_moves, game.cities, game.seat, game.config.scoring
    coins, income = cities.coins[seat], cities.income(seat)
    inhabitants, hearts = cities.symbols(seat)
    free, by_positions = CITY_SIZE - len(cities.cards[seat]), outlooks(scoring, CITY_SIZE - cities.longest)
    choice = moves[0]
    best = by_positions[free].points(coins, income, inhabitants, hearts)
    for move in moves[1:]:
        assert move.card is not None
        value = _estimate(cities, seat, move.card)
        worth = by_positions[free - value.positions].points(
            coins + value.coins, income + value.income, inhabitants + value.inhabitants, hearts + value.hearts
        )
        change = EFFECTS.get(move.card, NO_EFFECT).points
        if change is not None:
            worth = float(change(cities, seat, round(worth)))
        if worth > best:
            choice, best = move, worth
    return choice


def _estimate(cities: Cities, seat: int, special: Card) -> SpecialValue:
    """Estimate what a special adds to a city: what its effect gives now, and coins as they usually are."""
    effect = EFFECTS.get(special)
    if effect is None:
        return PRINTED[special.number]
    position = len(cities.cards[seat])
    usual = _usual_coins(special)
    inhabitants, hearts = effect.symbols(cities, seat, position)
    income, inhabitants, hearts = usual.income, inhabitants + special.inhabitants, hearts + special.hearts
    if effect.income is not None:
        income += effect.income(cities, seat, position)
    if effect.late_income is not None:
        income += effect.late_income(cities, seat, position, cities.incomes())
    if effect.replaces_last:
        lost = cities.cards[seat][-1]
        return SpecialValue(
            income - lost.income, inhabitants - lost.inhabitants, hearts - lost.hearts, usual.coins, 0
        )
    return SpecialValue(income, inhabitants, hearts, usual.coins)


@cache  # at most one entry for each special
def _usual_coins(special: Card) -> SpecialValue:
    """Return the coins, once and each round, that a special brings in a usual table's middle game."""
    table = Cities(Config(players=4, mode=Mode.EXPERT))
    for seat in range(table.config.players):
        table = table.with_cards(seat, HAPPY_MARKET, *USUAL_CARDS[:5])
    table = table.with_cards(0, special)
    stream, coins = coins_to_come(table, 0, Remaining(turns=4, buys=3))
    return SpecialValue(special.income + stream, 0, 0, coins + coins_at_once(table, 0))


def _best_copy(game: Game) -> Move:
    """Return the copy of an opponent's special that ends best; the box is not to be looked into."""
    choice, best = game.neutral_move, -1.0
    for move in game.legal_moves:
        if move is not COPY_BOX:
            ending = game.copy()
            ending.apply(move)
            assert ending.outcome is not None
            points = float(ending.outcome.points[game.seat])
            if points > best:
                choice, best = move, points
    return choice
