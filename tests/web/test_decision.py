"""The buttons of a decision."""

import pytest

from happycity import Config, Game, Move, MoveKind, Phase
from happycity.text.board import deck_prices
from happycity.wire.messages import decision_message
from happycity_web.choices import MoveChoice, Question, on_table, question
from happycity_web.guide import advise


def asked(game: Game) -> Question:
    return question(decision_message(game, match_id=1, decision_id=1))


def test_a_draw_shows_what_is_left_of_its_deck() -> None:
    """Prices and cards are those of the deck that the button draws from."""
    game = Game.deal(Config(players=2), seed=1)
    game.apply(Move.parse("draw 3"))
    ((kind, choices),) = asked(game).groups
    assert (kind, [choice.move.number for choice in choices]) == ("draw", [1, 2, 3])
    assert asked(game).view.decks == game.deck_sizes
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


def bought(game: Game, card: str) -> MoveChoice:
    return next(
        choice
        for _, group in asked(game).groups
        for choice in group
        if choice.card and choice.card.id == card
    )


def test_a_choice_tells_what_a_card_takes_away() -> None:
    """A heart that is lost is said also where the hearts count as 0 before and after."""
    game = Game.deal(Config(players=2), seed=6)
    while not any(move.text == "build steel_mill" for move in game.legal_moves):
        game.apply(game.legal_moves[0])
    changes = {gain.name: (gain.change, gain.now) for gain in bought(game, "steel_mill").gains}
    assert changes["hearts"] == (-1, -1)


def test_cards_say_why_they_cannot_be_had() -> None:
    """A card tells that it costs too much or is owned; a special tells which colours are missing."""
    game = Game.deal(Config(players=2), seed=1)
    while game.phase is not Phase.BUY:
        game.apply(game.legal_moves[0])
    hints = {hint.on: hint for hint in asked(game).hints}
    view = game.view()
    residence = hints['[data-stack="luxury_residence"]']
    assert (residence.short, residence.is_owned) == (6 - view.coins[view.seat], False)
    for card in view.specials:
        hint = hints[on_table("specials", card)]
        assert dict(hint.missing) == dict(card.condition)  # of a city with a white Happy Market
    legal = {move.card for move in game.legal_moves}
    assert all(
        (f'[data-list="centre"] [data-card="{card.id}"]' in hints) != (card in legal) for card in view.centre
    )
    game.apply(next(move for move in game.legal_moves if move.kind is MoveKind.DWELL))
    seat = view.seat
    while not (game.phase is Phase.BUY and game.view().seat == seat):
        game.apply(game.legal_moves[0])
    owned = [hint.on for hint in asked(game).hints if hint.is_owned]
    assert owned == ['[data-stack="house"]']


@pytest.mark.parametrize("seed", range(3))
def test_guide_plays_a_whole_game(seed: int) -> None:
    """Each phase of a family game has an advice, whose reason belongs to the move."""
    game = Game.deal(Config(players=2), seed=seed)
    kinds: dict[str, set[str]] = {}
    while game.phase is not Phase.OVER:
        advice = advise(asked(game))
        kinds.setdefault(advice.reason, set()).add(advice.choice.kind)
        game.apply(game.legal_moves[advice.choice.position])
    assert game.outcome is not None
    assert max(game.outcome.points) > 0
    cards = {"build", "dwell"}
    for reason, found in kinds.items():
        assert found <= {"draw": {"draw"}, "take": {"take"}}.get(reason, cards | {reason}), reason
