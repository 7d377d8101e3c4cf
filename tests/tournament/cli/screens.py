"""What people see, and tournaments for that."""

import re
from io import StringIO

from rich.console import Console

from happycity import Config, Ending
from happycity_tournament.config import SprtTest, TournamentConfig, TournamentState
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.standings.standings import ForfeitCount, Standing

CONFIG = TournamentConfig(bots=("ann", "bob", "cem"), game=Config(players=2), seed=5)
SPRT = TournamentConfig(
    bots=("new", "old"), game=Config(players=2), format=SprtTest(candidate="new", base="old"), seed=5
)


def standing(rank: int, bot: str, **fields: object) -> Standing:
    values = {"elo": 1500.0, "low": None, "high": None, "games": 6, "points_mean": 30.0}
    values |= {"wins": 3, "shared": 0, "score": 0.5, "place_mean": 1.5}
    unknown = {"forfeits": 0, "forfeit_counts": (), "games_unrated": 0}
    return Standing(rank=rank, bot=bot, **{**values, **unknown, **fields})  # type: ignore[arg-type]


SNAPSHOT = Snapshot(
    tournament_id=1,
    config=CONFIG,
    seed=5,
    created_at=0.0,
    state=TournamentState.RUNNING,
    games_total=40,
    standings=(
        standing(1, "ann", elo=1512.0, low=1490.0, high=1534.0),
        standing(2, "bob"),
        standing(3, "cem", forfeits=2, forfeit_counts=(ForfeitCount(Ending.CRASHED, "[bold]x", 2, 1),)),
    ),
)


class Screen:
    """Everything that is written to a terminal or a file, and the time by which that happens."""

    def __init__(self, *, terminal: bool) -> None:
        self.file = StringIO()
        self.console = Console(file=self.file, force_terminal=terminal, width=100, color_system=None)
        self.now = 100.0

    def text(self) -> str:
        """Return what was written since the last call, without control sequences."""
        text = re.sub(r"\x1b\[[0-9?]*[A-Za-z]", "", self.file.getvalue())
        self.file.seek(0)
        self.file.truncate()
        return text
