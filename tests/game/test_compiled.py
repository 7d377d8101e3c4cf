"""Compiled modules: old ones are refused, and they treat objects as the sources do."""

import copy
import pickle
from pathlib import Path
from zlib import crc32

import pytest

from happycity import CARDS, Config, Game, IllegalMoveError, Move
from happycity.compiled import CHECKSUMS, check_compiled


@pytest.fixture
def package(tmp_path: Path) -> Path:
    source = tmp_path / "rules.py"
    source.write_text("NUMBER = 1\n")
    (tmp_path / CHECKSUMS).write_text(f"{crc32(source.read_bytes())} rules.py\n")
    return tmp_path


def test_modules_that_were_compiled_from_their_sources_are_used(package: Path) -> None:
    check_compiled(str(package))
    (package / CHECKSUMS).unlink()
    check_compiled(str(package))


def test_old_compiled_modules_are_refused(package: Path) -> None:
    source = package / "rules.py"
    source.write_text("NUMBER = 2\n")
    with pytest.raises(ImportError, match=r"rules\.py has changed since .* make compiled or make pure"):
        check_compiled(str(package))
    source.unlink()
    with pytest.raises(ImportError, match=r"rules\.py has changed since"):
        check_compiled(str(package))


def test_values_survive_copies_and_pickles() -> None:
    # Copies and pickles of moves, cards and configurations are equal to them, with the same hash.
    for thing in [Move.parse("coin"), CARDS[5], Config(players=3)]:
        for twin in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
            assert (twin, hash(twin)) == (thing, hash(thing))

    # Views, events and outcomes are sent between processes as they are.
    game = Game.deal(Config(), seed=1)
    while game.outcome is None:
        assert pickle.loads(pickle.dumps((game.view(), game.events))) == (game.view(), game.events)
        game.apply(game.legal_moves[-1])
    assert pickle.loads(pickle.dumps(game.outcome)) == game.outcome


def test_what_is_no_move_is_refused() -> None:
    # Whatever a program passes for a move, a game refuses it and stays as it is; compiled, by its type.
    for choice in [None, "coin", 3, CARDS[0]]:
        game = Game.deal(Config(), seed=1)
        view = game.view()
        with pytest.raises((IllegalMoveError, TypeError)):
            game.apply(choice)  # type: ignore[arg-type]
        assert game.view() == view

    # A misspelt attribute is an error.
    with pytest.raises(AttributeError):
        Game.deal(Config(), seed=1).scores = 1  # type: ignore[attr-defined]
