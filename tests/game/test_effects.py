"""The seam of the specials' effects: a family special is lent an effect, and the engine honours it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.game.positions import card, options, play, position, skip_to, stacked_deal

from happycity import Card, Colour, Event, EventKind, Game, Mode, Outcome, Phase, Scoring
from happycity.cards import specials_of
from happycity.effects import EFFECTS, Effect

Lend = Callable[[Effect], None]

TOY_STORE = card("toy_store")  # income 2, no symbols; asks for a blue and a green card


@pytest.fixture
def lend(monkeypatch: pytest.MonkeyPatch) -> Lend:
    """Return a function that gives the Toy Store an effect for the length of a test."""
    return lambda effect: monkeypatch.setitem(EFFECTS, TOY_STORE, effect)


def about_to_take(*, seat: int = 0) -> Game:
    """Return a game in which `seat` may take the Toy Store as the fourth card of its city."""
    cities = ["", ""]
    cities[seat] = "school house"
    return position(
        Phase.SPECIAL,
        seat=seat,
        cities=cities,
        coins=(3, 3),
        centre="museum zoo bank",
        specials="toy_store",
    )


def score(*, scoring: Scoring = Scoring.PRODUCT) -> Outcome:
    """Return the outcome of a game whose seat 0 owns the Toy Store, 2 inhabitants and 1 heart."""
    game = position(
        Phase.BUY, seat=1, round=30, scoring=scoring, cities=("house school library toy_store", "school")
    )
    if game.outcome is None:
        play(game, "coin")
    assert game.outcome is not None
    return game.outcome


# Prices --------------------------------------------------------------------------------------------------


def cheaper_blue(known: Card, price: int) -> int:
    return max(0, price - 3) if known.colour is Colour.BLUE else price


def test_price_is_the_owners_only(lend: Lend) -> None:
    """A price effect changes what the owner pays from the taking on, and nobody else's prices."""
    lend(Effect(price=cheaper_blue))
    game = about_to_take()
    assert game.price(0, card("museum")) == 4
    play(game, "take toy_store")
    assert [game.price(seat, card("museum")) for seat in (0, 1)] == [1, 4]
    assert game.price(0, card("zoo")) == 8


def test_price_decides_what_is_legal_and_paid(lend: Lend) -> None:
    """The owner may buy what the lowered price allows, pays that price, and the event tells it."""
    lend(Effect(price=cheaper_blue))
    game = position(Phase.BUY, coins=(1, 9), cities=("house toy_store",), centre="museum zoo bank")
    assert options(game) == ["coin", "build museum"]
    play(game, "build museum")
    assert game.events[0] == Event(EventKind.BUILD, 0, card("museum"), 1)
    assert game.view().coins[0] == 0


def test_price_counts_for_dwellings(lend: Lend) -> None:
    """A price effect can make dwellings free."""
    lend(Effect(price=lambda known, price: 0 if known.colour is Colour.GREEN else price))
    game = position(Phase.BUY, coins=(0, 9), cities=("toy_store",), centre="museum zoo bank")
    assert options(game) == ["coin", "dwell house", "dwell apartment_building", "dwell luxury_residence"]
    assert play(game, "dwell house").view().coins[0] == 0


# Income --------------------------------------------------------------------------------------------------


def test_income_is_on_top_of_the_printed_one(lend: Lend) -> None:
    """An income effect adds to the owner's income in views, events and coins."""
    lend(Effect(income=lambda game, seat, position: 5))
    game = about_to_take(seat=1)
    play(game, "take toy_store")
    assert game.view().incomes == (1, 1 + 2 + 5)
    assert Event(EventKind.INCOME, 1, None, 8) in game.events
    assert game.view().coins == (3 + 1, 3 + 8)


def test_income_is_evaluated_when_asked_for(lend: Lend) -> None:
    """An income effect may depend on what happened since the special was taken."""
    lend(Effect(income=lambda game, seat, position: game.round))
    game = play(about_to_take(), "take toy_store")
    assert game.income(0) == 1 + 2 + 2
    skip_to(game, Phase.DISCARD, seat=0)
    assert game.income(0) == 1 + 2 + 3


def test_income_sees_owner_and_position(lend: Lend) -> None:
    """An income effect is told its owner's seat and the special's position in the city."""
    lend(Effect(income=lambda game, seat, position: 100 * seat + position))
    game = position(Phase.BUY, cities=("house", "school house toy_store"), centre="museum zoo bank")
    assert game.income(1) == 1 + 2 + 100 + 3
    assert game.income(0) == 1


# Moments -------------------------------------------------------------------------------------------------


def test_taken_happens_once_when_taken(lend: Lend) -> None:
    """The taken effect sees owner and position, with the special already in its place."""
    calls: list[tuple[int, int, object]] = []
    lend(
        Effect(
            taken=lambda game, seat, position: calls.append(
                (seat, position, game.view().cities[seat][position])
            )
        )
    )
    game = play(about_to_take(), "take toy_store")
    skip_to(game, Phase.DISCARD, seat=0)
    assert calls == [(0, 3, TOY_STORE)]


def test_taken_does_not_happen_when_declined_or_met_in_a_view(lend: Lend) -> None:
    """A special that is left, or that a city has from before, triggers nothing."""
    calls: list[int] = []
    lend(Effect(taken=lambda game, seat, position: calls.append(seat)))
    play(about_to_take(), "decline")
    position(Phase.BUY, cities=("toy_store",), centre="museum zoo bank")
    assert calls == []


