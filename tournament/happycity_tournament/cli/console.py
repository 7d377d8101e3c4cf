"""Tournaments and ratings for people: tables, and lines about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from happycity.text.words import plural
from happycity_tournament.cli.tables import UNKNOWN, empty_table, moment_text, print_lines, table_of
from happycity_tournament.config import (
    MEAN_ELO,
    Format,
    Gauntlet,
    RandomRounds,
    RoundRobin,
    SprtTest,
    Swiss,
    TournamentState,
)
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.ratings.results import MODEL, ONE_END, TOO_LITTLE, BotRating, Interval, Ratings
from happycity_tournament.ratings.sprt import SprtState, Verdict
from happycity_tournament.ratings.statistics import MIN_DEALS
from happycity_tournament.standings.digest import digests, failures
from happycity_tournament.standings.standings import Standing, score_text

PAIRS_SHOWN = 8
"""Bots in the table of differences; the JSON has all."""

_RATING = ("rank", "bot", "Elo", "95%")
_ABOVE = "above next"
_WON = "won/=/lost"
"""Games won alone, with a shared first place, and lost."""
_LEAST_NEEDED = (_WON, "games", "points")
"""Columns that a table of ratings does without in a narrow terminal, the first one first."""
_RANKS = "rank: those that the games leave open, for all bots at once with 95%"
_DIFFERENCE = f"{_ABOVE}: how much higher a bot is rated than the one below it, with the 95% interval"
_LIVE_MODEL = f"Elo: {MODEL}; mean {MEAN_ELO:.0f}"


def print_result(
    console: Console, snapshot: Snapshot, *, logs: Path | None = None, details: bool = False
) -> None:
    """Print a tournament: standings or final ratings, and what was played in what time.

    `details` adds what is known about the model of the ratings.
    """
    final = snapshot.final
    if snapshot.title:
        print_lines(console, "", f"  {snapshot.title}")
    table = standings_table(snapshot) if final is None else ratings_table(final, snapshot)
    _print_table(console, _fitted(console, table))
    lines = snapshot.standings if final is None else final.lines
    print_lines(
        console,
        *sprt_lines(snapshot),
        *digests(snapshot.standings, snapshot.disqualified, logs),
        *snapshot.remarks,
        _played(snapshot),
        *_notes(lines),
        _RANKS,
        *([] if final is None else [_DIFFERENCE]),
    )
    if details:
        print_lines(console, *([_LIVE_MODEL] if final is None else _details(final)))


def print_facts(console: Console, snapshot: Snapshot) -> None:
    """Print what a tournament consists of, and where it stands."""
    print_lines(
        console,
        f"tournament {snapshot.tournament_id}, {snapshot.state.value}, "
        f"created {moment_text(snapshot.created_at)} UTC",
        f"bots: {', '.join(snapshot.bots)}",
    )
    if snapshot.config is not None:
        game = snapshot.config.game
        text = f"{game.players} seats, {game.mode.value} rules, scoring by {game.scoring.value}"
        print_lines(console, f"game: {text}")
    print_lines(
        console,
        *(
            f"{bot}: {snapshot.profiles[bot].about}"
            for bot in snapshot.bots
            if bot in snapshot.profiles and snapshot.profiles[bot].about
        ),
    )
    if snapshot.missing_bots and not snapshot.state.over:
        print_lines(console, f"not connected: {', '.join(snapshot.missing_bots)}")


def print_ratings(console: Console, ratings: Ratings) -> None:
    """Print ratings with all that belongs to them."""
    _print_table(console, _fitted(console, ratings_table(ratings)))
    _print_pairs(console, ratings)
    print_lines(console, *_notes(ratings.lines), _RANKS, _DIFFERENCE, *_details(ratings))


def tournaments_table(snapshots: Iterable[Snapshot]) -> Table:
    """Return tournaments as a table."""
    columns: dict[str, Callable[[Snapshot], object]] = {
        "id": lambda one: one.tournament_id,
        "state": lambda one: one.state.value,
        "games": _finished_of_all,
        "created (UTC)": lambda one: moment_text(one.created_at),
        "bots": _title_and_bots,
    }
    return table_of(snapshots, columns, compact=True)


def runs_table(rows: Iterable[tuple[str, Snapshot | str, Sequence[str]]]) -> Table:
    """Return runs as a table: their folders, tournaments and bots.

    In place of a tournament, a text says where it is, or why it can't be read.
    """
    columns: dict[str, Callable[[tuple[str, Snapshot | str, Sequence[str]]], object]] = {
        "run": lambda row: row[0],
        "state": lambda row: row[1] if isinstance(row[1], str) else row[1].state.value,
        "games": lambda row: "" if isinstance(row[1], str) else _finished_of_all(row[1]),
        "bots": lambda row: ", ".join(row[2]) if isinstance(row[1], str) else _title_and_bots(row[1]),
    }
    return table_of(rows, columns, compact=True)


def _finished_of_all(snapshot: Snapshot) -> str:
    return games_text(snapshot).rpartition(" ")[0]


def _title_and_bots(snapshot: Snapshot) -> str:
    return ": ".join(filter(None, (snapshot.title, ", ".join(snapshot.bots))))


def standings_table(snapshot: Snapshot) -> Table:
    """Return the standings as a table; it fits a terminal of 80 columns."""
    scores = _score_headings(snapshot)
    table = empty_table(*_RATING, *scores, compact=True)
    for line in snapshot.standings:
        table.add_row(*_rating_cells(line), *_score_cells(line)[: len(scores)])
    return table


def ratings_table(ratings: Ratings, snapshot: Snapshot | None = None) -> Table:
    """Return ratings as a table, with what the standings of a tournament add."""
    standings = {} if snapshot is None else {line.bot: line for line in snapshot.standings}
    scores = ("games", "deals") if snapshot is None else _score_headings(snapshot)
    pools = ("pool",) if ratings.pools > 1 else ()
    table = empty_table(*_RATING, _ABOVE, *scores, *pools, compact=True)
    for line, _, above in ratings.to_next():
        own = [str(line.games), str(line.deals)]
        if snapshot is not None:
            own = _score_cells(standings[line.bot])[: len(scores)]
        pool = (str(line.pool) for _ in pools)
        table.add_row(*_rating_cells(line), "" if above is None else above.text, *own, *pool)
    return table


def _fitted(console: Console, table: Table) -> Table:
    """Return a table of ratings without the columns that are needed least, as far as it is too wide."""
    unbounded = console.options.update(max_width=1000)
    for heading in _LEAST_NEEDED:
        if Measurement.get(console, unbounded, table).maximum > console.width:
            table.columns = [column for column in table.columns if column.header != heading]
    return table


def disqualified_lines(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield each bot that is disqualified, with a line that says why."""
    lines = {line.bot: line for line in snapshot.standings}
    for bot in snapshot.disqualified:
        why = f": it {failures(lines[bot])}" if bot in lines and lines[bot].forfeits else ""
        yield bot, f"{bot} is disqualified{why}; its other seats are forfeited and not rated"


