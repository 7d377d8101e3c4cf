"""The guide of a first game: the move that it advises, and a reason for a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from happycity import Card, Phase
from happycity.rules.deals import CITY_SIZE
from happycity.text.board import deck_prices
from happycity_web.choices import MoveChoice, Question

_WEIGHTS = {"inhabitants": 2.0, "hearts": 2.0, "points": 1.0}
_NEARLY_FULL = 2  # free places of a city that is nearly full
_INCOME_ROUNDS = 0.5
"""What a coin of income is worth for each free place of the city: early, it pays most often."""


@dataclass(frozen=True, slots=True)
class Advice:
    """An advised move of a family game, and why it is advised."""

    choice: MoveChoice
    reason: str
    """`keep`, `discard`, `draw`, `income`, `points`, `hearts`, `inhabitants`, `coin` or `take`."""
    loses: bool = False
    """Whether it takes hearts or inhabitants away."""
    nearer: Card | None = None
    """A special whose condition it brings nearer."""
    ends_soon: bool = False
    """Whether a city is nearly full, so that the game ends soon (article 4.1)."""


def advise(question: Question) -> Advice:
    """Return what the guide advises in a decision of a family game."""
    choices = [choice for _, group in question.groups for choice in group]
    best = max(choices, key=lambda choice: sum(_values(question, choice).values()))
    match question.phase:
        case Phase.DISCARD:
            return _discard(question, choices)
        case Phase.DRAW:
            # The most expensive deck that has something for the coins at hand, else the cheapest.
            coins = question.view.coins[question.view.seat]
            decks = [choice for choice in choices if deck_prices(choice.move.number)[0] <= coins]
            return Advice((decks or choices[:1])[-1], "draw")
        case Phase.SPECIAL:
            return Advice(best, "take")
        case _:
            return _purchase(question, best)


def _purchase(question: Question, best: MoveChoice) -> Advice:
    """Advise a purchase, or a coin, with what else is to be known of it."""
    nearer = [] if best.card is None else question.nearer(best.card)
    loses = any(gain.change < 0 for gain in best.gains)
    ends_soon = any(len(city) >= CITY_SIZE - _NEARLY_FULL for city in question.view.cities)
    special = next((card for card in question.view.specials if card.id in nearer), None)
    values = _values(question, best)
    reason = max(values, key=lambda name: values[name]) if values else "coin"
    return Advice(best, reason, loses, special, ends_soon)


def _discard(question: Question, choices: list[MoveChoice]) -> Advice:
    """Keep the centre if a card of it can be bought, else discard the most expensive one."""
    view, keep = question.view, choices[-1]
    own, coins = view.cities[view.seat], view.coins[view.seat]
    if any(card not in own and card.cost <= coins for card in view.centre):
        return Advice(keep, "keep")
    costs = {choice: choice.card.cost for choice in choices if choice.card is not None}
    return Advice(max(costs, key=lambda choice: costs[choice]), "discard")


def _values(question: Question, choice: MoveChoice) -> dict[str, float]:
    """Return by number of the city what its change is worth."""
    free = CITY_SIZE - len(question.view.cities[question.view.seat])
    weights = _WEIGHTS | {"income": _INCOME_ROUNDS * free}
    return {gain.name: weights[gain.name] * gain.change for gain in choice.gains}
