"""What a person sees of a tournament: a live table on a terminal, lines elsewhere, and the end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Container, Iterable
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from happycity.v1 import tournament_service_pb2 as pb
from happycity_tournament.rating_tables import TOO_LITTLE, likelihood
from happycity_tournament.results_json import reason_of, state_of
from happycity_tournament.sprt_words import sprt_lines, sprt_progress

BAR_WIDTH = 30
RATE_SECONDS = 10.0
"""Over how long the rate is taken."""
LINE_SECONDS = 5.0
"""How often a line of progress is written where there is no terminal."""
_LIVE_MODEL = "Elo by pairwise composite likelihood, pool mean 1500; 95% intervals by bootstrap over deals"


class Display:
    """Shows progress on the standard error; use it as a context."""

    def __init__(self, *, hint: str = "Ctrl-C stops it") -> None:
        """Take a hint that stands below the live table."""
        self._hint = hint
        self._console = Console(stderr=True)
        self._live: Live | None = None
        self._last_line = 0.0
        self._finished: deque[tuple[float, int]] = deque()  # time and games, of the last seconds
        self._told: set[str] = set()  # remarks of the server's

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, traceback)

    def remark(self, text: str) -> None:
        """Tell the person something beside the table."""
        self._console.print(Text(text), soft_wrap=True)

    def update(self, update: pb.WatchTournamentResponse) -> None:
        """Show where the tournament stands."""
        for remark in _remarks(update.tournament):
            if remark not in self._told:
                self._told.add(remark)
                self.remark(remark)
        line = self._progress(update.tournament)
        if update.HasField("sprt"):
            line = f"{line}; {sprt_progress(update.sprt)}"
        if self._live is not None:
            games = update.tournament
            bar = ProgressBar(total=games.games_total, completed=games.games_finished, width=BAR_WIDTH)
            progress = Table.grid(padding=(0, 1))
            progress.add_row(bar, Text(line))
            forfeits = map(Text, _forfeits(update.standings))
            view = Group(standings_table(update), *forfeits, progress, Text(self._hint))
            self._live.update(view, refresh=True)
        elif time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            self._console.print(Text(line), soft_wrap=True)

    def _progress(self, tournament: pb.Tournament) -> str:
        if tournament.state == pb.TOURNAMENT_STATE_WAITING:
            return f"waiting for {', '.join(tournament.missing_bots) or 'the first game'}"
        finished, total = tournament.games_finished, tournament.games_total
        rate = self._rate(finished, time.monotonic())
        if tournament.config.format == pb.TOURNAMENT_FORMAT_SPRT:
            left = "as long as the test takes"
        else:
            left = f"{(total - finished) / rate:.0f} s left" if rate else "no estimate yet"
        missing = f"; not connected: {', '.join(tournament.missing_bots)}" if tournament.missing_bots else ""
        return f"{finished} of {total} games, {rate:.0f} games/s, {left}{missing}"

    def _rate(self, finished: int, now: float) -> float:
        """Return games a second over the last seconds."""
        self._finished.append((now, finished))
        while self._finished[0][0] < now - RATE_SECONDS:
            self._finished.popleft()
        then, before = self._finished[0]
        return (finished - before) / (now - then) if now > then else 0.0


def standings_table(update: pb.WatchTournamentResponse) -> Table:
    """Return the standings as a table."""
    table = Table()
    table.add_column("rank", justify="right")
    table.add_column("bot")
    for heading in ("Elo", "95% interval", "games", "points", "firsts", "forfeits"):
        table.add_column(heading, justify="right")
    for line in update.standings:
        table.add_row(
            str(line.rank),
            _name(line.bot, update.tournament),
            f"{line.elo:.0f}",
            _interval(line),
            str(line.games),
            f"{line.points_mean:.2f}",
            str(line.firsts),
            str(line.forfeits),
        )
    return table


def _forfeits(standings: Iterable[pb.Standing]) -> list[str]:
    """Return a line for each bot that forfeited games: the reasons, the most frequent first."""
    lines = []
    for standing in standings:
        counts = sorted(standing.forfeits_by_reason, key=lambda count: -count.games)
        if counts:
            reasons = ", ".join(f"{count.games} {reason_of(count.ending)}" for count in counts)
            lines.append(f"forfeits of {standing.bot}: {reasons}")
    return lines


def _remarks(tournament: pb.Tournament) -> list[str]:
    """Return what a person should know of a tournament beside its standings."""
    disqualified = [
        f"{bot} is disqualified for too many forfeits; its remaining seats are forfeited and not rated"
        for bot in tournament.disqualified_bots
    ]
    return [*roster_lines(tournament), *disqualified, *tournament.remarks]


def roster_lines(tournament: pb.Tournament, bots: Container[str] | None = None) -> list[str]:
    """Return a line for each bot, of `bots` if given, that joined late or was withdrawn, or two for both."""
    lines = []
    for stay in tournament.config.roster:
        if bots is not None and stay.bot not in bots:
            continue
        if stay.first_round > 1:
            lines.append(f"{stay.bot} takes part from round {stay.first_round} on")
        if stay.HasField("last_round"):
            when = f"after round {stay.last_round}" if stay.last_round else "before the first round"
            lines.append(f"{stay.bot} was withdrawn {when}")
    return lines


def _name(bot: str, tournament: pb.Tournament) -> Text:
    withdrawn = any(stay.bot == bot and stay.HasField("last_round") for stay in tournament.config.roster)
    return Text(f"{bot} (left)" if withdrawn else bot)


def _interval(line: pb.Standing | pb.FinalRating) -> str:
    if not line.HasField("elo_low"):
        return "too few deals"
    return f"{line.elo_low - line.elo:+.0f} {line.elo_high - line.elo:+.0f}"


def final_table(update: pb.WatchTournamentResponse) -> Table:
    """Return the final ratings as a table, with what the standings tell of each bot.

    Without any forfeit there is no column for them, and the table fits a terminal of 80 columns.
    """
    standings = {line.bot: line for line in update.standings}
    forfeits = ("forfeits",) if any(line.forfeits for line in update.standings) else ()
    table = Table()
    table.add_column("rank", justify="right")
    table.add_column("bot")
    for heading in ("Elo", "95% interval", "LOS", "games", "points", "firsts", *forfeits):
        table.add_column(heading, justify="right")
    for line in update.final_ratings.ratings:
        standing = standings[line.bot]
        table.add_row(
            str(line.rank),
            _name(line.bot, update.tournament),
            f"{line.elo:.0f}",
            _interval(line),
            likelihood(line.los_next if line.HasField("los_next") else None),
            str(line.games),
            f"{standing.points_mean:.2f}",
            str(standing.firsts),
            *(str(standing.forfeits) for _ in forfeits),
        )
    return table


def print_summary(console: Console, update: pb.WatchTournamentResponse) -> None:
    """Print the end of a tournament: standings, and what was played in what time."""
    has_final = update.HasField("final_ratings")
    console.print(final_table(update) if has_final else standings_table(update))
    for line in (
        *sprt_lines(update),
        *_forfeits(update.standings),
        *_remarks(update.tournament),
        _played(update.tournament),
        *(_final_lines(update.final_ratings) if has_final else (_LIVE_MODEL,)),
    ):
        console.print(Text(line), soft_wrap=True)


def _played(tournament: pb.Tournament) -> str:
    """Say what was played in what time."""
    seconds, config = tournament.seconds or float("inf"), tournament.config
    state = "" if tournament.state == pb.TOURNAMENT_STATE_FINISHED else f"{state_of(tournament)}: "
    seed = config.seed if config.HasField("seed") else "hidden until the end"
    voided = f"; {tournament.games_voided} were voided and begun again" if tournament.games_voided else ""
    apart = tournament.games_quarantined
    quarantined = f"; {apart} with a disqualified bot count apart" if apart else ""
    return (
        f"{state}{tournament.games_finished} of {tournament.games_total} games "
        f"({_length(config)}, {config.game.players} seats, seed {seed}), "
        f"{tournament.decisions} decisions in {tournament.seconds:.1f} s: "
        f"{tournament.games_finished / seconds:,.0f} games/s, "
        f"{tournament.decisions / seconds:,.0f} decisions/s{voided}{quarantined}"
    )


def _length(config: pb.TournamentConfig) -> str:
    """Say which format is played, and how often."""
    cycles = "1 cycle" if config.cycles == 1 else f"{config.cycles} cycles"
    return {
        pb.TOURNAMENT_FORMAT_ROUND_ROBIN: f"round robin, {cycles}",
        pb.TOURNAMENT_FORMAT_SWISS: f"swiss, {config.rounds} rounds",
        pb.TOURNAMENT_FORMAT_GAUNTLET: f"gauntlet, {cycles}",
        pb.TOURNAMENT_FORMAT_ADAPTIVE: f"adaptive, {config.rounds} rounds",
        pb.TOURNAMENT_FORMAT_SPRT: "sprt",
    }.get(config.format, f"{config.rounds} rounds")


def _final_lines(final: pb.FinalRatings) -> list[str]:
    """Say what final ratings tell beside the bots' ratings."""
    lines = ["LOS: likelihood that a bot is stronger than the next one"]
    for table in final.tables:
        effects = " ".join(f"{effect:+.0f}" for effect in table.seat_effects) or TOO_LITTLE
        gain = f"{table.duplicate_gain:.2f}" if table.HasField("duplicate_gain") else TOO_LITTLE
        lines.append(
            f"at tables of {table.seats}: what each seat adds, in Elo: {effects}; "
            f"gain of duplicate deals: {gain}"
        )
    if any(line.pool > 1 for line in final.ratings):
        lines.append("bots of different pools never met, not even through others: don't compare their Elo")
    given = final.anchor if final.HasField("anchor") else "pool mean"
    return [*lines, f"Elo: {final.model}; {given} {final.anchor_elo:.0f}"]
