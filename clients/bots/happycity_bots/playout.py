"""Playing a sampled world to its end, quickly: all seats by one cheap rule."""

from __future__ import annotations

from functools import cache

from happycity import Card, Config, Game, Mode, Move, Outcome, Phase, View
from happycity.cards import HAPPY_MARKET
from happycity.effects import EFFECTS, NO_EFFECT
from happycity.moves import COPY_BOX
from happycity.rulebook import CITY_SIZE
from happycity_bots.boons import PRINTED, Boon, Remaining, coins_at_once, coins_to_come
from happycity_bots.sketch import USUAL_CARDS, Sketch
from happycity_bots.valuation import COIN_LEFT, VALUES, Outlook

EVEN = 0.07
"""The lead, as a share of both cities' points, that counts half as much as a lead without end."""

_DECK_PURSES = (0, 4, 7)
"""The purse from which decks 1, 2 and 3 are drawn in a playout."""


def hasty_rivals(view: View) -> tuple[bool, ...]:
    """Return which rivals of the acting seat have bought a card in every turn so far.

    They will go on so, which ends the game earlier than a seat that waits for a good card expects.
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


def play_out(game: Game, move: Move, hasty: tuple[bool, ...]) -> float:
    """Play `move`, then `game` to its end, and return how its seat did there: see `success`.

    Seats that are `hasty` never take a coin when they can buy.
    """
    seat = game.seat
    game.apply(move)
    while game.outcome is None:
        game.apply(quick_move(game, hasty))
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


def quick_move(game: Game, hasty: tuple[bool, ...]) -> Move:
    """Return a sensible move at little cost.

    Discard the first card, so that the centre never stands still; draw what the purse can pay; buy or
    take what makes the most of the own city. In the market draft, take what comes first.
    """
    moves = game.legal_moves
    phase = game.phase
    if phase is Phase.DISCARD:
        return moves[1]
    if phase is Phase.MARKET:
        return moves[0]
    if phase is Phase.SPHINX:
        return _best_copy(game)
    if phase is Phase.DRAW:
        return _draw(moves, game.coins(game.seat))
    view = game.view()
    if phase is Phase.SPECIAL:
        return _best_special(game, view)
    return _best_card(game, view, hasty=hasty[view.seat])


def _draw(moves: tuple[Move, ...], coins: int) -> Move:
    for move in reversed(moves):
        if _DECK_PURSES[move.number - 1] <= coins:
            return move
    return moves[0]


def _totals(city: tuple[Card, ...]) -> tuple[int, int]:
    inhabitants = hearts = 0
    for card in city:
        inhabitants += card.inhabitants
        hearts += card.hearts
    return inhabitants, hearts


def _turns(view: View) -> int:
    return CITY_SIZE - max([len(city) for city in view.cities])


def _best_card(game: Game, view: View, *, hasty: bool) -> Move:
    moves = game.legal_moves
    seat = view.seat
    city = view.cities[seat]
    coins, income = view.coins[seat], view.incomes[seat]
    inhabitants, hearts = _totals(city)
    free, turns = CITY_SIZE - len(city), _turns(view)
    choice, best = moves[0], -1.0  # less than any card's
    if not hasty:
        idle = coins + game.coins_for_nothing(seat)
        best = Outlook(view, free=free, turns=turns).points(idle, income, inhabitants, hearts)
    points = Outlook(view, free=free - 1, turns=turns).points
    for move in moves:
        if move.card is not None:
            more, people, love, _ = VALUES[move.number]
            left = coins - game.price(seat, move.card)
            worth = points(left, income + more, inhabitants + people, hearts + love)
            if worth > best:
                choice, best = move, worth
    return choice


def _best_special(game: Game, view: View) -> Move:
    moves = game.legal_moves
    seat = view.seat
    coins, income = view.coins[seat], view.incomes[seat]
    inhabitants, hearts = _totals(view.cities[seat])
    free, turns = CITY_SIZE - len(view.cities[seat]), _turns(view)
    choice = moves[0]
    best = Outlook(view, free=free, turns=turns).points(coins, income, inhabitants, hearts)
    for move in moves[1:]:
        assert move.card is not None
        boon = _glance(game, view, move.card)
        worth = Outlook(view, free=free - boon.positions, turns=turns).points(
            coins + boon.coins, income + boon.income, inhabitants + boon.inhabitants, hearts + boon.hearts
        )
        change = EFFECTS.get(move.card, NO_EFFECT).points
        if change is not None:
            worth = change(game, seat, round(worth))
        if worth > best:
            choice, best = move, worth
    return choice


def _glance(game: Game, view: View, special: Card) -> Boon:
    """Estimate what a special adds to a city: what its effect gives now, and coins as they usually are."""
    effect = EFFECTS.get(special)
    if effect is None:
        return PRINTED[special.number]
    seat = view.seat
    position = len(view.cities[seat])
    usual = _usual_boon(special)
    income, inhabitants, hearts = usual.income, special.inhabitants, special.hearts
    if effect.income is not None:
        income += effect.income(game, seat, position)
    if effect.late_income is not None:
        income += effect.late_income(game, seat, position, view.incomes)
    if effect.inhabitants is not None:
        inhabitants += effect.inhabitants(game, seat, position)
    if effect.hearts is not None:
        hearts += effect.hearts(game, seat, position)
    if effect.replaces_last:
        lost = view.cities[seat][-1]
        return Boon(
            income - lost.income, inhabitants - lost.inhabitants, hearts - lost.hearts, usual.coins, 0
        )
    return Boon(income, inhabitants, hearts, usual.coins)


@cache
def _usual_boon(special: Card) -> Boon:
    """Return the coins, once and each round, that a special brings in a usual table's middle game."""
    table = Sketch(Config(players=4, mode=Mode.EXPERT))
    for seat in range(table.config.players):
        table = table.with_cards(seat, HAPPY_MARKET, *USUAL_CARDS[:5])
    table = table.with_cards(0, special)
    stream, coins = coins_to_come(table, 0, Remaining(turns=4, buys=3))
    return Boon(special.income + stream, 0, 0, coins + coins_at_once(table, 0))


def _best_copy(game: Game) -> Move:
    """Return the copy of an opponent's special that ends best; the box is not to be looked into."""
    choice, best = game.neutral_move, -1.0
    for move in game.legal_moves:
        if move is not COPY_BOX:
            ending = game.copy()
            ending.apply(move)
            assert ending.outcome is not None
            points = ending.outcome.points[game.seat]
            if points > best:
                choice, best = move, points
    return choice
