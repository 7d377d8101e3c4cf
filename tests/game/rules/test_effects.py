"""The seam of the specials' effects: a special is lent an effect, and the engine honours each hook."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Protocol

import pytest
from tests.game.rules.positions import (
    card,
    cards,
    gains,
    last_turn_over,
    next_round,
    options,
    outcome_of,
    play,
    position,
    price_of,
    skip_to,
    stacked_deal,
)

from happycity import Card, Colour, Event, EventKind, Game, Mode, Outcome, Phase, Scoring
from happycity.rules.cards import SPECIALS, specials_of
from happycity.rules.effects import EFFECTS, NO_EFFECT, Effect, Gains, Occasion, Table

TOY_STORE = card("toy_store")  # income 2, no symbols; asks for a blue and a green card
CENTRE = "museum zoo bank"


class Lend(Protocol):
    """What gives a special, by default the Toy Store, an effect for the length of a test."""

    def __call__(self, effect: Effect, *, to: str = ...) -> None: ...


@pytest.fixture
def lend(monkeypatch: pytest.MonkeyPatch) -> Lend:
    def lend(effect: Effect, *, to: str = "toy_store") -> None:
        monkeypatch.setitem(EFFECTS, card(to), effect)

    return lend


def about_to_take(*, seat: int = 0, city: str = "school house") -> Game:
    """Return a game in which `seat` may take the Toy Store as the next card of its city."""
    cities = ["", ""]
    cities[seat] = city
    return position(
        Phase.SPECIAL,
        seat=seat,
        cities=cities,
        coins=(3, 3),
        centre=CENTRE,
        specials="toy_store",
    )


def buying(*cities: str, seat: int = 0, coins: Sequence[int] = (9, 9)) -> Game:
    return position(Phase.BUY, seat=seat, coins=coins, cities=cities, centre=CENTRE)


def incomes_of(game: Game) -> list[int]:
    """Return the coins paid as incomes by the last events."""
    return [event.coins for event in game.events if event.kind is EventKind.INCOME_PAID]


def score(*, scoring: Scoring = Scoring.PRODUCT, opponent: str = "school") -> Outcome:
    """Return the outcome of a game whose seat 0 owns the Toy Store, 2 inhabitants and 1 heart."""
    return outcome_of(
        position(
            Phase.SPECIAL,
            seat=1,
            round=30,
            scoring=scoring,
            cities=("house school library toy_store", opponent),
        )
    )


# Prices --------------------------------------------------------------------------------------------------


def cheaper_blue(known: Card, price: int) -> int:
    return max(0, price - 3) if known.colour is Colour.BLUE else price


def test_price_is_the_owners_only(lend: Lend) -> None:
    """A price effect changes what the owner pays from the taking on, and nobody else's prices."""
    lend(Effect(price=cheaper_blue))
    game = about_to_take()
    assert price_of(game, 0, card("museum")) == 4
    play(game, "take toy_store")
    assert [price_of(game, seat, card("museum")) for seat in (0, 1)] == [1, 4]
    assert price_of(game, 0, card("zoo")) == 8


def test_price_decides_what_is_legal_and_paid(lend: Lend) -> None:
    """The owner may buy what the lowered price allows, pays that price, and the event has it."""
    lend(Effect(price=cheaper_blue))
    game = buying("house toy_store", coins=(1, 9))
    assert options(game) == ["coin", "build museum"]
    play(game, "build museum")
    assert game.events[0] == Event(EventKind.BUILD, 0, card("museum"), coins=-1)
    assert game.view().coins[0] == 0


def test_price_counts_for_dwellings(lend: Lend) -> None:
    """A price effect can make dwellings free."""
    lend(Effect(price=lambda known, price: 0 if known.colour is Colour.GREEN else price))
    game = buying("toy_store", coins=(0, 9))
    assert options(game) == ["coin", "dwell house", "dwell apartment_building", "dwell luxury_residence"]
    assert play(game, "dwell house").view().coins[0] == 0


def test_price_may_rise(lend: Lend) -> None:
    """A price effect gets the printed price and may make a card too dear."""
    lend(Effect(price=lambda known, price: 2 * price))
    assert options(buying("house apartment_building toy_store", coins=(8, 9))) == [
        "coin",
        "build bank",
        "build museum",
    ]


