"""How the failures of a bot are reported: one line with how often, why, where, and the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from happycity import Ending
from happycity_tournament.standings.digest import digest
from happycity_tournament.standings.standings import ForfeitCount, Standing

LATE = ForfeitCount(Ending.TIMEOUT, "no answer within 1 s", 2, 14)


def standing(*counts: ForfeitCount, games: int = 9) -> Standing:
    return Standing(
        rank=1,
        bot="mine",
        elo=1500.0,
        games=games,
        points_mean=0.0,
        wins=0,
        shared=0,
        score=0.0,
        place_mean=0.0,
        forfeits=sum(count.games for count in counts),
        forfeit_counts=counts,
        games_unrated=0,
    )


@pytest.mark.parametrize(
    ("ending", "reason", "text"),
    [
        (
            Ending.CRASHED,
            "IndexError: tuple index out of range (crash.py:5)",
            "mine crashed in 9 of 9 games: IndexError: tuple index out of range (crash.py:5), first in game "
            "12",
        ),
        (
            Ending.TIMEOUT,
            "no answer within 10 s",
            "mine answered too late in 9 of 9 games: no answer within 10 s, first in game 12",
        ),
        (
            Ending.ILLEGAL,
            "answers that are no legal moves, such as 99",
            "mine gave illegal answers in 9 of 9 games: answers that are no legal moves, such as 99, first "
            "in game 12",
        ),
        (
            Ending.SILENT,
            "has never answered (2 decisions, 10 s each; is its output buffered?)",
            "mine was silent in 9 of 9 games: has never answered (2 decisions, 10 s each; is its output "
            "buffered?), first in game 12",
        ),
        (Ending.ABSENT, "", "mine was not connected in 9 of 9 games, first in game 12"),
        (
            Ending.DISCONNECTED,
            "away for 10 s",
            "mine was disconnected in 9 of 9 games: away for 10 s, first in game 12",
        ),
        (Ending.RESIGNED, "hopeless", "mine resigned in 9 of 9 games: hopeless, first in game 12"),
        (Ending.OTHER, "", "mine forfeited (other) 9 of 9 games, first in game 12"),
    ],
)
def test_each_way_to_fail_has_its_words(ending: Ending, reason: str, text: str) -> None:
    """The line names what happened, in how many games, why, and in which game first."""
    assert digest(standing(ForfeitCount(ending, reason, 9, 12))) == text


def test_several_ways_to_fail_are_in_one_line() -> None:
    """The most frequent way comes first, with its reasons; few are shown, and the others are counted."""
    errors = [ForfeitCount(Ending.CRASHED, f"{'ABCDE'[n]}Error (mine.py:{n})", 1, 20 - n) for n in range(5)]
    assert digest(standing(LATE, *errors, games=30)) == (
        "mine crashed in 5 of 30 games: AError (mine.py:0) in 1, BError (mine.py:1) in 1, CError (mine.py:2) "
        "in 1, others in 2, first in game 16; answered too late in 2 games: no answer within 1 s, first in "
        "game 14"
    )


def test_disqualification_and_log_are_at_the_end() -> None:
    """The line says after how many games the bot was disqualified, and where its output is."""
    text = digest(standing(LATE, games=1), disqualified=True, log=Path("runs/x/bot-mine.log"))
    assert text.endswith(", first in game 14; disqualified after 1 game; log: runs/x/bot-mine.log")
