"""What the bots make of the expert game: the market draft, effects and prices, the Sphinx."""

from __future__ import annotations

import pytest
from tests.bots.matches import choose, play, seat_bot
from tests.game.rules.positions import expert, last_turn_over, options, price_of, stacked_deal

from happycity import CARDS_BY_ID, DWELLINGS, Config, Game, Mode, Move, Phase
from happycity.rules.cards import BUILDINGS
from happycity.rules.cities import Cities
from happycity.rules.effects import EFFECTS
from happycity_bots import BOTS, PlannerBot
from happycity_bots.quick import fast_builders, play_out, quick_move
from happycity_bots.special_values import Remaining, additions, value_if_taken
from happycity_bots.usual_cards import USUAL_CARDS
from happycity_bots.valuation import prices
from happycity_client import Bot, Decision

LEFT = Remaining(turns=4, buys=3)
PRICED = [card.id for card, effect in EFFECTS.items() if effect.price is not None]


def choice(bot: type[Bot], game: Game) -> str:
    return str(choose(seat_bot(bot, game, game.seat), Decision.of(game)))


def drafting(specials: str) -> Game:
    """Return an expert game of two at its first market choice, with these four specials."""
    return Game(stacked_deal(players=2, mode=Mode.EXPERT, specials=specials))


def copying(*cities: str) -> Game:
    """Return an expert game whose first seat has a Sphinx that must choose; cities without their market."""
    game = last_turn_over(cities=cities)
    assert (game.phase, game.seat) == (Phase.SPHINX, 0)
    return game


def test_every_bot_has_an_answer_to_the_sphinx() -> None:
    game = copying("library igloo house sphinx", "igloo treehouse joke_shop")
    for bot in BOTS.values():
        assert choice(bot, game) in options(game)


def test_what_the_planner_drafts() -> None:
    # No special on the table asks for another colour.
    for specials, colours in [
        ("joke_shop mayan_pyramid statue_of_liberty tower_of_pisa", {"blue", "green"}),
        ("harbour billiard_hall palace sushi_restaurant", {"yellow", "blue", "green"}),
    ]:
        assert choice(PlannerBot, drafting(specials)).removeprefix("market ") in colours

    # A market that brings a special nearer and feeds its effect is better than one that does the first.
    without_green = drafting("joke_shop greengrocer mayan_pyramid tower_of_pisa")
    assert choice(PlannerBot, without_green) == "market green"
    # A Sphinx may copy what another player takes: its chance in the draft is not judged by itself alone.
    game = drafting("taj_mahal arcade sphinx undersea_tunnel")
    game.apply(Move.parse("market blue"))
    assert choice(PlannerBot, game) == "market green"


def test_which_specials_are_taken() -> None:
    # Four hearts for four green cards, where inhabitants are plenty.
    for name in ["planner", "rollout"]:
        game = expert(
            Phase.SPECIAL,
            round=7,
            cities=["house apartment_building igloo luxury_residence bookshop library ski_resort", "igloo"],
            markets=["purple"],
            specials="wind_turbine",
        )
        assert choice(BOTS[name], game) == "take wind_turbine"

    # At the end coins buy nothing any more, but the income that they are counted by costs points.
    for name in ["planner", "rollout"]:
        game = expert(
            Phase.SPECIAL,
            round=29,
            cities=["grocery shoe_shop library igloo hospital museum bank garage", "igloo"],
            markets=["orange"],
            specials="concert_arena",
        )
        assert choice(BOTS[name], game) == "decline"

    # Four hearts are worth a poor last card, but not one with nearly as many and inhabitants to match.
    city = "library town_square museum school"
    poor = expert(Phase.SPECIAL, round=6, cities=[f"{city} factory", "igloo"], specials="statue_of_liberty")
    assert choice(PlannerBot, poor) == "take statue_of_liberty"
    good = expert(
        Phase.SPECIAL,
        round=30,
        cities=["library town_square museum luxury_residence", "igloo"],
        specials="statue_of_liberty",
    )
    assert choice(PlannerBot, good) == "decline"


