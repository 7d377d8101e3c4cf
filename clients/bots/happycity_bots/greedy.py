"""The bot with a rule of thumb: whatever gains most at once. Small enough to port to any language."""

from __future__ import annotations

from happycity import Card, Move, MoveKind, Scoring, View
from happycity_client import Bot, Decision

EARLY_CARDS = 5
"""A city with fewer cards than this one (the Happy Market counts) is early: it looks for income."""

DECK_PURSE = (1, 4, 6)
"""The purse from which decks 1, 2 and 3 are drawn: the cheapest card of the deck."""


class GreedyBot(Bot):
    """Take the best immediate gain: income early, points late.

    The whole rule, in integers. "First" always means in the order of `decision.moves`.

    * Discard: always `keep`.
    * Draw: the highest deck that may be drawn and whose cheapest card (1, 4 or 6 coins) the own purse
      can pay; if there is none, the first move.
    * Buy: score every move and play the first one with the highest score. `coin` scores 0.
      Early, while the own city holds fewer than 5 cards, a card scores
      `4 * income + inhabitants + hearts`.
      Late, a card scores `100 * (points after - points before) + 10 * (inhabitants + hearts) + income`,
      where points are inhabitants x hearts, or inhabitants + hearts in sum scoring, of the own city
      without and with the card, each total counting at least 0; the summand
      `10 * (inhabitants + hearts)` takes the card's printed symbols as they are.
    * Special: the same score, late or not by the same test; `decline` scores 0.

    It never looks at other cities, at the price of a card it can pay, or at randomness.
    """

    def choose(self, decision: Decision) -> Move:
        """Return the move that the rule in the class docstring names."""
        moves = decision.moves
        kind = moves[0].kind
        if kind is MoveKind.KEEP:
            return moves[0]
        if kind is MoveKind.DRAW:
            return _richest_draw(moves, decision.view.coins[decision.seat])
        return _best_card(moves, decision.view, decision.seat)


def _richest_draw(moves: tuple[Move, ...], coins: int) -> Move:
    for move in reversed(moves):
        if DECK_PURSE[move.number - 1] <= coins:
            return move
    return moves[0]


def _best_card(moves: tuple[Move, ...], view: View, seat: int) -> Move:
    city = view.cities[seat]
    if len(city) < EARLY_CARDS:
        return max(moves, key=_early_score)
    inhabitants = hearts = 0
    for card in city:
        inhabitants += card.inhabitants
        hearts += card.hearts
    product = view.config.scoring is Scoring.PRODUCT
    before = _points(inhabitants, hearts, product=product)
    best, best_score = moves[0], 0
    for move in moves:
        card_or_none = move.card
        if card_or_none is None:
            continue
        score = _late_score(card_or_none, inhabitants, hearts, before, product=product)
        if score > best_score:
            best, best_score = move, score
    return best


def _early_score(move: Move) -> int:
    card = move.card
    return 0 if card is None else 4 * card.income + card.inhabitants + card.hearts


def _late_score(card: Card, inhabitants: int, hearts: int, before: int, *, product: bool) -> int:
    after = _points(inhabitants + card.inhabitants, hearts + card.hearts, product=product)
    return 100 * (after - before) + 10 * (card.inhabitants + card.hearts) + card.income


def _points(inhabitants: int, hearts: int, *, product: bool) -> int:
    inhabitants, hearts = max(0, inhabitants), max(0, hearts)
    return inhabitants * hearts if product else inhabitants + hearts
