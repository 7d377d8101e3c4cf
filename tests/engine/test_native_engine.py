"""The native engine plays as the Python rules do, on games that reach what is rare."""

from __future__ import annotations

import importlib
import json
import random
import shutil
import subprocess
import sys
import tomllib
from base64 import b64decode
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools import ROOT, lines
from tools.engine.engine_equality import (
    DifferenceError,
    Equality,
    expected_copies,
    expected_reach,
    position_bytes,
    traced_record,
)
from tools.release.packages import pack_engine

from happycity import Config, ConfigError, Game, Mode
from happycity.compiled import native
from happycity.v1 import game_pb2
from happycity.wire.messages import view_message
from happycity_client import Decision, GameStarted
from happycity_evaluation.turn_strengths import champions_network

pytestmark = [pytest.mark.level(3), pytest.mark.usefixtures("engine")]


def test_equality(engine: ModuleType) -> None:
    """500 games are equal decision by decision, and reach each special, effect, step, ending, reshuffle."""
    equality = Equality(engine)
    equality.prove(range(500))
    assert not [what for what in expected_reach() if not equality.reached[what]]


@pytest.mark.nightly
def test_equality_of_many_games(engine: ModuleType) -> None:
    """So are 100,000, in which each special is copied too."""
    equality = Equality(engine)
    equality.prove(range(100_000))
    assert not [what for what in expected_reach() | expected_copies() if not equality.reached[what]]


