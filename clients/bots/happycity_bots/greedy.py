"""The bot with a rule of thumb: the move that gains most at once. Small enough to port to any language."""

from __future__ import annotations

from collections.abc import Sequence

from happycity import CARDS, Card, CardKind, Config, Move, MoveKind, View
from happycity.rules.deals import happiness
from happycity.rules.moves import COPY_BOX
from happycity.wire.messages import known_config
from happycity_client import Bot, Decision

EARLY_CARDS = 5
"""A city with fewer cards than this one (the Happy Market counts) is early: it looks for income."""

DECK_PURSE = (1, 4, 6)
"""The purse from which decks 1, 2 and 3 are drawn: the cheapest card of the deck."""

# Members of an enum, bound once: looking one up in its class costs as much as a whole step.
_KEEP, _DRAW, _MARKET, _COPY = MoveKind.KEEP, MoveKind.DRAW, MoveKind.MARKET, MoveKind.COPY


def _asked(card: Card) -> int:
    return sum(card.condition.values()) if card.effect else 0


# Tables by card number; number 0 is no card.
_EARLY_SCORES = (0, *(4 * card.income + card.inhabitants + card.hearts + _asked(card) for card in CARDS))
_LATE_VALUES = (
    (0, 0, 0),
    *(
        (card.inhabitants, card.hearts, 10 * (card.inhabitants + card.hearts) + card.income + _asked(card))
        for card in CARDS
    ),
)
"""Inhabitants, hearts, and what a card scores apart from the points that it makes."""


class GreedyBot(Bot):
    """Take the best immediate gain: income early, points late.

    The whole rule, in integers. "First" always means in the order of `decision.moves`. A special "asks
    for" the cards of its condition, all colours summed; it "has an effect" if the catalogue gives one.

    * Market: count, for the colour of each market offered, the specials on the table whose condition
      asks for that colour, however many cards of it; play the first move with the highest count.
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
    * Special: the same score, late or not by the same test, and on top of it, for a special that has an
      effect, the number of cards that it asks for; `decline` scores 0.
    * Sphinx: the score of the special that a move copies, as in the step before; `copy box` scores 0.

    All values are the printed ones. It never looks at what effects do, at other cities (but to see which
    special the Sphinx would copy), at the price of a card it can pay, or at randomness.
    """

    def choose(self, decision: Decision) -> Move:
        """Return the move that the rule in the class docstring names."""
        moves = decision.moves
        kind = moves[0].kind
        if kind is _KEEP:
            return moves[0]
        # From the message, as reading the whole view takes longer than the choice.
        seen = decision.message.view
        state = seen.seats[seen.seat]
        if kind is _DRAW:
            return _richest_draw(moves, state.coins)
        if kind is _MARKET:
            return _most_wanted_market(moves, decision.view)
        if kind is _COPY:
            numbers = [_copied(move, decision.view) for move in moves]
        else:
            numbers = [move.number for move in moves]
        if len(state.city) < EARLY_CARDS:
            scores = [_EARLY_SCORES[number] for number in numbers]
        else:
            scores = _late_scores(numbers, state.city[:], known_config(seen.config))
        return moves[scores.index(max(scores))]


def _most_wanted_market(moves: tuple[Move, ...], view: View) -> Move:
    """Return the market whose colour most specials ask for, the first one on a tie."""
    return max(moves, key=lambda move: _wanted(move, view.specials))


def _wanted(market: Move, specials: tuple[Card, ...]) -> int:
    assert market.card is not None
    return sum([market.card.colour in special.condition for special in specials])


def _richest_draw(moves: tuple[Move, ...], coins: int) -> Move:
    for move in reversed(moves):
        if DECK_PURSE[move.number - 1] <= coins:
            return move
    return moves[0]


def _copied(move: Move, view: View) -> int:
    """Return the special that the Sphinx would copy from another city, 0 for the box (article 6.3)."""
    if move is COPY_BOX:
        return 0
    return next(card.number for card in view.cities[move.number] if card.kind is CardKind.SPECIAL)


def _late_scores(numbers: list[int], city: Sequence[int], config: Config) -> list[int]:
    """Return the scores of cards by their numbers, and those of a city; a 0 is no card and scores 0."""
    inhabitants = sum([_LATE_VALUES[number][0] for number in city])
    hearts = sum([_LATE_VALUES[number][1] for number in city])
    before = happiness(config, inhabitants, hearts)
    scores = []
    for number in numbers:
        more_inhabitants, more_hearts, rest = _LATE_VALUES[number]
        after = happiness(config, inhabitants + more_inhabitants, hearts + more_hearts)
        scores.append(100 * (after - before) + rest)
    return scores