def test_coins_for_nothing_are_the_owners(lend: Lend) -> None:
    """Only the owner gains the effect's coins by buying nothing."""
    lend(Effect(coin_gain=5))
    game = buying("toy_store")
    assert [game.cities.coin_gain(seat) for seat in (0, 1)] == [5, 1]
    play(game, "coin")
    assert game.events[0] == Event(EventKind.COIN, 0, coins=5)
    assert game.view().coins == (9 + 5, 9)


@pytest.mark.parametrize("buyer", [0, 1])
def test_paid_sees_every_purchase(lend: Lend, buyer: int) -> None:
    """It gets owner, position, buyer and price, no matter who buys, and sees the coins after the payment."""
    calls: list[tuple[int, int, int, int, int]] = []

    def paid(table: Table, seat: int, position: int, buyer: int, price: int) -> Gains:
        calls.append((seat, position, buyer, price, table.coins[buyer]))
        return [(seat, 1), (buyer, -2)]

    lend(Effect(paid=paid))
    game = play(buying("house toy_store", "", seat=buyer), "build museum")
    assert calls == [(0, 2, buyer, 4, 5)]
    assert gains(game) == [(0, "toy_store", 1), (buyer, "toy_store", -2)]


def test_paid_ignores_who_buys_nothing(lend: Lend) -> None:
    """Taking a coin is no purchase."""
    lend(Effect(paid=lambda table, seat, position, buyer, price: [(seat, 1)]))
    assert gains(play(buying("toy_store"), "coin")) == []


# When it is taken ----------------------------------------------------------------------------------------


def test_taken_happens_once_when_taken(lend: Lend) -> None:
    """The taken effect sees owner and position, with the special already in its place."""
    calls: list[tuple[int, int, Card]] = []

    def taken(table: Table, seat: int, position: int) -> Gains:
        calls.append((seat, position, table.cards[seat][position]))
        return []

    lend(Effect(taken=taken))
    game = play(about_to_take(), "take toy_store")
    skip_to(game, Phase.DISCARD, seat=0)
    assert calls == [(0, 3, TOY_STORE)]


def test_taken_pays_all_whom_it_names(lend: Lend) -> None:
    """Each gain or loss changes a purse and is an event with the special, in the order of the gains."""
    lend(Effect(taken=lambda table, seat, position: [(1, 2), (0, -3)]))
    game = play(about_to_take(), "take toy_store")
    assert game.events == (
        Event(EventKind.TAKE, 0, TOY_STORE),
        Event(EventKind.EFFECT_PAID, 1, TOY_STORE, coins=2),
        Event(EventKind.EFFECT_PAID, 0, TOY_STORE, coins=-3),
    )
    assert game.view().coins == (0, 5)


def test_gains_of_nothing_are_no_events(lend: Lend) -> None:
    """A gain of 0 coins is no event."""
    lend(Effect(taken=lambda table, seat, position: [(0, 0), (1, 1)]))
    assert gains(play(about_to_take(), "take toy_store")) == [(1, "toy_store", 1)]


def test_taken_does_not_happen_when_declined_or_met_in_a_view(lend: Lend) -> None:
    """A special that is left, or that a city has from before, triggers nothing."""
    calls: list[int] = []

    def taken(table: Table, seat: int, position: int) -> Gains:
        calls.append(seat)
        return []

    lend(Effect(taken=taken))
    play(about_to_take(), "decline")
    buying("toy_store")
    assert calls == []


def test_replaces_last_discards_before_the_special_is_added(lend: Lend) -> None:
    """The special takes the position of the last card, and what happens when it is taken sees it there."""
    positions: list[int] = []

    def taken(table: Table, seat: int, position: int) -> Gains:
        positions.append(position)
        return [(seat, len(table.cards[seat]))]

    lend(Effect(replaces_last=True, taken=taken))
    game = play(about_to_take(city="school house florist"), "take toy_store")
    assert game.view().cities[0] == cards("happy_market school house toy_store")
    assert game.view().discards == (1, 0, 0)
    assert positions == [3]
    assert gains(game) == [(0, "toy_store", 4)]


def test_replaces_last_is_legal_in_a_full_city(lend: Lend) -> None:
    """With ten cards only specials that replace one can be taken."""
    city = "school house grocery florist library museum spa zoo garage"
    assert about_to_take(city=city).seat == 1
    lend(Effect(replaces_last=True))
    assert options(about_to_take(city=city)) == ["decline", "take toy_store"]


