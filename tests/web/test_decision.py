"""The buttons of a decision."""

from __future__ import annotations

from happycity import Config, Game, Move, MoveKind
from happycity.text.board import deck_prices
from happycity.wire.messages import decision_message
from happycity_web.seats import Question, question


def asked(game: Game) -> Question:
    return question(decision_message(game, match_id=1, decision_id=1))


def test_a_draw_shows_what_is_left_of_its_deck() -> None:
    """Prices and cards are those of the deck that the button draws from."""
    game = Game.deal(Config(players=2), seed=1)
    game.apply(Move.parse("draw 3"))
    ((kind, choices),) = asked(game).groups
    assert (kind, [choice.move.number for choice in choices]) == ("draw", [1, 2, 3])
    assert asked(game).decks == game.deck_sizes
    assert [deck_prices(choice.move.number) for choice in choices] == [(1, 3), (4, 5), (6, 9)]


def test_doing_nothing_comes_last() -> None:
    """Keys count the moves as they are shown, and answer with their positions in the decision."""
    game = Game.deal(Config(players=2), seed=1)
    while game.phase.name != "DISCARD":
        game.apply(game.legal_moves[0])
    choices = [choice for _, group in asked(game).groups for choice in group]
    assert [choice.number for choice in choices] == list(range(1, len(choices) + 1))
    assert choices[-1].move.kind is MoveKind.KEEP
    assert [game.legal_moves[choice.position] for choice in choices] == [choice.move for choice in choices]
