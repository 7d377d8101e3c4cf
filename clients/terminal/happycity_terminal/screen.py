"""How lines look in a terminal, and what goes to a pipe."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import BaseStyle, Style

from happycity.text.board import WIDTH, Line, plain, to_ascii
from happycity.text.board import Style as Name

# Text keeps the terminal's own colours, and what has a background has a foreground too: so nothing vanishes
# on a dark or a light terminal. Sixteen colours have no orange; bright red is nearest.
STYLE: BaseStyle = Style.from_dict(
    {
        Name.TITLE.value: "bold",
        Name.DIM.value: "dim",
        Name.TURN.value: "bold",
        Name.CHOSEN.value: "bold underline",
        Name.BAD.value: "bold fg:ansiwhite bg:ansired",
        Name.YELLOW.value: "fg:ansiblack bg:ansiyellow",
        Name.BLUE.value: "fg:ansiwhite bg:ansiblue",
        Name.GREEN.value: "fg:ansiblack bg:ansigreen",
        Name.ORANGE.value: "fg:ansiblack bg:ansibrightred",
        Name.PURPLE.value: "fg:ansiwhite bg:ansimagenta",
        Name.SPECIAL.value: "reverse",
    }
)


def is_terminal() -> bool:
    """Return whether a person sits at both ends: keys come from a terminal, and the output goes to one."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def color_depth() -> ColorDepth:
    """Return the terminal's sixteen colours, or none if NO_COLOR is set."""
    return ColorDepth.from_env() or ColorDepth.DEPTH_4_BIT


def text_width() -> int:
    """Return how wide text may be: the terminal's columns, at least those of the board."""
    return max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


def is_ascii_only() -> bool:
    """Return whether the output can't show the symbols of the board."""
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") not in ("utf8", "utf8sig")


def styled(lines: Iterable[Line]) -> StyleAndTextTuples:
    """Return lines as prompt_toolkit takes them."""
    convert = to_ascii if is_ascii_only() else str
    fragments: StyleAndTextTuples = []
    for line in lines:
        fragments += [(f"class:{style.value}" if style else "", convert(text)) for text, style in line]
        fragments.append(("", "\n"))
    return fragments


def write(lines: Iterable[Line]) -> None:
    """Write lines without styles to the standard output."""
    sys.stdout.write(plain(lines, ascii_only=is_ascii_only()))
