"""Tournaments and ratings for people: tables, and lines about them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from happycity.text.words import plural
from happycity_tournament.cli import sprt
from happycity_tournament.config import (
    MEAN_ELO,
    Adaptive,
    Format,
    Gauntlet,
    RandomRounds,
    RoundRobin,
    SprtTest,
    Swiss,
    TournamentConfig,
    TournamentState,
)
from happycity_tournament.ratings.results import MODEL, TOO_LITTLE, Ratings, interval_text, ranked
from happycity_tournament.ratings.statistics import MIN_DEALS, BotMetrics
from happycity_tournament.running.digest import digests, failures
from happycity_tournament.running.snapshot import FinalRating, FinalRatings, Snapshot
from happycity_tournament.running.standings import Standing

LOS_BOTS = 12
"""Bots in the table of the likelihoods of superiority; the JSON has all."""

_UNKNOWN = "-"
_RATING = ("rank", "bot", "Elo", "95%")
_LEFT = frozenset({"id", "run", "state", "created (UTC)", "bot", "bots", "metric"})
_RANKS = "rank: those that the games leave open, for all bots at once with 95%"
_LOS = "LOS: likelihood that a bot is stronger than the next one"
_LIVE_MODEL = f"Elo: {MODEL}; mean {MEAN_ELO:.0f}"


def show(console: Console, *lines: str) -> None:
    """Print lines as they are: names may look like markup, and a terminal wraps them itself."""
    for line in lines:
        console.print(Text(line), soft_wrap=True)


# Results ---------------------------------------------------------------------------------------------------


def print_result(
    console: Console, snapshot: Snapshot, *, logs: Path | None = None, details: bool = False
) -> None:
    """Print a tournament: standings or final ratings, and what was played in what time.

    `details` adds what is known about seats, duplicate deals and the model of the ratings.
    """
    final = snapshot.final
    if snapshot.title:
        show(console, "", f"  {snapshot.title}")
    if final is None:
        console.print(standings_table(snapshot))
    else:
        console.print(ratings_table(final, snapshot, open_ranks=details))
    lines = snapshot.standings if final is None else final.ratings
    show(
        console,
        *sprt.result_lines(snapshot),
        *digests(snapshot, logs),
        *remarks(snapshot),
        _played(snapshot),
        *_notes(lines),
        *([] if final is None else [_LOS, _RANKS] if details else [_LOS]),
    )
    if details:
        show(console, *([_LIVE_MODEL] if final is None else _details(final)))


def print_facts(console: Console, snapshot: Snapshot) -> None:
    """Print what a tournament consists of, and where it stands."""
    show(
        console,
        f"tournament {snapshot.tournament_id}, {snapshot.state.value}, created {_created(snapshot)} UTC",
        f"bots: {', '.join(snapshot.bots)}",
    )
    if snapshot.config is not None:
        game = snapshot.config.game
        text = f"{game.players} seats, {game.mode.value} rules, scoring by {game.scoring.value}"
        show(console, f"game: {text}")
    show(
        console,
        *(
            f"{bot}: {snapshot.profiles[bot].about}"
            for bot in snapshot.bots
            if bot in snapshot.profiles and snapshot.profiles[bot].about
        ),
    )
    if snapshot.missing_bots and not snapshot.state.over:
        show(console, f"not connected: {', '.join(snapshot.missing_bots)}")


def print_ratings(console: Console, ratings: Ratings, *, anchor_elo: float) -> None:
    """Print final ratings with all that belongs to them."""
    final = FinalRatings.of(ratings, anchor_elo=anchor_elo)
    console.print(ratings_table(final, open_ranks=True))
    _print_los(console, ratings)
    show(console, "by table size: what each seat adds in Elo, and the gain of duplicate deals")
    console.print(_seats_table(final))
    ties = ", ".join(f"{bots} bots {delta:.3f}" for bots, delta in final.ties.items())
    show(
        console,
        *_gain_lines(final),
        f"shared places (delta, 0: never): {ties}" if ties else "shared places: none",
        *_notes(final.ratings),
        _LOS,
        _RANKS,
        _model(final),
    )


def print_metrics(console: Console, metrics: BotMetrics) -> None:
    """Print what bots' metrics come to, or that there are none."""
    if not metrics:
        show(console, "metrics: none; bots send numbers with their answers if they like")
        return
    table = _table("bot", "metric", "answers", "sum", "mean", "min", "max")
    for bot in sorted(metrics):
        for name, numbers in sorted(metrics[bot].items()):
            values = (numbers.total, numbers.mean, numbers.least, numbers.most)
            table.add_row(Text(bot), Text(name), f"{numbers.count:,}", *map(_number, values))
    console.print(table)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def tournaments_table(snapshots: Iterable[Snapshot]) -> Table:
    """Return tournaments as a table."""
    table = _table("id", "state", "games", "created (UTC)", "bots")
    for snapshot in snapshots:
        state, games, bots = _listed(snapshot)
        table.add_row(str(snapshot.tournament_id), state, games, _created(snapshot), bots)
    return table


