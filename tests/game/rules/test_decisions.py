import copy
import pickle
from operator import attrgetter
from typing import Any

import pytest
from tests.game.rules.positions import DECK_3, card, options, play, position, stacked_deal

from happycity import CARDS, CardKind, Game, IllegalMoveError, InvalidMoveError, Move, MoveKind, Phase
from happycity.rules.scoring import rank
from happycity.rules.shuffling import reshuffle_rng, shuffled


def test_art_5_3_notation() -> None:
    # Every move's text denotes that very move, also in copies and pickles.
    moves = list(Move.all())
    assert all(Move.parse(str(move)) is move for move in moves)
    assert all(copy.deepcopy(move) is move for move in moves)
    assert pickle.loads(pickle.dumps(moves)) == moves

    # There are 33 buildings to discard or build, 3 decks, 3 dwellings, 55 specials, 5 markets, 6 copies.
    texts = [str(move) for move in Move.all()]
    assert len(texts) == len(set(texts)) == 3 + 33 + 3 + 33 + 3 + 55 + 5 + 6

    # There is a move for each card of the kinds that moves name.
    named = {(move.kind, move.card) for move in Move.all() if move.card is not None}
    kinds = {
        CardKind.BUILDING: [MoveKind.DISCARD, MoveKind.BUILD],
        CardKind.DWELLING: [MoveKind.DWELL],
        CardKind.SPECIAL: [MoveKind.TAKE],
    }
    expected = {(kind, known) for known in CARDS for kind in kinds.get(known.kind, ())}
    assert expected == {(kind, known) for kind, known in named if kind is not MoveKind.MARKET}
    assert Move.parse("market blue").card is card("happy_market_blue")


def test_art_5_3_anything_else_is_no_move() -> None:
    """A text outside the notation is refused by an error that carries it and says it in one line."""
    for text in [
        "",
        "Keep",
        " keep",
        "keep ",
        "build",
        "build  museum",
        "build Museum",
        "build house",
        "build happy_market",
        "dwell museum",
        "take museum",
        "draw 0",
        "draw 4",
        "copy 5",
        "market red",
        "pass",
    ]:
        with pytest.raises(InvalidMoveError) as caught:
            Move.parse(text)
        assert caught.value.text == text
        assert repr(text) in str(caught.value)


def test_illegal_moves_are_refused() -> None:
    # The error carries the move and names the legal ones.
    game = position(Phase.BUY, coins=(4,), centre="museum garage bank")
    move = Move.parse("build garage")
    with pytest.raises(IllegalMoveError, match=r"illegal move: build garage .*coin, build bank") as caught:
        game.apply(move)
    assert caught.value.move is move

    # After the refusal of any other move, position, options and events are what they were.
    game = position(Phase.DISCARD, cities=("apartment_building",), centre="museum spa bank")
    play(game, "keep")
    before = game.view(), game.legal_moves, game.events
    assert options(game) == "coin, dwell house"
    for move in set(Move.all()) - set(game.legal_moves):
        with pytest.raises(IllegalMoveError):
            game.apply(move)
        assert (game.view(), game.legal_moves, game.events) == before

    # A finished game refuses every move.
    game = play(position(Phase.BUY, seat=1, round=30), "coin")
    with pytest.raises(IllegalMoveError, match="the game is over"):
        play(game, "keep")


def test_neutral_moves() -> None:
    """Who doesn't choose keeps, draws from the lowest deck, takes the coin or declines."""
    cases: list[tuple[Phase, dict[str, Any], str]] = [
        (Phase.DISCARD, {"centre": "museum spa bank"}, "keep"),
        (Phase.DRAW, {}, "draw 1"),
        (Phase.DRAW, {"players": 3, "seat": 2, "cities": (DECK_3, DECK_3), "centre": "bank"}, "draw 1"),
        (Phase.BUY, {"centre": "museum"}, "coin"),
        (Phase.SPECIAL, {"cities": ("school library",), "specials": "dinosaur_park"}, "decline"),
    ]
    for phase, table, neutral in cases:
        assert str(position(phase, **table).neutral_move) == neutral


def test_art_5_5_a_reshuffle_is_drawn_from_seed_deck_and_count() -> None:
    # Deck 3 is drawn and discarded round and round until it has been rebuilt three times.
    game = Game(stacked_deal(seed=41))
    while len(game.reshuffles) < 3:
        if game.phase is Phase.DISCARD:
            play(game, next(str(move) for move in game.legal_moves[1:] if str(move) != "discard stadium"))
        else:
            play(game, "draw 3" if game.phase is Phase.DRAW else "coin")
    for count, (deck, order) in enumerate(game.reshuffles):
        pile = sorted(order, key=attrgetter("number"))
        assert (deck, list(order)) == (3, shuffled(pile, reshuffle_rng(41, 3, count)))


def test_art_4_4_a_place_is_one_more_than_the_number_of_seats_ahead() -> None:
    cases: list[tuple[list[tuple[int, ...]], tuple[int, ...]]] = [
        ([(1,), (1,), (1,)], (1, 1, 1)),
        ([(5,), (5,), (1,)], (1, 1, 3)),
        ([(9, 1), (9, 2), (9, 2), (10, 0)], (4, 2, 2, 1)),
    ]
    for scores, ranks in cases:
        assert rank(scores) == ranks
