"""Positions as text: what people see in a terminal, and `board_text(game)`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.game.rules.boards import BOTS, NAMES, boards
from tests.game.rules.positions import expert, position
from tests.game.rules.test_golden import GOLDEN

from happycity import Config, Game, Mode, Move, Phase, Scoring
from happycity.records.random_games import movers_rng, play_random_game
from happycity.text import board

GAMES = st.tuples(
    st.integers(2, 5),
    st.sampled_from(Mode),
    st.sampled_from(Scoring),
    st.integers(0, 1000),
    st.integers(0, 250),
)


def game_at(players: int, mode: Mode, scoring: Scoring, seed: int, moves: int) -> Game:
    """Return a game after so many random moves, or at its end."""
    game, rng = Game.deal(Config(players, mode, scoring), seed=seed), movers_rng(seed)
    while game.legal_moves and moves:
        game.apply(rng.choice(game.legal_moves))
        moves -= 1
    return game


def options_of(game: Game) -> list[tuple[Move, int]]:
    return [(move, game.coin_change(move)) for move in game.legal_moves]


@pytest.mark.parametrize("name", NAMES)
def test_golden_boards_do_not_change(name: str) -> None:
    assert boards(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@few_examples
@given(GAMES, st.sampled_from((80, 100, 120, 200)))
def test_no_line_is_wider_than_the_terminal(at: tuple[int, Mode, Scoring, int, int], width: int) -> None:
    game = game_at(*at)
    view = game.view()
    bots = ["x" * 64, "漢字" * 20, "short", *BOTS[:2]][: view.config.players]
    lines = [
        *board.board_lines(view, bots=bots, width=width),
        *board.options_lines(view, options_of(game), bots=bots, width=width),
    ]
    assert max(sum(board.columns(text) for text, _ in line) for line in lines) <= width


@few_examples
@given(GAMES)
def test_a_game_as_text_is_ascii_and_complete(at: tuple[int, Mode, Scoring, int, int]) -> None:
    game = game_at(*at)
    text = board.board_text(game)
    assert text.isascii()
    for city in game.cities.cards:
        for card in city:
            assert board.to_ascii(card.name.partition(" (")[0]) in text
    for number in range(1, len(game.legal_moves) + 1):
        assert f"\n  {number:>2}  " in text


def test_a_finished_game_shows_its_outcome() -> None:
    """Points are those of the outcome, in which a special that copies has copied."""
    game = Game.deal(Config(players=3, mode=Mode.EXPERT), seed=2313)
    play_random_game(game, movers_rng(2313))
    assert game.outcome is not None
    lines = board.board_text(game).splitlines()
    assert lines[0].startswith("The game is over after round")
    rows = [line.split() for line in lines if line[:4].strip().isdecimal()]
    assert [(int(row[1]), int(row[5])) for row in rows] == list(
        zip(game.outcome.coins, game.outcome.points, strict=True)
    )


def test_the_short_form_of_a_game_is_one_line() -> None:
    """A debugger shows what kind of game it is and where it stands."""
    assert repr(Game.deal(Config(players=2), seed=1)) == "<Game 2 seats, family: round 1, seat 0, draw>"


def test_colours_are_letters_too() -> None:
    legend = board.plain([board.LEGEND])
    assert all(word in legend for word in ("Y yellow", "B blue", "G green", "O orange", "P purple"))
    assert board.columns(legend.rstrip()) <= 80
    view = position(Phase.BUY, cities=["grocery school house casino factory"], coins=[9, 9]).view()
    (cards,) = [
        line for line in board.board_lines(view, width=120) if any("Grocery" in text for text, _ in line)
    ]
    badges = [
        (text, style) for text, style in cards if style in (*COLOURS, board.Style.PLAIN) and len(text) == 1
    ]
    assert badges == [("-", board.Style.PLAIN), *zip("YBGOP", COLOURS, strict=True)]


COLOURS = (board.Style.YELLOW, board.Style.BLUE, board.Style.GREEN, board.Style.ORANGE, board.Style.PURPLE)


def test_what_is_for_sale() -> None:
    # Prices are those of the seat to decide: short of coins, owned already, or none left.
    game = position(
        Phase.BUY,
        cities=["grocery house", "apartment_building"],
        centre="grocery museum stadium",
        coins=[7, 2],
    )
    rows = ("Y Grocery           2 1$     owned", "O Stadium           9 1$ 3h  2 short", "3 2i  x0 none")
    assert all(row in board.board_text(game) for row in rows)

    # A harbour takes 3 coins off blue cards.
    game = expert(Phase.BUY, cities=["harbour"], centre="museum laboratory", coins=[5, 5])
    assert "B Museum            1 2h" in board.board_text(game)
    assert "B Laboratory        3 1$ 2i" in board.board_text(game)
    # What a purchase changes in points and income, by the rules with all effects.
    game = position(Phase.BUY, cities=["house museum"], centre="spa", coins=[9, 2])
    assert "build Spa for 7 coins               2$ 2h, +2 points, +2 income" in board.board_text(game)

    # The mark is a letter in ASCII; a city that has a special gets no more.
    specials = "dinosaur_park cat_cafe"
    game = position(Phase.DISCARD, cities=["museum hospital"], centre="bank", specials=specials)
    assert "+* Dinosaur Park" in board.board_text(game)
    assert " * Cat Cafe" in board.board_text(game)
    owner = position(Phase.DISCARD, cities=["museum hospital toy_store"], centre="bank", specials=specials)
    assert "+*" not in str(owner)


def test_texts_are_cut_by_columns() -> None:
    for text, width, fitted in [
        ("greedy", 8, "greedy  "),
        ("greedy", 6, "greedy"),
        ("greedy", 4, "gre…"),
        ("漢字漢字", 5, "漢字…"),
        ("漢字", 3, "漢…"),
        ("漢字", 4, "漢字"),
        ("👩‍🚀 Ada", 7, "👩‍🚀 Ada "),
        ("e\u0301clair", 3, "e\u0301c…"),
    ]:
        assert board.fit(text, width) == fitted
        assert board.columns(fitted) == width