# Income --------------------------------------------------------------------------------------------------


def test_income_is_on_top_of_the_printed_one(lend: Lend) -> None:
    """An income effect adds to the owner's income in views, events and coins."""
    lend(Effect(income=lambda table, seat, position: 5))
    game = about_to_take(seat=1)
    play(game, "take toy_store")
    assert game.view().incomes == (1, 1 + 2 + 5)
    assert Event(EventKind.INCOME_PAID, 1, coins=8) in game.events
    assert game.view().coins == (3 + 1, 3 + 8)


def test_income_is_evaluated_when_asked_for(lend: Lend) -> None:
    """An income effect may depend on what happened since the special was taken."""
    lend(Effect(income=lambda table, seat, position: len(table.cards[1])))
    game = buying("toy_store", "", seat=1)
    assert game.cities.income(0) == 1 + 2 + 1
    play(game, "build zoo")
    assert game.cities.income(0) == 1 + 2 + 2


def test_income_sees_owner_and_position(lend: Lend) -> None:
    """An income effect gets its owner's seat and the special's position in the city."""
    lend(Effect(income=lambda table, seat, position: 100 * seat + position))
    game = buying("house", "school igloo toy_store")
    assert game.cities.income(1) == 1 + 1 + 2 + 100 + 3
    assert game.cities.income(0) == 1


def test_late_income_sees_every_income_but_late_ones(lend: Lend) -> None:
    """It gets all incomes with the effects of others, yet without what late effects bring."""
    seen: list[tuple[int, int, list[int]]] = []

    def late(table: Table, seat: int, position: int, incomes: Sequence[int]) -> int:
        seen.append((seat, position, list(incomes)))
        return 10 * (seat + 1)

    lend(Effect(late_income=late))
    lend(Effect(late_income=late), to="cat_cafe")
    lend(Effect(income=lambda table, seat, position: 5), to="film_studios")
    game = buying("house toy_store", "cat_cafe", "film_studios", coins=(2, 2, 2))
    seen.clear()
    assert game.cities.incomes() == (3 + 10, 2 + 20, 3 + 5)
    assert seen == [(0, 2, [3, 2, 8]), (1, 1, [3, 2, 8])]


# The income phase ----------------------------------------------------------------------------------------


def test_hooks_of_the_income_phase_come_in_order(lend: Lend) -> None:
    """One runs before any income is paid, one along with them, one after all are; each sees the coins."""
    calls: list[tuple[str, int, int, list[int]]] = []

    def note(when: str) -> Callable[[Table, int, int], Gains]:
        def hook(table: Table, seat: int, position: int) -> Gains:
            calls.append((when, seat, position, [table.coins[0], table.coins[1]]))
            return [(seat, 10)]

        return hook

    def along(table: Table, seat: int, position: int, incomes: Sequence[int]) -> Gains:
        calls.append(("along", seat, position, list(incomes)))
        return [(seat, 100)]

    lend(
        Effect(
            before_income=note("before"),
            with_income=along,
            uses=1,
            used_by=Occasion.INCOME_PHASE,
            after_income=note("after"),
        )
    )
    game = play(about_to_take(seat=1), "take toy_store")
    assert calls == [
        ("before", 1, 3, [3, 3]),
        ("along", 1, 3, [1, 3]),
        ("after", 1, 3, [3 + 1, 3 + 10 + 3 + 100]),
    ]
    assert [event.kind for event in game.events] == [
        EventKind.TAKE,
        EventKind.ROUND_STARTED,
        EventKind.EFFECT_PAID,
        EventKind.INCOME_PAID,
        EventKind.INCOME_PAID,
        EventKind.EFFECT_PAID,
        EventKind.EFFECT_PAID,
    ]
    assert game.view().coins == (4, 126)


def test_all_before_hooks_run_before_any_income(lend: Lend) -> None:
    """Effects of several seats frame the incomes of all."""
    lend(Effect(before_income=lambda table, seat, position: [(seat, 1)]))
    lend(Effect(after_income=lambda table, seat, position: [(seat, 2)]), to="cat_cafe")
    lend(Effect(before_income=lambda table, seat, position: [(seat, 3)]), to="film_studios")
    game = position(Phase.SPECIAL, seat=2, cities=("toy_store", "cat_cafe", "film_studios"))
    kinds = [
        event.kind for event in game.events if event.kind in {EventKind.EFFECT_PAID, EventKind.INCOME_PAID}
    ]
    assert kinds == [EventKind.EFFECT_PAID] * 2 + [EventKind.INCOME_PAID] * 3 + [EventKind.EFFECT_PAID]
    assert gains(game) == [(0, "toy_store", 1), (2, "film_studios", 3), (1, "cat_cafe", 2)]


