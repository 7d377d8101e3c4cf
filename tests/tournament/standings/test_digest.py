"""How the failures of a bot are reported: one line with how often, why, where, and the log."""

from pathlib import Path

from tests.tournament.cli.screens import standing

from happycity import Ending
from happycity_tournament.standings.digest import digest
from happycity_tournament.standings.standings import ForfeitCount, Standing

LATE = ForfeitCount(Ending.TIMEOUT, "no answer within 1 s", 2, 14)


def failing(*counts: ForfeitCount, games: int = 9) -> Standing:
    forfeits = sum(count.games for count in counts)
    return standing(1, "mine", games=games, forfeits=forfeits, forfeit_counts=counts)


def test_each_way_to_fail_has_its_words() -> None:
    for ending, reason, words in [
        (Ending.CRASHED, "IndexError: tuple index out of range (crash.py:5)", "crashed in"),
        (Ending.TIMEOUT, "no answer within 10 s", "answered too late in"),
        (Ending.ILLEGAL, "answers that are no legal moves, such as 99", "gave illegal answers in"),
        (Ending.SILENT, "has never answered (2 decisions, 10 s each)", "was silent in"),
        (Ending.ABSENT, "", "was not connected in"),
        (Ending.DISCONNECTED, "away for 10 s", "was disconnected in"),
        (Ending.RESIGNED, "hopeless", "resigned in"),
        (Ending.OTHER, "", "forfeited (other)"),
    ]:
        why = f": {reason}" if reason else ""
        expected = f"mine {words} 9 of 9 games{why}, first in game 12"
        assert digest(failing(ForfeitCount(ending, reason, 9, 12))) == expected


def test_several_ways_to_fail_are_in_one_line() -> None:
    """The most frequent way comes first, with its reasons; few are shown, and the others are counted."""
    errors = [ForfeitCount(Ending.CRASHED, f"{'ABCDE'[n]}Error (mine.py:{n})", 1, 20 - n) for n in range(5)]
    assert digest(failing(LATE, *errors, games=30)) == (
        "mine crashed in 5 of 30 games: AError (mine.py:0) in 1, BError (mine.py:1) in 1, CError (mine.py:2) "
        "in 1, others in 2, first in game 16; answered too late in 2 games: no answer within 1 s, first in "
        "game 14"
    )


def test_disqualification_and_log_are_at_the_end() -> None:
    text = digest(failing(LATE, games=1), disqualified=True, log=Path("runs/x/bot-mine.log"))
    assert text.endswith(", first in game 14; disqualified after 1 game; log: runs/x/bot-mine.log")
