"""The progress of a tournament that runs: a live table on a terminal, lines elsewhere."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from happycity import IncidentKind
from happycity.rules.deals import MIN_PLAYERS
from happycity.text.words import plural
from happycity.wire.match import incident_of
from happycity.wire.moments import unix_of
from happycity_runtime.commands import is_quiet
from happycity_tournament.cli.console import (
    disqualified_lines,
    error_text,
    games_text,
    sprt_progress,
    standings_table,
)
from happycity_tournament.cli.tables import print_lines
from happycity_tournament.client.session import ProgressView
from happycity_tournament.config import DECISIONS_OF_A_SEAT, TournamentState
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.standings.digest import digests

BAR_WIDTH = 24
HINT = "Ctrl-C stops it"
"""What is shown below the live table, without a terminal in the first line."""
FIRST_LINE_SECONDS = 1.0
"""The time after the start of the games when there is a first estimate."""
LARGEST_SHARE = 0.99
"""How full the bar is at most while games run: it is an estimate by their decisions."""
RATE_SECONDS = 30.0
"""The time over which the rate is measured, from which the estimate follows."""
LINE_SECONDS = 5.0
"""The time between two lines of progress where there is no terminal, and between two lines about one bot."""
WAITING_SECONDS = 3.0
"""Seconds that a decision waits before the bot is named."""
BOTS_SHOWN = 3
"""Bots that are named among those that are waited for."""
INCIDENTS_SHOWN = 10
"""Lines about strikes and forfeits in `LINE_SECONDS` at most: where many bots fail, their counts must do."""

_KINDS = {
    IncidentKind.TIMEOUT: "late",
    IncidentKind.ILLEGAL_ANSWER: "illegal",
    IncidentKind.FORFEIT: "forfeited",
}


class Display(ExitStack, ProgressView):
    """Shows progress on the standard error; use it as a context.

    `logs` is the folder with the output of bots.
    """

    def __init__(self, *, logs: Path | None = None) -> None:
        super().__init__()
        self._logs = logs
        self._console = Console(stderr=True, quiet=is_quiet())
        self._live: Live | None = None
        self._next_line = 0.0
        self._started = math.inf
        """When the games began; infinite before that, and once there was a line with an estimate."""
        self._bar = Progress(
            BarColumn(BAR_WIDTH), TextColumn("{task.description}", markup=False), console=self._console
        )
        self._decisions: deque[tuple[float, int]] = deque()  # how many there were when, of the last seconds
        self._games = self._bar.add_task("", total=None)
        self._incidents = _Incidents()
        self._remarked: set[str] = set()
        self._disqualified: set[str] = set()
        self._running = False

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = self.enter_context(Live(console=self._console, auto_refresh=False, transient=True))
            self._live.update(Text(f"starting; {HINT}", style="dim"), refresh=True)
        return self

    def remark(self, text: str) -> None:
        """Show a line beside the table."""
        print_lines(self._console, text)

    def update(self, snapshot: Snapshot) -> None:
        """Show where the tournament stands."""
        now = time.monotonic()
        for line in (*self._news(snapshot), *self._incidents.lines(snapshot, now)):
            self.remark(line)
        progress, waiting = self._progress(snapshot), list(waiting_lines(snapshot, time.time()))
        if self._live is not None:
            self._bar.update(self._games, description=progress)
            lines = (*digests(snapshot.standings, snapshot.disqualified, self._logs), *waiting)
            failures = (Text(text, no_wrap=True, overflow="ellipsis") for text in lines)
            view = Group(
                *([standings_table(snapshot)] if snapshot.games else []),
                *failures,
                self._bar.get_renderable(),
                Text(HINT, style="dim"),
            )
            self._live.update(view, refresh=True)
        elif not snapshot.state.over and now >= min(self._next_line, self._started + FIRST_LINE_SECONDS):
            hint = "" if self._next_line else f" ({HINT})"
            self._next_line = now + LINE_SECONDS
            if now >= self._started + FIRST_LINE_SECONDS:
                self._started = math.inf
            self.remark("; ".join([progress, *waiting]) + hint)

    def _progress(self, snapshot: Snapshot) -> str:
        if snapshot.state is TournamentState.WAITING:
            if not snapshot.missing_bots or snapshot.config is None:
                return "waiting for the first game"
            limit = snapshot.config.time.connect_seconds
            return f"waiting for {', '.join(snapshot.missing_bots)}, at most {limit:g} s"
        missing = f"; not connected: {', '.join(snapshot.missing_bots)}" if snapshot.missing_bots else ""
        decisions = snapshot.decisions + snapshot.decisions_running
        decisions_each = _decisions_of_a_game(snapshot)
        not_begun = max(0, snapshot.games_total - snapshot.games - snapshot.games_running)
        # The games that run may be longer than usual ones.
        decisions_left = max(snapshot.games_total * decisions_each - decisions, not_begun * decisions_each)
        share = decisions / ((decisions + decisions_left) or 1)
        self._bar.update(self._games, completed=min(share, LARGEST_SHARE), total=1.0)
        parts = [games_text(snapshot)]
        decisions_per_second = self._speed(decisions)
        if decisions_per_second is not None and snapshot.games:
            rate = decisions_per_second / decisions_each
            parts.append(f"{rate:.1f} games/s" if rate < 10 else f"{rate:.0f} games/s")
        if snapshot.test is not None:
            return f"{', '.join(parts)}; {sprt_progress(snapshot.test)}{missing}"
        if snapshot.until_error is not None:
            return f"{', '.join(parts)}; {error_text(snapshot)}{missing}"
        if decisions_per_second is not None:
            seconds = decisions_left / decisions_per_second if decisions_per_second else None
            parts.append(f"{'unknown time' if seconds is None else _duration(seconds)} left")
        return f"{', '.join(parts)}{missing}"

    def _speed(self, decisions: int) -> float | None:
        """Return the decisions per second of the last `RATE_SECONDS`, None at the first call."""
        now = time.monotonic()
        self._decisions.append((now, decisions))
        while self._decisions[0][0] < now - RATE_SECONDS:
            self._decisions.popleft()
        then, before = self._decisions[0]
        # Fewer than before: a stop has voided running games.
        return max(0, decisions - before) / (now - then) if now > then else None

    def _news(self, snapshot: Snapshot) -> Iterator[str]:
        """Yield a line for each event that deserves one, once."""
        if snapshot.state is TournamentState.RUNNING and not self._running:
            self._running, self._started = True, time.monotonic()
            for bot in snapshot.missing_bots:
                yield f"{bot} did not connect in time; its games are forfeited until it does"
        for bot, line in disqualified_lines(snapshot):
            if bot not in self._disqualified:
                self._disqualified.add(bot)
                yield line
        if snapshot.state is TournamentState.STOPPED and not snapshot.games:
            return  # the error says why
        for line in snapshot.remarks:
            if line not in self._remarked:
                self._remarked.add(line)
                yield line


def _decisions_of_a_game(snapshot: Snapshot) -> float:
    """Estimate the decisions of a game: the mean, in which games that are not finished count as usual ones.

    The first games to end are the shortest ones.
    """
    seats = MIN_PLAYERS if snapshot.config is None else snapshot.config.game.players
    unfinished = max(snapshot.games_running, 1)
    total = snapshot.decisions + unfinished * DECISIONS_OF_A_SEAT * seats
    return total / (snapshot.games + unfinished)


class _Incidents:
    """Lines about strikes and forfeits: each bot's first of each kind, then how many there were."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[IncidentKind]] = {}
        self._shown: dict[str, tuple[float, int]] = {}  # by bot: when its last line was, and its count then
        self._lines: deque[float] = deque()  # when there was a line, in the last seconds

    def lines(self, snapshot: Snapshot, now: float) -> Iterator[str]:
        """Yield lines about what went wrong since the last snapshot."""
        for entry in snapshot.incidents:
            if entry.bot in snapshot.disqualified:
                continue
            counts, incident = self._counts.setdefault(entry.bot, Counter()), incident_of(entry.incident)
            counts[incident.kind] += 1
            if counts[incident.kind] == 1 and self._may_show(entry.bot, now):
                decision = incident.decision_id
                where = f", round {entry.round}, decision {decision}" if decision else ""
                yield f"{entry.bot}: {incident.text} (game {entry.match_id}{where})"
        for bot, counts in self._counts.items():
            then, shown = self._shown.get(bot, (now - LINE_SECONDS, 0))
            # The counts double from line to line, so that a long run has few of them.
            if (
                counts.total() >= max(2 * shown, 2)
                and now - then >= LINE_SECONDS
                and self._may_show(bot, now)
            ):
                kinds = ", ".join(f"{counts[kind]} {word}" for kind, word in _KINDS.items() if counts[kind])
                yield f"{bot} so far: {kinds}"

    def _may_show(self, bot: str, now: float) -> bool:
        while self._lines and self._lines[0] <= now - LINE_SECONDS:
            self._lines.popleft()
        if len(self._lines) >= INCIDENTS_SHOWN:
            return False
        self._lines.append(now)
        self._shown[bot] = now, self._counts[bot].total()
        return True


def waiting_lines(snapshot: Snapshot, now: float) -> Iterator[str]:
    """Yield a line for each bot that has been waited for long, the longest first; `now` is in Unix time."""
    if snapshot.state.over:
        return
    known = (entry for entry in snapshot.activity if entry.HasField("waiting_since"))
    waiting = [(now - unix_of(entry.waiting_since), entry) for entry in known]
    waiting = sorted((pair for pair in waiting if pair[0] >= WAITING_SECONDS), key=lambda pair: -pair[0])
    for seconds, entry in waiting[:BOTS_SHOWN]:
        line = f"waiting for {entry.bot} for {_duration(seconds)} in {plural(entry.games_waiting, 'game')}"
        if not entry.connected:
            line += "; it is not connected"
        elif not entry.has_answered:
            line += "; it has never answered"
        yield line
    if len(waiting) > BOTS_SHOWN:
        yield f"waiting for {plural(len(waiting) - BOTS_SHOWN, 'more bot')}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
