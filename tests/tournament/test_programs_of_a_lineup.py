"""A program that can't be started is named with what it lacks, before anything is played."""

import re
from pathlib import Path

import pytest

from happycity import ConfigError
from happycity_tournament.lineup import BotEntry, Lineup


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("./plain.py", "it may not be executed; allow it by: chmod +x ./plain.py"),
        ("'./my bot.py'", "it may not be executed; allow it by: chmod +x './my bot.py'"),
        ("./-dash.py", "it may not be executed; allow it by: chmod +x ./-dash.py"),
        ("./folder", "it is a folder"),
        ("./nothing", "there is no such program"),
        ("plain.py", "there is no such program"),  # a shell doesn't look in this folder either
        ("./link", "there is no such program"),
    ],
)
def test_a_program_that_can_not_be_started(tmp_path: Path, command: str, reason: str) -> None:
    for name in ("plain.py", "my bot.py", "-dash.py"):
        (tmp_path / name).write_text("print()")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/nowhere/program")
    with pytest.raises(ConfigError, match=re.escape(f"can't be started: {reason}")):
        Lineup(bots=(BotEntry(name="mine", command=command),), directory=tmp_path).check()
