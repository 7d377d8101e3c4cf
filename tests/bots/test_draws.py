"""How the champion weighs draws."""

from __future__ import annotations

from itertools import product

from tools.training.games import seated

from happycity import CARDS, Config, Deal, Game, MoveKind, Phase, View
from happycity_bots.champion import ChampionBot
from happycity_bots.draws import Draws
from happycity_bots.situation import Situation
from happycity_client import Decision
from happycity_evaluation.valuation import STACKS, Appraisal


def by_cost(view: View, *, least: int) -> Situation:
    """Value a building by its cost, and no card below a cost; nothing is denied to the next player."""
    gains = [0.0] * (STACKS[-1] + 1)
    for card in CARDS:
        if card.deck and card.cost >= least:
            gains[card.number] = float(card.cost)
    nothing = [0.0] * len(gains)
    return Situation(view, Appraisal(0.0, gains), Appraisal(0.0, nothing), denial=0.0)


def test_two_draws_are_weighed_by_all_pairs_of_cards() -> None:
    """The second deck is chosen once the first card is known; cards of no use don't change the mean."""
    game = Game(Deal.shuffle(Config(), seed=1))
    situation = by_cost(game.view(), least=3)
    draws = Draws(situation, game.view())
    kept = 1

    def after_one(first: int) -> float:
        offers = [[situation.worth_of_offer([kept, first, last]) for last in deck] for deck in draws.decks]
        return max([sum(worths) / len(worths) for worths in offers])

    expected = max([sum(map(after_one, deck)) / len(deck) for deck in draws.decks])
    assert abs(draws.best([kept]) - expected) < 1e-9


def test_a_deck_is_weighed_by_the_cards_left_in_it() -> None:
    """Cards in sight aren't drawn again."""
    view = Game(Deal.shuffle(Config(), seed=1)).view()
    decks = Draws(by_cost(view, least=0), view).decks
    in_sight = [card.number for card in view.centre]
    for deck, number in product(range(3), in_sight):
        if CARDS[number - 1].deck == deck + 1:
            assert decks[deck].count(number) == CARDS[number - 1].copies - in_sight.count(number)
    assert [len(deck) for deck in decks] == list(view.decks)


def test_drawing_is_worth_what_the_best_discard_promised() -> None:
    """A turn is worth the same before a discard as after it: both look as far ahead."""
    game = Game(Deal.shuffle(Config(), seed=1))
    while game.phase is not Phase.DISCARD or len(game.view().centre) == 3:
        game.apply(game.legal_moves[-1])
    bot = seated(ChampionBot, game.config, game.seat, seed=0)
    assert isinstance(bot, ChampionBot)
    kept = bot.weigh_in_python(Decision.of(game))[0][0]
    game.apply(game.legal_moves[0])
    decision = Decision.of(game)
    assert decision.moves[0].kind is MoveKind.DRAW
    assert max(bot.weigh_in_python(decision)[0]) == kept