def test_before_and_after_frame_the_incomes(lend: Lend) -> None:
    """The one runs before any income of the phase is paid, the other after all are."""
    calls: list[tuple[str, int, int, tuple[int, ...]]] = []

    def note(when: str) -> Callable[[Game, int, int], None]:
        return lambda game, seat, position: calls.append((when, seat, position, game.view().coins))

    lend(Effect(before_income=note("before"), after_income=note("after")))
    play(about_to_take(seat=1), "take toy_store")
    assert calls == [("before", 1, 3, (3, 3)), ("after", 1, 3, (4, 6))]


def test_moments_return_every_round(lend: Lend) -> None:
    """Both income moments come in each income phase from the taking on."""
    rounds: list[int] = []
    lend(Effect(after_income=lambda game, seat, position: rounds.append(game.round)))
    game = play(about_to_take(), "take toy_store")
    assert rounds == []
    while game.round < 5:
        game.apply(game.neutral_move)
    assert rounds == [3, 4, 5]


# Scores --------------------------------------------------------------------------------------------------


def test_inhabitants_and_hearts_add_to_the_printed_ones(lend: Lend) -> None:
    """Effects on symbols count for their owner's totals and points."""
    lend(Effect(inhabitants=lambda game, seat, position: position, hearts=lambda game, seat, position: 2))
    outcome = score()
    assert outcome.inhabitants == (2 + 4, 1)
    assert outcome.hearts == (1 + 2, 0)
    assert outcome.points == (18, 0)


def test_totals_are_cut_at_0_after_effects(lend: Lend) -> None:
    """An effect that takes away symbols can't bring a total below 0."""
    lend(Effect(inhabitants=lambda game, seat, position: -5))
    assert score(scoring=Scoring.SUM).points == (1, 1)


def test_points_come_last(lend: Lend) -> None:
    """The effect on points changes its owner's score, and ranks follow it."""
    lend(Effect(points=lambda game, seat, points: 10 * points + seat))
    assert score().points == (20, 0)
    assert score(scoring=Scoring.SUM).points == (30, 1)
    lend(Effect(points=lambda game, seat, points: 0))
    assert score(scoring=Scoring.SUM).ranks == (2, 1)


# Everywhere ----------------------------------------------------------------------------------------------


def test_effects_follow_a_copy(lend: Lend) -> None:
    """A copy has the effects of its original, and one taken afterwards is its own."""
    lend(Effect(income=lambda game, seat, position: 5, price=lambda known, price: 0))
    game = about_to_take()
    twin = game.copy()
    play(twin, "take toy_store")
    assert (game.income(0), twin.income(0), twin.copy().income(0)) == (1, 8, 8)
    assert (game.price(0, card("zoo")), twin.price(0, card("zoo"))) == (8, 0)


def test_effects_follow_a_view(lend: Lend) -> None:
    """The view of a game with an effect makes a game with the same incomes and prices."""
    lend(Effect(income=lambda game, seat, position: 5, price=lambda known, price: 0))
    game = play(about_to_take(), "take toy_store")
    view = game.view()
    twin = position(
        Phase.DISCARD,
        seat=1,
        cities=("school house toy_store", ""),
        coins=view.coins,
        centre="museum zoo bank",
    )
    assert twin.view() == view
    assert twin.price(0, card("zoo")) == 0


def test_effects_work_in_a_dealt_game(lend: Lend) -> None:
    """In a game from its deal on, a special taken in the course of play has its effect."""
    lend(Effect(income=lambda game, seat, position: 50))
    game = Game(stacked_deal(decks=("school", "", ""), specials="toy_store"))
    play(game, "draw 1", "draw 2", "draw 3", "build school")
    skip_to(game, Phase.BUY, seat=0)
    play(game, "dwell house", "take toy_store")
    skip_to(game, Phase.DISCARD, seat=0)
    assert Event(EventKind.INCOME, 0, None, 1 + 2 + 50) in game.events


def test_specials_without_effect_count_as_printed() -> None:
    """No family special has an effect: its printed values are all of it."""
    assert not set(specials_of(Mode.FAMILY)) & set(EFFECTS)
    assert {special.effect for special in specials_of(Mode.FAMILY)} == {""}


# The expert table ----------------------------------------------------------------------------------------


def test_every_expert_special_names_an_effect_of_its_own() -> None:
    """Each of the 37 expert specials has an effect by name, and no two share one."""
    effects = [special.effect for special in specials_of(Mode.EXPERT)]
    assert all(effect.isidentifier() for effect in effects)
    assert len(set(effects)) == 37


def test_expert_specials_print_few_values() -> None:
    """Only the Statue of Liberty and the Race Circuit have printed hearts; all else is in the effects."""
    printed = {
        special.id: (special.income, special.inhabitants, special.hearts)
        for special in specials_of(Mode.EXPERT)
        if special.income or special.inhabitants or special.hearts
    }
    assert printed == {"statue_of_liberty": (0, 0, 4), "race_circuit": (0, 0, 2)}


@pytest.mark.parametrize(
    ("special", "condition"),
    [
        ("joke_shop", {Colour.GREEN: 2}),
        ("statue_of_liberty", {Colour.BLUE: 3}),
        ("taj_mahal", {Colour.YELLOW: 1, Colour.BLUE: 1, Colour.GREEN: 1, Colour.ORANGE: 1}),
        ("garden", {Colour.YELLOW: 1, Colour.BLUE: 2, Colour.GREEN: 1, Colour.ORANGE: 2}),
    ],
)
def test_expert_conditions(special: str, condition: dict[Colour, int]) -> None:
    """A condition is a count for each colour that the card shows."""
    assert card(special).condition == condition


def test_expert_conditions_are_in_reach() -> None:
    """Every condition can be met by nine cards, as the special itself takes a position."""
    assert all(sum(special.condition.values()) <= 9 for special in specials_of(Mode.EXPERT))
