"""What the bots make of the expert game: the market draft, effects and prices, the Sphinx."""

from pathlib import Path

import pytest
from tests.bots.matches import choose, play, seat_bot
from tests.game.rules.examples import made_again
from tests.game.rules.positions import expert, price_of

from happycity import CARDS_BY_ID, DWELLINGS, Config, Game, Mode, Move, Phase
from happycity.rules.cards import BUILDINGS
from happycity.rules.cities import Cities
from happycity.rules.effects import EFFECTS
from happycity_bots import BOTS
from happycity_client import Decision
from happycity_evaluation.quick import fast_builders, play_out, quick_move
from happycity_evaluation.special_values import Remaining, additions, value_if_taken
from happycity_evaluation.usual_cards import USUAL_CARDS
from happycity_evaluation.valuation import prices

CHOICES = Path(__file__).with_name("choices.txt")
LEFT = Remaining(turns=4, buys=3)
PRICED = [card.id for card, effect in EFFECTS.items() if effect.price is not None]


def choice(name: str, game: Game) -> str:
    """Return what a bot chooses, or the policy of quick playouts."""
    if name == "quick":
        return str(quick_move(game))
    return str(choose(seat_bot(BOTS[name], game, game.seat), Decision.of(game)))


def test_choices_are_those_that_are_kept() -> None:
    """A change of them is meant, and is made by running this module: `python -m tests.bots.test_expert`."""
    text = CHOICES.read_text("utf-8")
    assert text.count("\n? ") > 20
    assert made_again(text, choice) == text


def test_a_heart_for_each_green_card_makes_green_cards_worth_more() -> None:
    game = expert(Phase.BUY, cities=["bookshop library ski_resort garage wind_turbine"], coins=[9])
    green, blue = CARDS_BY_ID["house"], CARDS_BY_ID["museum"]
    assert additions(Cities.of_view(game.view()), 0, [green, blue]) == [(0, 0, 1), (0, 0, 0)]


def test_prices_are_those_of_the_engine() -> None:
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


@pytest.mark.level(1)
def test_rollout_tries_specials_out_in_the_expert_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether to take a special is played out too, when the plan finds it close."""
    tried: set[Phase] = set()

    def watched(game: Game, move: Move, fast: tuple[bool, ...]) -> float:
        tried.add(game.phase)
        return play_out(game, move, fast)

    monkeypatch.setattr("happycity_bots.sampled.Worlds", None)
    monkeypatch.setattr("happycity_bots.sampled.play_out", watched)
    for seed in range(4):
        for _ in play(Game.deal(Config(mode=Mode.EXPERT), seed=seed), [BOTS["rollout"]] * 4):
            pass
    assert tried == {Phase.BUY, Phase.SPECIAL}


if __name__ == "__main__":
    CHOICES.write_text(made_again(CHOICES.read_text("utf-8"), choice), "utf-8")