def runs_table(rows: Iterable[tuple[str, Snapshot | str, Sequence[str]]]) -> Table:
    """Return runs as a table: their folders, tournaments and bots.

    In place of a tournament, a text says where it is, or why it can't be read.
    """
    table = _table("run", "state", "games", "bots")
    for folder, snapshot, bots in rows:
        if isinstance(snapshot, str):
            table.add_row(Text(folder), Text(snapshot), "", Text(", ".join(bots)))
        else:
            table.add_row(Text(folder), *_listed(snapshot))
    return table


def standings_table(snapshot: Snapshot) -> Table:
    """Return the standings as a table; it fits a terminal of 80 columns."""
    scores = _score_headings(snapshot)
    table = _table(*_RATING, *scores)
    for line in snapshot.standings:
        table.add_row(*_rating_cells(line, snapshot), *_score_cells(line)[: len(scores)])
    return table


def ratings_table(
    final: FinalRatings, snapshot: Snapshot | None = None, *, open_ranks: bool = False
) -> Table:
    """Return final ratings as a table, with what the standings of a tournament add.

    With `open_ranks` a bot's rank is a range such as `2-4` where the games leave it open.
    """
    standings = {} if snapshot is None else {line.bot: line for line in snapshot.standings}
    scores = ("games", "deals") if snapshot is None else _score_headings(snapshot)
    pools = ("pool",) if final.pools > 1 else ()
    table = _table(*_RATING, "LOS", *scores, *pools)
    for line in final.ratings:
        own = [str(line.games), str(line.deals)]
        if snapshot is not None:
            own = _score_cells(standings[line.bot])[: len(scores)]
        pool = (str(line.pool) for _ in pools)
        rank, bot, elo, interval = _rating_cells(line, snapshot)
        rank = _ranks(line) if open_ranks else rank
        table.add_row(rank, bot, elo, interval, likelihood(line.los_next), *own, *pool)
    return table


