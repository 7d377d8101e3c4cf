"""The file of a ladder."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from happycity import ConfigError, TimeControl
from happycity_ladder.ladder_config import Board, LadderConfig, Quotas, example

KEY = re.compile(r"# ([a-z_]+ = )")


def test_example_is_a_file_of_defaults(tmp_path: Path) -> None:
    path = tmp_path / "ladder.toml"
    path.write_text(example())
    assert LadderConfig.read(path) == LadderConfig()
    second = example().index("# [[boards]]")
    shown = example()[:second] + example()[example().index("[quotas]") :]
    path.write_text("".join(KEY.sub(r"\1", line) for line in shown.splitlines(keepends=True)))
    assert LadderConfig.read(path) == LadderConfig()
    content = tomllib.loads(path.read_text())
    assert set(content) == {field.name for field in fields(LadderConfig)}
    assert set(content["quotas"]) == {field.name for field in fields(Quotas)}
    assert set(content["boards"][0]) == {field.name for field in fields(Board)}
    assert set(content["time"]) == {field.name for field in fields(TimeControl)}


def test_mistakes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "ladder.toml"
    for text, problem in [
        ('name = "two\\nlines"', "name: 'two\\nlines' has control characters"),
        ("boards = []", "boards: a ladder needs at least one"),
        ("boards = [{players = 6}]", "boards.0.players: Input should be less than or equal to 5"),
        ("boards = [{players = 4}, {players = 4}]", "boards: 4-family is there more than once"),
        ("drfit = 3", "drfit: there is no such key"),
        ("quotas = {deals_per_day = 0}", "quotas.deals_per_day: "),
        ("anchor = 'no name'", "bot name 'no name': use 1-64 of"),
        ("[", "is not TOML"),
    ]:
        path.write_text(text)
        with pytest.raises(ConfigError) as refused:
            LadderConfig.read(path)
        assert str(refused.value).startswith(f"ladder: {path}")
        assert problem in str(refused.value)
        assert "\n" not in str(refused.value)


def test_boards_are_named() -> None:
    """A board's name has its players, its mode, and its scoring if that isn't the usual one."""
    config = LadderConfig(boards=(Board(players=4), Board(players=2)))
    assert config.board("").name == "4-family"
    assert config.board("2-family").players == 2
    with pytest.raises(
        ConfigError, match="there is no '3-family' in this ladder; there are: 4-family, 2-family"
    ):
        config.board("3-family")