def test_changed_rule_fails(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that changes in Python alone is found: here a coin taken is worth two."""
    monkeypatch.setattr("happycity.rules.cities.Cities.coin_gain", lambda self, seat: 2)
    record = traced_record(1)
    with pytest.raises(DifferenceError, match="decision"):
        Equality(engine).compare(record, random.Random(1))


def test_deals(engine: ModuleType) -> None:
    """A seed gives the deal of the arena, the largest seed too."""
    for seed in (0, 1, 2**32, 2**64 - 1):
        for mode in Mode:
            config = Config(players=5, mode=mode)
            dealt = engine.Position.deal(config, seed=seed)
            assert bytes(dealt) == position_bytes(Game.deal(config, seed=seed))


def test_example_of_a_search(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example plays a whole game, and the same one again from the same seed."""
    monkeypatch.syspath_prepend(ROOT / "clients/python/examples")
    example = importlib.import_module("searcher")
    monkeypatch.setattr(example, "PLAYOUTS", 24)
    results = []
    for _ in range(2):
        game = Game.deal(Config(players=2, mode=Mode.EXPERT), seed=3)
        bots = [
            example.Searcher(
                GameStarted(match_id=1, config=game.config, seat=seat, bots=("a", "b"), seed=seat)
            )
            for seat in (0, 1)
        ]
        while game.outcome is None:
            decision = Decision.of(game)
            world = decision.position(seed=1)
            assert world.legal_moves == [move.index for move in decision.moves]
            game.apply(bots[game.seat].choose(decision))
        results.append(game.outcome)
    assert results[0] == results[1]


def test_refused(engine: ModuleType) -> None:
    """What is wrong raises a ValueError that says what, and changes nothing."""
    position = engine.Position.deal(Config(), seed=1)
    before = bytes(position)
    with pytest.raises(ValueError, match="the move is not legal here"):
        position.apply(0)
    with pytest.raises(ValueError, match="the move is not legal here"):
        position.apply(10_000)
    with pytest.raises(ValueError, match="the card is not awaited"):
        position.reveal(1)
    with pytest.raises(ValueError, match="there is no such seat"):
        position.observation(4)
    with pytest.raises(ValueError, match="end: not the bytes of a position or view"):
        engine.Position.from_bytes(before[:-1])
    with pytest.raises(ValueError, match="config: not the bytes of a position or view"):
        engine.Worlds(b"")
    with pytest.raises(ValueError, match="weights: no network has these sizes"):
        engine.Network([[1]] * 6)
    champion = engine.Champion(champions_network().native, trials=8, near=2.0, most=2)
    worlds = engine.Worlds(view_message(Game.deal(Config(), seed=1).view()).SerializeToString())
    for moves in ([], [(0, 0.5), (1, 0.5)]):
        with pytest.raises(ValueError, match="the move is not legal here"):
            champion.pick(worlds, random.Random(1), moves)
    with pytest.raises(ValueError, match="lineup: 1 for 4 seats"):
        engine.play(Config(), 1, [None], 0.0)
    assert bytes(position) == before


def test_worlds_of_all_bindings_have_the_discards() -> None:
    """A sampled world of the cases that hold for all SDKs has the cards of the view in its discard piles."""
    discarded = 0
    for line in (ROOT / "clients/conformance/engine.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        if case["view"] is None:
            continue
        view = game_pb2.View.FromString(b64decode(case["view"]))
        lists = lists_of(b64decode(case["sample"]))
        assert lists[3:8:2] == [bytes(deck.discarded) for deck in view.decks]
        assert [len(deck) for deck in lists[2:8:2]] == [deck.left for deck in view.decks]
        discarded += sum(len(deck.discarded) for deck in view.decks)
    assert discarded > 300


def lists_of(position: bytes) -> list[bytes]:
    """Return centre, specials, and each deck with its discard pile, from the bytes of a position."""
    lists: list[bytes] = []
    rest = position[26:]
    for _ in range(8):
        lists.append(rest[1 : 1 + rest[0]])
        rest = rest[1 + rest[0] :]
    return lists


@given(noise=st.binary(max_size=300), kept=st.integers(0, 300), mode=st.sampled_from(Mode))
def test_any_bytes(engine: ModuleType, noise: bytes, kept: int, mode: Mode) -> None:
    """Bytes, with or without the beginning of a position or view, are refused, or can be played."""
    game = Game.deal(Config(mode=mode), seed=1)
    with suppress(ValueError):
        position = bytes(engine.Position.deal(game.config, seed=1))
        engine.Position.from_bytes(position[:kept] + noise).random_playout(seed=1)
    with suppress(ValueError):
        view = view_message(game.view()).SerializeToString()
        engine.Worlds(view[:kept] + noise).sample(seed=1).random_playout(seed=1)


@given(st.lists(st.integers(-1, 2**64), max_size=3), st.lists(st.integers(-1, 3) | st.integers(), max_size=3))
def test_any_numbers(engine: ModuleType, numbers: list[int], rows: list[int]) -> None:
    """Actions, rows and seats that aren't there are refused, also where one list is longer than another."""
    games = engine.Games(Config(), memoryview(bytearray(2 * 4 * 968)).cast("f"), bytearray(282), bytearray(2))
    for row in rows:
        with suppress(ValueError, OverflowError):
            games.deal(row, 1)
    for play in (games.play, games.play_randomly):
        with suppress(ValueError, OverflowError):
            play(numbers, rows)
    for row in rows:
        with suppress(ValueError, OverflowError):
            games.position(row).apply(len(games.actions(row)))


def test_engine_of_another_version(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install; the extra and the crates have the version of the package."""
    own = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))["project"]
    assert own["optional-dependencies"]["engine"] == [f"happycity-engine=={own['version']}"]
    for name in ("Cargo.toml", "python/Cargo.toml", "python/pyproject.toml"):
        described = tomllib.loads(ROOT.joinpath("engine", name).read_text("utf-8"))
        assert described["project" if "project" in described else "package"]["version"] == own["version"]
    assert native("Worlds") is engine.Worlds
    # Reading a package's version takes longer than a decision: it is read once.
    with monkeypatch.context() as patch:
        patch.setattr("importlib.metadata.version", lambda _: pytest.fail("read again"))
        assert native("Worlds") is engine.Worlds
    monkeypatch.setattr(engine, "__version__", "0.0.9")
    decision = Decision.of(Game.deal(Config(), seed=1))
    for use in (partial(native, "Worlds"), partial(decision.position, seed=1)):
        with pytest.raises(ConfigError) as refused:
            use()
        assert str(refused.value) == (
            f"happycity-engine 0.0.9 is installed beside happycity {own['version']}: "
            f"install {own['version']}; in its checkout, make engine builds it"
        )


def test_size() -> None:
    """The crate and its binding stay small: a model of the game, not a second arena.

    The rules and the quick policy have 2,500 lines, the planner's policy 360, and the champion with its draws
    the others.
    """
    counts = lines.count(None)
    assert counts["native engine: crate"] <= 3452
    assert counts["native engine: binding to Python"] <= 345


@pytest.mark.nightly
def test_wheel_in_an_empty_environment(tmp_path: Path) -> None:
    """The wheel that a release publishes plays a game where nothing else is installed."""
    pack_engine(tmp_path)
    (wheel,) = tmp_path.glob("happycity_engine-*-cp311-abi3-*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", wheel], check=True)
    command = [str(python), "-I", str(ROOT / "engine/python/play_a_game.py")]
    played = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert played.stdout.count("(") == 6  # points, coins, inhabitants, hearts and ranks


def test_card_table() -> None:
    """The engine's cards are those of the rules' tables."""
    subprocess.run([sys.executable, "engine/make_tables.py", "--check"], cwd=ROOT, check=True)


@pytest.mark.skipif(not shutil.which("cargo-clippy"), reason="there is no clippy")
def test_lint() -> None:
    """Format and lints are clean, of the crate without the champion, as C has it, and with it."""
    without, python = (
        ("-p", "happycity-engine", "-p", "happycity-engine-c"),
        ("-p", "happycity-engine-python"),
    )
    lint = ("--all-targets", "--locked", "--quiet", "--", "-D", "warnings")
    for command in (("fmt", "--all", "--check"), ("clippy", *without, *lint), ("clippy", *python, *lint)):
        subprocess.run(["cargo", *command], cwd=ROOT / "engine", check=True)


def test_crate() -> None:
    """The crate's own tests pass: any bytes are refused or can be played, also by the functions for C."""
    command = ["cargo", "test", "--locked", "--quiet", "--workspace", "--exclude", "happycity-engine-python"]
    subprocess.run(command, cwd=ROOT / "engine", check=True)
