"""What may be wrong with a program. Each of these costs it the game in which it happened."""

from __future__ import annotations

from collections.abc import Sequence

from happycity import HappyCityError, Move

_SHOWN = 80
"""Characters of a program's output that a message repeats."""


class ProgramError(HappyCityError):
    """A program can't play on."""


class ProgramEndedError(ProgramError):
    """The program has ended before its game was over, or no line can be exchanged with it."""


class AnswerError(ProgramError):
    """A line of the program is not an answer to an open decision."""

    def __init__(self, line: str, complaint: str, legal: Sequence[Move] = ()) -> None:
        super().__init__(f"the program wrote {quoted(line)}, {complaint}")
        self.line = line
        self.complaint = complaint
        self.legal = legal
        """The legal moves, if the answer is an illegal one.

        They aren't in the message: games that are lost by the same message are counted together.
        """


def quoted(text: str) -> str:
    """Return a program's output as messages show it: quoted, and shortened if it is long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