def disqualified_lines(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield each bot that is disqualified, with a line that says why."""
    lines = {line.bot: line for line in snapshot.standings}
    for bot in snapshot.disqualified:
        why = f": it {failures(lines[bot])}" if bot in lines and lines[bot].forfeits else ""
        yield bot, f"{bot} is disqualified{why}; its other seats are forfeited and not rated"


def participation_lines(config: TournamentConfig, bots: Container[str] | None = None) -> Iterator[str]:
    """Yield lines for the bots, those of `bots` unless that is None, that joined late or were withdrawn."""
    for entry in config.participations:
        if bots is not None and entry.bot not in bots:
            continue
        if entry.first_round > 1:
            yield f"{entry.bot} takes part from round {entry.first_round} on"
        if entry.last_round is not None:
            when = f"after round {entry.last_round}" if entry.last_round else "before the first round"
            yield f"{entry.bot} was withdrawn {when}"


def progress_line(snapshot: Snapshot) -> str:
    """Return the progress of a tournament in one line."""
    title = f" ({snapshot.title})" if snapshot.title else ""
    return f"tournament {snapshot.tournament_id}{title}: {games_text(snapshot)}, {snapshot.state.value}"


def likelihood(los: float | None) -> str:
    """Write a likelihood, which is never shown as 0 or 100%."""
    if los is None:
        return _UNKNOWN
    return "<0.1%" if los < 0.0005 else ">99.9%" if los >= 0.9995 else f"{los:.1%}"


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        justify: JustifyMethod = "left" if heading in _LEFT else "right"
        table.add_column(
            heading, justify=justify, overflow="fold", no_wrap=heading not in ("bot", "bots", "state")
        )
    return table


def _listed(snapshot: Snapshot) -> tuple[str, str, Text]:
    """Return the state, games, and title and bots of a tournament in a list."""
    bots = ": ".join(filter(None, (snapshot.title, ", ".join(snapshot.bots))))
    games = games_text(snapshot).rpartition(" ")[0]
    return snapshot.state.value, games, Text(bots)


def _print_los(console: Console, ratings: Ratings) -> None:
    """Print the likelihoods of superiority, unless there are none."""
    order, los = ranked(ratings), ratings.los_matrix()
    if all(cell is None for row in los for cell in row):
        return
    shown = order[:LOS_BOTS]
    more = f", the first {len(shown)} of {len(order)}" if len(shown) < len(order) else ""
    show(console, f"likelihood that the row's bot is stronger than the column's{more}")
    table = _table("bot", *(str(number) for number in range(1, len(shown) + 1)))
    for number, row in enumerate(shown, start=1):
        cells = (likelihood(los[row.index][column.index]) for column in shown)
        table.add_row(Text(f"{number} {row.line.bot}"), *cells)
    console.print(table)


def _seats_table(final: FinalRatings) -> Table:
    sizes = sorted(set(final.seat_effects) | set(final.duplicate_gains))
    headings = [f"seat {seat}" for seat in range(1, max(sizes, default=0) + 1)]
    table = _table("seats", *headings, "gain")
    for size in sizes:
        effects = final.seat_effects.get(size)
        cells = [_UNKNOWN] * size if effects is None else [effect.text for effect in effects]
        cells += [""] * (len(headings) - size)
        worth = final.duplicate_gains.get(size)
        table.add_row(str(size), *cells, _UNKNOWN if worth is None else worth.text)
    return table


def _seat_lines(final: FinalRatings) -> Iterator[str]:
    """Yield for each table size in a line what its seats add."""
    for size, effects in sorted(final.seat_effects.items()):
        shown = ", ".join(effect.text for effect in effects)
        yield f"at tables of {size}, the seats add in Elo: {shown}"


def _gain_lines(final: FinalRatings) -> Iterator[str]:
    """Yield for each table size in a line what its duplicate deals saved, as far as that is known."""
    for size, worth in sorted(final.duplicate_gains.items()):
        if worth is not None:
            games = f"a game of a duplicate deal is worth {worth.text} independent games"
            yield f"at tables of {size}, {games}: {worth.verdict}"


def _rating_cells(line: Standing | FinalRating, snapshot: Snapshot | None) -> tuple[str, Text, str, str]:
    has_left = snapshot is not None and line.bot in snapshot.withdrawn
    name = Text(f"{line.bot} (left)" if has_left else line.bot)
    return str(line.rank), name, f"{line.elo:.0f}", interval_text(line.elo_low, line.elo_high)


def _ranks(line: FinalRating) -> str:
    """Return the ranks that a bot may have, such as `2-4`."""
    if line.rank_best == line.rank_worst:
        return str(line.rank_best or _UNKNOWN)
    return f"{line.rank_best}-{line.rank_worst}"


def _score_headings(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the headings of what the standings add to the ratings; forfeits only if there are any."""
    headings = ("games", "points", "firsts", "forfeits")
    return headings if any(line.forfeits for line in snapshot.standings) else headings[:-1]


def _score_cells(line: Standing) -> list[str]:
    return [str(line.games), f"{line.points_mean:.2f}", str(line.firsts), str(line.forfeits)]


def remarks(snapshot: Snapshot) -> list[str]:
    """Return what people should know about a tournament, a line each."""
    late = () if snapshot.config is None else participation_lines(snapshot.config)
    return [*late, *snapshot.remarks]


def _notes(lines: Sequence[Standing] | Sequence[FinalRating]) -> Iterator[str]:
    """Yield explanations of a table."""
    if any(line.elo_low is line.elo_high is None for line in lines):
        yield (
            f"{_UNKNOWN}: {TOO_LITTLE}; an interval needs {MIN_DEALS} deals of the bot and of the anchor, "
            "neither nearly all even nor nearly all won or lost"
        )
    if any((line.elo_low is None) != (line.elo_high is None) for line in lines):
        yield "≥, ≤: the bot was above (below) all others in all games; its Elo is at least (at most) this"
    if any(isinstance(line, FinalRating) and line.pool > 1 for line in lines):
        yield "bots of different pools never met, not even through others: their Elo can't be compared"


def _details(final: FinalRatings) -> Iterator[str]:
    """Yield what final ratings say beside the table."""
    yield from _seat_lines(final)
    yield from _gain_lines(final)
    yield _model(final)


def _model(final: FinalRatings) -> str:
    return f"Elo: {final.model}; {final.anchor or 'pool mean'} {final.anchor_elo:.0f}"


def games_text(snapshot: Snapshot) -> str:
    """Return how many games are finished; a test has no total."""
    if snapshot.sprt is not None:
        return plural(snapshot.games, "game")
    at_most = "at most " if snapshot.until_error is not None and not snapshot.state.over else ""
    return f"{snapshot.games:,} of {at_most}{plural(snapshot.games_total, 'game')}"


def error_text(snapshot: Snapshot) -> str:
    """Return how large the errors of the ratings are, and which errors end the tournament."""
    lines = snapshot.standings
    errors = [(line.elo_high - line.elo_low) / 2 for line in lines if line.elo_low and line.elo_high]
    largest = f"±{max(errors):.0f}" if len(errors) == len(lines) > 0 else "not known yet"
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
        case Swiss() | Adaptive():
            return f"{chosen.kind}, {plural(chosen.rounds, 'round')}"
        case RoundRobin() | Gauntlet():
            return f"{chosen.kind}, {plural(chosen.cycles, 'cycle')}"
        case SprtTest():
            return chosen.kind


def _created(snapshot: Snapshot) -> str:
    return datetime.fromtimestamp(snapshot.created_at, UTC).strftime("%Y-%m-%d %H:%M")
