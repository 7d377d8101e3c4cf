"""Which files `bot.toml` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from happycity import ConfigError
from happycity_terminal.submitting import BotFile

FILES = ("bot.py", "data/weights.npz", "data/deep/er/table.csv", "other/x")


@pytest.mark.parametrize(
    ("patterns", "named"),
    [
        (("bot.py", "data/**"), FILES[:3]),
        (("**",), FILES),
        (("data/*",), FILES[1:2]),
        (("data/**/*.csv", "data/**"), (FILES[2], FILES[1])),
        (("*.py", "bot.py"), FILES[:1]),
    ],
)
def test_patterns_name_files(tmp_path: Path, patterns: tuple[str, ...], named: tuple[str, ...]) -> None:
    """Two stars name all that is in a folder and below it, each file once."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    paths = BotFile(name="alice", command="python bot.py", files=patterns).paths(tmp_path)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in paths) == sorted(named)
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("pattern", ["nothing/**", "/etc/passwd", "link", "../*"])
def test_patterns_that_name_nothing_inside(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(ConfigError):
        BotFile(name="alice", command="python bot.py", files=(pattern,)).paths(tmp_path)
