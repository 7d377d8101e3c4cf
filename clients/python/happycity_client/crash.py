"""Why a bot crashed, and the log of its crashes."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import happycity
from happycity.match import one_line

MOST_KINDS = 100
"""Kinds of crashes that are counted separately; all further ones count as one kind."""

_OTHER = ("", "", "")
_log = logging.getLogger("happycity_client")


class CrashReason(NamedTuple):
    """A crash: its string is one line."""

    text: str
    """The type of the error, and its message."""
    place: str
    """Such as `mybot.py:12`; "" if it isn't known."""

    def __str__(self) -> str:
        return one_line(f"{self.text} ({self.place})" if self.place else self.text)


def crash_reason(error: BaseException) -> CrashReason:
    """Return why a bot crashed, with the innermost place in the author's code."""
    where = ""
    trace = error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        package = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _PACKAGES and not _FOREIGN.intersection((*path.parents, *map(Path, path.parts))):
            where = f"{path.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    text = one_line(str(error))
    name = type(error).__name__
    return CrashReason(f"{name}: {text}" if text else name, where)


_PACKAGES = {happycity.__name__, __name__.partition(".")[0]}
"""Those of the SDK: the paths of compiled code say nothing."""
_FOREIGN = {
    Path(os.__file__).parent,
    Path("site-packages"),
    Path("dist-packages"),
    Path("happycity_bridge"),
}
"""Folders of the standard library, of what is installed, and of the bridge: their code isn't the author's."""


@dataclass(slots=True)
class _Kind:
    first_match_id: int
    title: str
    count: int = 1
    logged: int = 1
    """The count that the last line gives."""


class CrashLog:
    """Logs each kind of crash once with its traceback, then only how often it came again.

    Two crashes are of one kind if their errors have one type and one place in the author's code.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._kinds: dict[tuple[str, str, str], _Kind] = {}

    def add(self, what: str, error: BaseException, *, match_id: int, where: str) -> str:
        """Log a crash, and return its reason in one line. `what` says what became of it."""
        reason = crash_reason(error)
        key = (what, type(error).__name__, reason.place)
        if key not in self._kinds and len(self._kinds) >= MOST_KINDS:
            key = _OTHER
        kind = self._kinds.get(key)
        if kind is None:
            self._kinds[key] = _Kind(match_id, "various" if key == _OTHER else str(reason))
            _log.error("%s: %s: %s", self._name, where, what, exc_info=error)
            return str(reason)
        kind.count += 1
        if _is_power_of_ten(kind.count):
            kind.logged = kind.count
            text = "%s: %s: the same crash as in match %d (%d so far): %s"
            _log.error(text, self._name, where, kind.first_match_id, kind.count, kind.title)
        return str(reason)

    def close(self) -> None:
        """Log how often each kind came in all, where the last line doesn't say it."""
        for kind in self._kinds.values():
            if kind.count > kind.logged:
                text = "%s: the same crash in %d games, first in match %d: %s"
                _log.error(text, self._name, kind.count, kind.first_match_id, kind.title)
        self._kinds.clear()


def _is_power_of_ten(number: int) -> bool:
    return str(number).rstrip("0") == "1"