def test_hooks_of_the_income_phase_return_every_round(lend: Lend) -> None:
    """Without a limit they come in each income phase from the taking on, and not before."""
    lend(
        Effect(
            before_income=lambda table, seat, position: [(seat, 1)],
            after_income=lambda table, seat, position: [(seat, 2)],
        )
    )
    game = play(about_to_take(), "take toy_store")
    assert gains(game) == []
    paid = []
    while game.round < 5:
        game.apply(game.neutral_move)
        paid += [(game.round, coins) for _, _, coins in gains(game)]
    assert paid == [(3, 1), (3, 2), (4, 1), (4, 2), (5, 1), (5, 2)]


def test_with_income_is_not_part_of_the_income(lend: Lend) -> None:
    """What is gained along with the incomes shows in no income, shown or paid."""
    lend(
        Effect(
            with_income=lambda table, seat, position, incomes: [(seat, sum(incomes))],
            uses=1,
            used_by=Occasion.INCOME_PHASE,
        )
    )
    game = position(Phase.SPECIAL, seat=1, cities=("toy_store", "garage"))
    assert game.view().incomes == (3, 3)
    assert incomes_of(game) == [3, 3]
    assert gains(game) == [(0, "toy_store", 6)]


def test_with_income_without_a_limit_comes_in_every_phase(lend: Lend) -> None:
    """0 uses are no limit for an effect along with the incomes either."""
    lend(Effect(with_income=lambda table, seat, position, incomes: [(seat, 1)]))
    game = position(Phase.SPECIAL, seat=1, cities=("toy_store", ""))
    assert gains(game) == [(0, "toy_store", 1)]


# Limited effects -----------------------------------------------------------------------------------------


def test_a_limited_price_is_used_up_by_purchases(lend: Lend) -> None:
    """A price that holds for two purchases is the printed one afterwards; the view counts down."""
    lend(Effect(price=lambda known, price: 0, uses=2, used_by=Occasion.PURCHASE))
    game = buying("toy_store")
    seen = [(game.view().uses, price_of(game, 0, card("stadium")))]
    for _ in range(3):
        skip_to(game, Phase.BUY, seat=0)
        play(game, next(move for move in options(game) if move != "coin"))
        seen.append((game.view().uses, price_of(game, 0, card("stadium"))))
    assert seen == [((2, 0), 0), ((1, 0), 0), ((0, 0), 9), ((0, 0), 9)]


def test_a_limited_price_waits_while_nothing_is_bought(lend: Lend) -> None:
    """Buying nothing, income phases and the purchases of others use up no price."""
    lend(Effect(price=lambda known, price: 0, uses=1, used_by=Occasion.PURCHASE))
    game = play(buying("toy_store"), "coin")
    skip_to(game, Phase.BUY, seat=1)
    play(game, "build museum")
    skip_to(game, Phase.BUY, seat=0)
    assert (game.round, game.view().uses, price_of(game, 0, card("zoo"))) == (3, (1, 0), 0)


def test_a_limited_gain_is_used_up_by_income_phases(lend: Lend) -> None:
    """A gain that comes along with three incomes ends with the third."""
    lend(
        Effect(
            with_income=lambda table, seat, position, incomes: [(seat, 1)],
            uses=3,
            used_by=Occasion.INCOME_PHASE,
        )
    )
    game = play(about_to_take(), "take toy_store")
    assert game.view().uses == (3, 0)
    rounds = []
    while game.round < 8:
        game.apply(game.neutral_move)
        rounds += [game.round] * len(gains(game))
    assert rounds == [3, 4, 5]
    assert game.view().uses == (0, 0)


def test_uses_begin_when_the_special_is_taken(lend: Lend) -> None:
    """As long as nobody has the special, there is nothing to use up."""
    lend(Effect(price=lambda known, price: 0, uses=2, used_by=Occasion.PURCHASE))
    game = about_to_take()
    assert game.view().uses == (0, 0)
    assert play(game, "take toy_store").view().uses == (2, 0)


