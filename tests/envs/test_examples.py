"""The examples run as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "clients/envs/examples"


def test_random_legal_actions_play_a_game_in_both_environments() -> None:
    """The mask is used as PettingZoo and Gymnasium want it."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "masked_random.py")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    *seats, place = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in seats] == ["player_0", "player_1", "player_2"]
    assert place.startswith("place ")