def test_what_the_planner_buys_with_a_special() -> None:
    # A heart for each green card makes every green card worth a heart more, and no other.
    game = expert(Phase.BUY, cities=["bookshop library ski_resort garage wind_turbine"], coins=[9])
    green, blue = CARDS_BY_ID["house"], CARDS_BY_ID["museum"]
    assert additions(Cities.of_view(game.view()), 0, [green, blue]) == [(0, 0, 1), (0, 0, 0)]

    # Three hearts last as long as no orange card comes: a dear one with three hearts is no bargain.
    city = "bookshop library igloo house garage"
    moves = {}
    for special in ("red_square", "great_wall"):
        game = expert(
            Phase.BUY,
            round=7,
            cities=[f"{city} {special}", "igloo"],
            coins=[8],
            centre="ski_resort museum hospital",
        )
        moves[special] = choice(PlannerBot, game)
    assert moves["great_wall"] == "build ski_resort"
    assert moves["red_square"] != "build ski_resort"

    # What is free once is best the dearest, even with nothing in the purse.
    game = expert(
        Phase.BUY,
        round=5,
        cities=["library school garage undersea_tunnel"],
        coins=[0],
        centre="stadium grocery bank",
    )
    assert choice(PlannerBot, game) == "build stadium"

    # Eight coins for nothing are better than a card that costs a heart.
    game = expert(
        Phase.BUY, round=5, cities=["bank library garage big_ben"], coins=[1], centre="factory steel_mill"
    )
    assert choice(PlannerBot, game) == "coin"


def test_prices_are_those_of_the_engine() -> None:
    """The planner expects to pay what the engine asks, with a discount and after it is used up."""
    for special in PRICED:
        for uses in ([EFFECTS[CARDS_BY_ID[special]].uses, 0], [0, 0]):
            game = expert(Phase.BUY, cities=[f"bank {special}"], coins=[9], uses=uses)
            expected = tuple(price_of(game, 0, card) for card in (*BUILDINGS, *DWELLINGS))
            assert prices(game.view(), 0) == expected


def test_every_special_has_a_moderate_worth() -> None:
    """In the middle of a game no special is worth more than ten coins a round or thirty at once."""
    for players in [2, 5]:
        for special in [card.id for card in EFFECTS]:
            cities = Cities(Config(players=players, mode=Mode.EXPERT))
            for seat in range(players):
                cities = cities.with_cards(seat, CARDS_BY_ID["happy_market"], *USUAL_CARDS[:4])
            value = value_if_taken(cities, 0, CARDS_BY_ID[special], LEFT, specials=())
            assert -1 <= value.income <= 10
            assert 0 <= value.inhabitants <= 5
            assert 0 <= value.hearts <= 5
            assert 0 <= value.coins <= 30


def test_what_the_sphinx_copies() -> None:
    # Four hearts win the game; coins at once, which a copy doesn't trigger, would lose it.
    for name in ["planner", "rollout"]:
        game = copying(
            "library igloo house apartment_building sphinx",
            "igloo treehouse joke_shop",
            "library school museum bank statue_of_liberty",
        )
        chosen = choice(BOTS[name], game)
        assert chosen == "copy 2"
        game.apply(Move.parse(chosen))
        assert game.outcome is not None
        assert game.outcome.ranks[0] == 1

    # A special that only brings coins when taken is worse than whatever the box holds.
    game = copying("library igloo house apartment_building sphinx", "igloo treehouse museum joke_shop")
    assert choice(PlannerBot, game) == "copy box"

    # The Sphinx of a playout tries the opponents' specials, and doesn't look into the box.
    game = copying(
        "library igloo house apartment_building sphinx",
        "igloo treehouse joke_shop",
        "library school museum bank statue_of_liberty",
    )
    assert str(quick_move(game, (False,) * 3)) == "copy 2"


def test_a_rival_whose_card_was_replaced_still_builds_fast() -> None:
    """The card that made way for a special was bought: one in every turn so far."""
    game = expert(
        Phase.BUY,
        round=5,
        seat=0,
        cities=["", "library town_square museum statue_of_liberty", "library school hospital"],
        coins=[9],
        centre="bank",
    )
    assert fast_builders(game.view()) == (False, True, False)


def test_rollout_tries_specials_out_in_the_expert_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether to take a special is played out too, when the plan finds it close."""
    tried: set[Phase] = set()

    def watched(game: Game, move: Move, fast: tuple[bool, ...]) -> float:
        tried.add(game.phase)
        return play_out(game, move, fast)

    monkeypatch.setattr("happycity_bots.rollout.play_out", watched)
    for seed in range(4):
        for _ in play(Game.deal(Config(mode=Mode.EXPERT), seed=seed), [BOTS["rollout"]] * 4):
            pass
    assert tried == {Phase.BUY, Phase.SPECIAL}