def progress_line(snapshot: Snapshot) -> str:
    """Return the progress of a tournament in one line."""
    title = f" ({snapshot.title})" if snapshot.title else ""
    return f"tournament {snapshot.tournament_id}{title}: {games_text(snapshot)}, {snapshot.state.value}"


def _print_table(console: Console, table: Table) -> None:
    """Print a table with an empty line above and below it."""
    console.print("", table, "", sep="\n")


def _print_pairs(console: Console, ratings: Ratings) -> None:
    """Print the differences of all pairs, unless there are none beyond those of the ratings' table."""
    shown = [line.bot for line in ratings.lines[:PAIRS_SHOWN]]
    if len(shown) < 3 or not ratings.differences:
        return
    more = f", the first {len(shown)} of {len(ratings.lines)}" if len(shown) < len(ratings.lines) else ""
    print_lines(console, f"how much higher the row's bot is rated than the column's{more}")
    table = empty_table("bot", *map(str, range(2, len(shown) + 1)), compact=True)
    for number, bot in enumerate(shown[:-1], start=1):
        known = [ratings.difference(bot, other) for other in shown[number:]]
        cells = [UNKNOWN if difference is None else difference.text for difference in known]
        table.add_row(Text(f"{number} {bot}"), *[""] * (number - 1), *cells)
    _print_table(console, table)


