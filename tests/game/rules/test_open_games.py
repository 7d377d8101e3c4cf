"""Open games: positions without hidden orders, in which the caller says which card is drawn."""

import copy
import pickle
import random
from collections import Counter

import pytest
from hypothesis import given
from tests.game.rules.positions import card
from tests.game.rules.test_properties import deals, positions, random_play, seeds

from happycity import Card, Config, Deal, EventKind, Game, IllegalMoveError, Mode, Move, MoveKind, Phase
from happycity.records.random_games import movers_rng, play_random_game

TURNED_OVER = (EventKind.DRAW, EventKind.COPY)


def follow(opened: Game, move: Move, game: Game) -> None:
    opened.apply(move)
    cards = iter([event.card for event in game.events if event.kind in TURNED_OVER])
    while opened.awaited:
        card = next(cards)
        assert card is not None
        opened.reveal(card)


@pytest.mark.level(1)
@given(deals, seeds)
def test_an_open_game_plays_as_an_ordinary_one_with_the_same_cards(deal: Deal, seed: int) -> None:
    """Position by position: view, events, legal moves and outcome."""
    game = Game(deal)
    opened = game.opened()
    for _, move in random_play(game.copy(), seed=seed):
        game.apply(move)
        follow(opened, move, game)
        assert opened.view() == game.view()
        assert opened.events == game.events
        assert opened.legal_moves == game.legal_moves
    assert opened.outcome == game.outcome is not None


@pytest.mark.level(1)
@given(positions(), seeds)
def test_an_open_game_knows_nothing_of_the_hidden_order(game: Game, seed: int) -> None:
    """Two deals that differ in hidden orders alone are the same open game, with the same cards to come."""
    other = Game.from_view(game.view(), random.Random(seed)).opened()
    shuffled = game.opened().closed(random.Random(seed)).opened()
    opened = game.opened()
    for move in game.legal_moves:
        first, second, third = opened.copy(), shuffled.copy(), other.copy()
        for twin in (first, second, third):
            twin.apply(move)
        assert first.awaited == second.awaited
        assert bool(first.awaited) == bool(third.awaited)


def test_only_an_awaited_card_can_be_revealed() -> None:
    game = Game.deal(Config(players=2), seed=1).opened()
    game.apply(Move.parse("draw 3"))
    before = Counter(game.awaited)
    assert set(before.values()) == {2}
    assert {card.deck for card in before} == {3}
    assert (game.legal_moves, game.phase, game.outcome) == ((), Phase.DRAW, None)
    with pytest.raises(IllegalMoveError, match="none, a card is awaited"):
        game.apply(Move.parse("draw 3"))
    game.reveal(card("spa"))
    game.apply(Move.parse("draw 3"))
    assert before - Counter(game.awaited) == {card("spa"): 1}

    # A card of another deck, or one too many, is refused and changes nothing.
    game = Game.deal(Config(players=2), seed=1).opened()
    with pytest.raises(ValueError, match="no card is"):
        game.reveal(card("spa"))
    game.apply(Move.parse("draw 3"))
    with pytest.raises(ValueError, match="grocery is not awaited"):
        game.reveal(card("grocery"))
    assert card("spa") in game.awaited
    with pytest.raises(ValueError, match="a card is awaited"):
        game.closed(random.Random(1))

    # Events of a copy made before a card was revealed stay what they were.
    game = Game.deal(Config(players=2), seed=1).opened()
    game.apply(Move.parse("draw 1"))
    twin = game.copy()
    game.reveal(game.awaited[0])
    twin.reveal(twin.awaited[-1])
    assert [event.card for event in game.events] != [event.card for event in twin.events]
    assert len(twin.events) == 1


def test_the_box_is_awaited_card_by_card() -> None:
    """A Sphinx that copies from the box awaits any of its specials; their order is not to be seen."""
    boxes = 0
    for seed in range(400):
        game = Game.deal(Config(players=2, mode=Mode.EXPERT), seed=seed)
        rng = movers_rng(seed)
        while game.outcome is None and game.phase is not Phase.SPHINX:
            game.apply(rng.choice(game.legal_moves))
        if game.outcome is None:
            boxes += 1
            opened = game.opened()
            opened.apply(Move.parse("copy box"))
            assert len(opened.awaited) == len(set(opened.awaited)) > 20
            assert list(opened.awaited) == sorted(opened.awaited, key=lambda special: special.number)
            seen: set[Card] = {*game.specials, *game.cities.cards[0], *game.cities.cards[1]}
            assert not seen & set(opened.awaited)
            opened.reveal(opened.awaited[3])
            assert opened.outcome is not None
    assert boxes > 0


def test_a_closed_game_plays_on_by_itself() -> None:
    """It draws from orders that depend on the randomness passed in, and on nothing else."""
    start = Game.deal(Config(players=3), seed=1).opened()
    endings = []
    for seed in (1, 1, 2):
        game = start.closed(random.Random(seed))
        play_random_game(game, movers_rng(5))
        endings.append(game.view())
    assert endings[0] == endings[1] != endings[2]


@given(positions())
def test_copies_and_pickles_are_the_same_position(game: Game) -> None:
    """Search libraries copy and pickle games; both go on as the game itself does."""
    for twin in (copy.deepcopy(game), pickle.loads(pickle.dumps(game))):
        ending = game.copy()
        play_random_game(ending, movers_rng(3))
        play_random_game(twin, movers_rng(3))
        assert (twin.view(), twin.outcome) == (ending.view(), ending.outcome)


@given(deals, seeds)
def test_discarded_cards_are_those_that_were_discarded(deal: Deal, seed: int) -> None:
    game = Game(deal)
    for _, move in random_play(game.copy(), seed=seed):
        game.apply(move)
        assert tuple(map(len, game.discards)) == game.discard_sizes
        if move.kind is MoveKind.DISCARD and game.events[0].kind is EventKind.DISCARD:
            rebuilt = {event.deck for event in game.events if event.kind is EventKind.DECK_REBUILT}
            assert move.card is not None
            assert move.card.deck in rebuilt or move.card in game.discards[move.card.deck - 1]
