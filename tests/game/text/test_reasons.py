"""Why a move is better than another one, in words."""

from gettext import NullTranslations

import pytest
from tests.game.rules.positions import NINE, view_with

from happycity import Mode, Move, Phase, Scoring, View
from happycity.text.reasons import reasons

CITY = view_with(Phase.BUY, coins=[8], cities=["school igloo"], specials="dinosaur_park nightclub toy_store")
"""A city of two inhabitants and no hearts; the specials lack one, two and no cards of it."""
SUM = view_with(Phase.BUY, coins=[8], cities=["school igloo"], scoring=Scoring.SUM)
LAST = view_with(Phase.BUY, coins=[8], cities=[NINE.removesuffix(" hospital")])
CHOICE = view_with(Phase.SPECIAL, mode=Mode.EXPERT, cities=["school igloo"], specials="greengrocer pyramid")
DRAW = view_with(Phase.DRAW, coins=[3])
DISCARD = view_with(Phase.DISCARD, coins=[4, 7], centre="museum casino grocery")


@pytest.mark.parametrize(
    ("view", "best", "other", "said"),
    [
        (
            CITY,
            ("build library", -2),
            ("coin", 1),
            ["points so far 2, not 0: inhabitants 2 times hearts 1", "nearer to Dinosaur Park"],
        ),
        (SUM, ("build library", -2), ("coin", 1), ["points so far 3, not 2: inhabitants 2 and hearts 1"]),
        (CITY, ("coin", 1), ("build library", -2), ["coins left 9, not 6"]),
        (CITY, ("build bookshop", -3), ("dwell house", -1), ["income 3, not 2, in every round"]),
        (CITY, ("dwell house", -1), ("coin", 1), ["inhabitants 3, not 2"]),
        (
            LAST,
            ("build hospital", -4),
            ("coin", 1),
            [
                "points so far 20, not 12: inhabitants 5 times hearts 4",
                "the city is full, so this round is the last",
            ],
        ),
        (
            LAST,
            ("coin", 1),
            ("build hospital", -4),
            ["coins left 9, not 4", "the city isn't full yet, so the game goes on"],
        ),
        (CHOICE, ("take pyramid", 0), ("decline", 0), ["At the end it copies income"]),
        (CHOICE, ("decline", 0), ("take pyramid", 0), ["a city has one special only"]),
        (DRAW, ("draw 2", 0), ("draw 3", 0), ["its cards cost 4 to 5, and the coins are 3"]),
        (
            DISCARD,
            ("discard casino", 0),
            ("discard museum", 0),
            [
                "Casino costs 7, and the coins are 4",
                "the next seat could buy Casino",
                "the coins are enough for Museum",
            ],
        ),
        (DISCARD, ("keep", 0), ("discard grocery", 0), ["the coins are enough for Grocery"]),
    ],
)
def test_what_speaks_for_a_move(
    view: View, best: tuple[str, int], other: tuple[str, int], said: list[str]
) -> None:
    moves = Move.parse(best[0]), Move.parse(other[0])
    found = reasons(view, dict(zip(moves, (best[1], other[1]), strict=True)), *moves)
    assert [reason[: len(start)] for reason, start in zip(found, said, strict=False)] == said, found


def test_reasons_are_translated_with_the_names_of_cards() -> None:
    class Texts(NullTranslations):
        def gettext(self, message: str) -> str:
            return message.replace("nearer to", "bliżej:")

        def pgettext(self, context: str, message: str) -> str:
            return f"<{message}>"

    house, school = Move.parse("dwell house"), Move.parse("build school")
    view = view_with(Phase.BUY, cities=["igloo"], specials="cat_cafe")
    assert "bliżej: <Cat Café>" in reasons(view, {house: -1, school: -2}, house, school, Texts())