def _rating_cells(line: Standing | BotRating) -> tuple[str, Text, str, str]:
    marked = f"{line.interval_text} {line.mark}".rstrip()
    return line.ranks, Text(line.bot), f"{line.elo:.0f}", marked


def _score_headings(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the headings of what the standings add to the ratings; forfeits only if there are any."""
    headings = ("games", "score", _WON, "points", "forfeits")
    return headings if any(line.forfeits for line in snapshot.standings) else headings[:-1]


def _score_cells(line: Standing) -> list[str]:
    won = f"{line.wins}/{line.shared}/{line.losses}"
    return [str(line.games), score_text(line.score), won, f"{line.points_mean:.1f}", str(line.forfeits)]


def _notes(lines: Sequence[Standing] | Sequence[BotRating]) -> Iterator[str]:
    """Yield explanations of a table."""
    if any(line.has_one_end for line in lines):
        yield ONE_END
    if any(line.low is line.high is None for line in lines):
        yield f"{UNKNOWN}: {TOO_LITTLE}; an interval needs {MIN_DEALS} deals of the bot and of the anchor"
    if any(isinstance(line, BotRating) and line.pool > 1 for line in lines):
        yield "bots of different pools never met, not even through others: their Elo can't be compared"


def _details(ratings: Ratings) -> Iterator[str]:
    """Yield what should be known about the model of ratings."""
    yield f"Elo: {ratings.model}; {ratings.anchor or 'the mean'} {ratings.anchor_elo:.0f}"
    yield from ratings.notes


def games_text(snapshot: Snapshot) -> str:
    """Return how many games are finished; a test has no total."""
    if snapshot.sprt is not None:
        return plural(snapshot.games, "game")
    at_most = "at most " if snapshot.until_error is not None and not snapshot.state.over else ""
    return f"{snapshot.games:,} of {at_most}{plural(snapshot.games_total, 'game')}"


def error_text(snapshot: Snapshot) -> str:
    """Return how large the errors of the ratings are, and which errors end the tournament."""
    lines = snapshot.standings
    errors = [line.margin for line in lines if line.margin is not None]
    known = errors and not any(line.low is line.high is None for line in lines)
    largest = f"±{max(errors):.0f}" if known else "not known yet"
    return f"largest error {largest}, until ±{snapshot.until_error:g}"


def _played(snapshot: Snapshot) -> str:
    """Return in one line what was played, and how fast."""
    seconds, config = snapshot.seconds or float("inf"), snapshot.config
    state = "" if snapshot.state is TournamentState.FINISHED else f"{snapshot.state.value}: "
    what = ""
    if config is not None:
        seed = "hidden until the end" if snapshot.seed is None else snapshot.seed
        what = f" ({_format(config.format)}, {config.game.players} seats, seed {seed})"
    voided = f"; {snapshot.games_voided} were voided and played again" if snapshot.games_voided else ""
    unrated = snapshot.games_unrated
    not_rated = f"; {unrated} with a disqualified bot are not rated" if unrated else ""
    return (
        f"{state}{games_text(snapshot)}{what}, {plural(snapshot.decisions, 'decision')} "
        f"in {snapshot.seconds:.1f} s: "
        f"{snapshot.games / seconds:,.0f} games/s, {snapshot.decisions / seconds:,.0f} decisions/s"
        f"{voided}{not_rated}"
    )


def _format(chosen: Format) -> str:
    """Return the format with its length."""
    match chosen:
        case RandomRounds(until_error=None):
            return plural(chosen.rounds, "round")
        case RandomRounds():
            return f"rounds until ±{chosen.until_error:g} Elo, at most {chosen.rounds:,}"
        case Swiss():
            return f"{chosen.kind}, {plural(chosen.rounds, 'round')}"
        case RoundRobin() | Gauntlet():
            return f"{chosen.kind}, {plural(chosen.cycles, 'cycle')}"
        case SprtTest():
            return chosen.kind


def sprt_progress(state: SprtState) -> str:
    """Return the progress of a test in one line."""
    difference = _sprt_difference(state) or "no estimate of the difference yet"
    return f"{plural(state.blocks, 'block')}, LLR {state.llr:+.2f} ({_bounds(state)}), {difference}"


def sprt_lines(snapshot: Snapshot) -> list[str]:
    """Return the decision of a test with its numbers; nothing in other formats."""
    test, state = snapshot.sprt, snapshot.test
    if test is None or state is None:
        return []
    basis = ", ".join(filter(None, (plural(state.blocks, "block"), _sprt_difference(state))))
    decision = f"{verdict_text(test, state)} ({basis})"
    accepted = {Verdict.H0: "H0 is accepted: ", Verdict.H1: "H1 is accepted: "}.get(state.verdict, "")
    luck = f"; luck taken off by evaluator {test.luck_evaluator}" if test.luck_evaluator else ""
    numbers = (
        f"{accepted}LLR {state.llr:+.2f} ({_bounds(state)}); H0 {test.elo0:+g}, H1 {test.elo1:+g} "
        f"Elo, alpha {test.alpha:g}, beta {test.beta:g}{luck}"
    )
    if state.verdict is Verdict.RUNNING:
        return [decision, numbers]
    counted = "the table has the games up to the decision; those that were still running are left out"
    return [decision, numbers, counted]


def verdict_text(test: SprtTest, state: SprtState) -> str:
    """Return what a test has found as a clause, in the words of `compare`; the interval agrees with it."""
    candidate, base = test.candidate, test.base
    known = "stronger" if (state.elo_low or 0) > 0 else "weaker" if (state.elo_high or 0) < 0 else ""
    relation = f"is {known} than" if known else "can't be distinguished from"
    match state.verdict:
        case Verdict.RUNNING:
            return f"{candidate} against {base}: nothing is decided yet"
        case Verdict.UNDECIDED:
            return f"{candidate} against {base}: undecided after the maximum number of blocks"
        case Verdict.NO_DIFFERENCE:
            return f"{candidate} and {base} play the same: every block was exactly even"
        case Verdict.H0:
            ruled_out, found = test.elo1, "weaker"
        case Verdict.H1:
            ruled_out, found = test.elo0, "stronger"
    ruled = "stronger" if ruled_out > 0 else "weaker"
    if not ruled_out or ruled == found:
        open_alone = "" if known == found else "; the interval alone would leave it open"
        return f"{candidate} is {found} than {base}{open_alone}"
    bound = f", and is not {abs(ruled_out):g} Elo {ruled}" if not known else ""
    return f"{candidate} {relation} {base}" + (
        f", but not by {abs(ruled_out):g} Elo" if known == ruled else bound
    )


def _sprt_difference(state: SprtState) -> str:
    """Return the estimated difference with its 95% interval, "" without one."""
    if state.elo is None:
        return ""
    if state.elo_low is state.elo_high is None:
        return f"{state.elo:+.0f} Elo"
    return f"{state.elo:+.0f} {Interval(low=state.elo_low, high=state.elo_high).interval_text} Elo"


def _bounds(state: SprtState) -> str:
    return f"H0 at {state.lower:+.2f}, H1 at {state.upper:+.2f}"
