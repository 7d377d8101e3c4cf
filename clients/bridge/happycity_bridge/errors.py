"""What may be wrong with a program. Each of these costs it the game in which it happened."""

from __future__ import annotations

from collections.abc import Sequence

from happycity import HappyCityError, Move

_SHOWN = 80
"""Characters of a program's line that a message repeats."""


class ProgramError(HappyCityError):
    """A program can't play on."""


class ProgramEndedError(ProgramError):
    """The program is gone, or can't be talked to any more, before its game was over."""


class AnswerError(ProgramError):
    """A line of the program is no answer to what it was asked."""

    def __init__(self, line: str, complaint: str, legal: Sequence[Move] = ()) -> None:
        shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "..."
        offer = f"; legal: {', '.join(map(str, legal))} (or 0 to {len(legal) - 1})" if legal else ""
        super().__init__(f"the program wrote {shown!r}, {complaint}{offer}")
        self.line = line
        self.complaint = complaint
