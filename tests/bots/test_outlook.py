"""What coins may still become."""

from __future__ import annotations

import pytest

from happycity import CARDS, Scoring
from happycity_bots.outlook import Outlook


@pytest.mark.parametrize("scoring", Scoring)
def test_purchases_are_valued_like_cities_that_have_the_card(scoring: Scoring) -> None:
    """The points after a purchase are those of the totals with the card, to the last bit."""
    on_sale = [card for card in CARDS if card.cost]
    for totals in ((12.0, 5, 3, 1), (7.0, 2, -3, 0), (8.5, 9.25, 0, 14), (6.0, 1, 9, 8)):
        coins, income, inhabitants, hearts = totals
        for free, turns in ((9, 20.5), (4, 3.2), (0, 0.0), (-1, 2.0)):
            outlook = Outlook(scoring, free=free, turns=turns)
            assert outlook.after_buying([card.number for card in on_sale], *totals) == [
                outlook.points(
                    coins - card.cost,
                    income + card.income,
                    inhabitants + card.inhabitants,
                    hearts + card.hearts,
                )
                for card in on_sale
            ]