def test_uses_are_the_copys_own(lend: Lend) -> None:
    """Using up a limited effect in a copy leaves the original's as it is."""
    lend(Effect(price=lambda known, price: 0, uses=1, used_by=Occasion.PURCHASE))
    game = buying("toy_store")
    twin = play(game.copy(), "build zoo")
    assert (game.view().uses, twin.view().uses) == ((1, 0), (0, 0))
    assert (price_of(game, 0, card("zoo")), price_of(twin, 0, card("zoo"))) == (0, 8)


# The end -------------------------------------------------------------------------------------------------


def test_inhabitants_and_hearts_add_to_the_printed_ones(lend: Lend) -> None:
    """Effects on symbols count for their owner's totals and points."""
    lend(
        Effect(
            inhabitants=lambda table, seat, position: position,
            hearts=lambda table, seat, position: 2,
        )
    )
    outcome = score()
    assert outcome.inhabitants == (2 + 4, 1)
    assert outcome.hearts == (1 + 2, 0)
    assert outcome.points == (18, 0)


def test_totals_are_cut_at_0_after_effects(lend: Lend) -> None:
    """An effect that takes away symbols can't bring a total below 0."""
    lend(Effect(inhabitants=lambda table, seat, position: -5))
    assert score(scoring=Scoring.SUM).points == (1, 1)


def test_points_come_last(lend: Lend) -> None:
    """The effect on points changes its owner's score, and ranks follow it."""
    lend(Effect(points=lambda table, seat, points: 10 * points + seat))
    assert score().points == (20, 0)
    assert score(scoring=Scoring.SUM).points == (30, 1)
    lend(Effect(points=lambda table, seat, points: 0))
    assert score(scoring=Scoring.SUM).ranks == (2, 1)


def test_copied_values_are_those_of_the_card(lend: Lend) -> None:
    """The special has income, inhabitants and hearts of the card that the effect names, at the end only."""
    lend(Effect(copied=lambda table, seat, position: card("bookshop")))
    assert position(Phase.BUY, cities=("toy_store",), centre=CENTRE).view().incomes == (3, 1)
    game = position(Phase.SPECIAL, seat=1, round=30, cities=("library toy_store", ""))
    assert game.view().incomes == (3 + 1, 1)
    assert (outcome_of(game).inhabitants[0], outcome_of(game).hearts[0]) == (1, 1)


def test_copied_may_be_nothing(lend: Lend) -> None:
    """An effect that finds no card copies none."""
    lend(Effect(copied=lambda table, seat, position: None))
    assert score().points == (2, 0)


def test_copied_values_count_for_later_effects(lend: Lend) -> None:
    """All copies are made before anybody's incomes and symbols are looked at."""
    lend(
        Effect(hearts=lambda table, seat, position: table.income(1) + sum(table.symbols(1))),
    )
    lend(Effect(copied=lambda table, seat, position: card("bookshop")), to="cat_cafe")
    assert score(opponent="cat_cafe").hearts[0] == 1 + (1 + 1 + 1) + (1 + 2)


def test_chooses_copy_takes_values_and_effect(lend: Lend) -> None:
    """What is chosen adds its printed values to the special's own, and acts for the owner's position."""
    lend(Effect(chooses_copy=True))
    lend(Effect(hearts=lambda table, seat, position: 10 * seat + position), to="cat_cafe")
    game = position(Phase.SPECIAL, seat=1, round=30, cities=("house cat_cafe", "toy_store"))
    assert (game.phase, game.seat, options(game)) == (Phase.SPHINX, 1, ["copy box", "copy 0"])
    play(game, "copy 0")
    assert game.events == (Event(EventKind.COPY, 1, card("cat_cafe")),)
    assert game.view().incomes == (1 + 1, 1 + 2 + 1)
    assert outcome_of(game).hearts == (2 + 2, 2 + 11)


def test_chooses_copy_triggers_nothing_at_once(lend: Lend) -> None:
    """What happens when a special is taken doesn't happen when it is copied."""
    lend(Effect(chooses_copy=True))
    lend(Effect(taken=lambda table, seat, position: [(seat, 9)], replaces_last=True), to="cat_cafe")
    game = position(Phase.SPECIAL, seat=1, round=30, coins=(5, 5), cities=("toy_store house", "cat_cafe"))
    play(game, "copy 1")
    assert outcome_of(game).coins == (5, 5)
    assert len(game.view().cities[0]) == 3


