"""Playing a sampled world to its end, quickly: all seats by one cheap rule."""

from __future__ import annotations

from happycity import Card, Game, Move, Outcome, Phase, View
from happycity_bots.valuation import CITY_SIZE, COIN_LEFT, VALUES, Outlook

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
    return sum([card.cost > 0 for card in city])


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
    take what makes the most of the own city.
    """
    moves = game.legal_moves
    phase = game.phase
    if phase is Phase.DISCARD:
        return moves[1]
    view = game.view()
    if phase is Phase.DRAW:
        return _draw(moves, view.coins[view.seat])
    return _best_card(game, view, hasty=phase is Phase.BUY and hasty[view.seat])


def _draw(moves: tuple[Move, ...], coins: int) -> Move:
    for move in reversed(moves):
        if _DECK_PURSES[move.number - 1] <= coins:
            return move
    return moves[0]


def _best_card(game: Game, view: View, *, hasty: bool) -> Move:
    moves = game.legal_moves
    seat = view.seat
    city = view.cities[seat]
    coins, income = view.coins[seat], view.incomes[seat]
    inhabitants = hearts = 0
    for card in city:
        inhabitants += card.inhabitants
        hearts += card.hearts
    free = CITY_SIZE - len(city)
    turns = CITY_SIZE - max([len(other) for other in view.cities])
    idle = coins + 1 if view.phase is Phase.BUY else coins
    choice, best = moves[0], -1.0  # less than any card's
    if not hasty:
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