# Everywhere ----------------------------------------------------------------------------------------------


def test_effects_follow_a_copy(lend: Lend) -> None:
    """A copy has the effects of its original, and one taken afterwards is its own."""
    lend(Effect(income=lambda table, seat, position: 5, price=lambda known, price: 0))
    game = about_to_take()
    twin = game.copy()
    play(twin, "take toy_store")
    assert (game.cities.income(0), twin.cities.income(0), twin.copy().cities.income(0)) == (1, 8, 8)
    assert (price_of(game, 0, card("zoo")), price_of(twin, 0, card("zoo"))) == (8, 0)


def test_effects_follow_a_view(lend: Lend) -> None:
    """The view of a game with an effect makes a game with the same incomes and prices."""
    lend(Effect(income=lambda table, seat, position: 5, price=lambda known, price: 0))
    game = play(about_to_take(), "take toy_store")
    view = game.view()
    twin = position(
        Phase.DISCARD,
        seat=1,
        cities=("school house toy_store", ""),
        coins=view.coins,
        centre=CENTRE,
    )
    assert twin.view() == view
    assert price_of(twin, 0, card("zoo")) == 0


def test_effects_work_in_a_dealt_game(lend: Lend) -> None:
    """In a game from its deal on, a special taken in the course of play has its effect."""
    lend(Effect(income=lambda table, seat, position: 50))
    game = Game(stacked_deal(decks=("school", "", ""), specials="toy_store"))
    play(game, "draw 1", "draw 2", "draw 3", "build school")
    skip_to(game, Phase.BUY, seat=0)
    play(game, "dwell house", "take toy_store")
    skip_to(game, Phase.DISCARD, seat=0)
    assert Event(EventKind.INCOME_PAID, 0, coins=1 + 2 + 50) in game.events


def test_an_effect_without_hooks_does_nothing(lend: Lend) -> None:
    """All hooks have defaults: an empty effect leaves a special as printed."""
    lend(Effect())
    game = play(about_to_take(seat=1), "take toy_store")
    assert gains(game) == []
    assert (game.view().coins, game.view().incomes, game.view().uses) == ((4, 6), (1, 3), (0, 0))
    assert score().points == (2, 0)


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


def test_every_expert_special_has_its_effect() -> None:
    """The table holds an effect for each expert special and for nothing else."""
    assert set(EFFECTS) == set(specials_of(Mode.EXPERT))
    assert len({id(effect) for effect in EFFECTS.values()}) == 37


def test_every_name_of_the_table_is_in_use() -> None:
    """The effects named in `specials.csv` are those of the cards, row by row."""
    table = files("happycity.rules").joinpath("data", "specials.csv").read_text(encoding="utf-8")
    named = {row["id"]: row["effect"] for row in csv.DictReader(table.splitlines())}
    assert named == {special.id: special.effect for special in SPECIALS}
    assert {card_id for card_id, effect in named.items() if effect} == {known.id for known in EFFECTS}


@pytest.mark.parametrize("special", specials_of(Mode.EXPERT), ids=str)
def test_every_effect_has_a_text_and_does_something(special: Card) -> None:
    """A sentence or two say what an effect does; beside the text it has a hook."""
    assert special.effect_text == special.effect_text.strip()
    assert special.effect_text.endswith(".")
    assert len(special.effect_text) > 20
    assert EFFECTS[special] != NO_EFFECT


def test_limited_effects_tell_what_uses_them_up() -> None:
    """Undersea Tunnel and Louvre apply once and twice; no other effect has a limit."""
    limited = {
        special.id: (effect.uses, effect.used_by)
        for special, effect in EFFECTS.items()
        if effect.uses or effect.used_by
    }
    assert limited == {
        "undersea_tunnel": (1, Occasion.PURCHASE),
        "louvre": (2, Occasion.INCOME_PHASE),
    }


@pytest.mark.parametrize("special", specials_of(Mode.EXPERT), ids=str)
def test_every_special_goes_through_a_round_and_the_end(special: Card) -> None:
    """With any special in a city, alone or copied, an income phase and the scoring go through."""
    city = f"school igloo {special.id}"
    assert next_round(cities=(city, "")).round == 3
    game = last_turn_over(cities=(city, "florist house sphinx" if special.id != "sphinx" else ""))
    while game.outcome is None:
        game.apply(game.legal_moves[-1])
    assert min(outcome_of(game).points) >= 0


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
