"""A sequential test in words: its progress in one line, and its decision with the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from happycity.text.plural import plural
from happycity_tournament.config import SprtTest
from happycity_tournament.ratings.sprt import SprtState, Verdict
from happycity_tournament.running.snapshot import Snapshot


def progress_text(state: SprtState) -> str:
    """Return the progress of a test in one line."""
    difference = _difference(state) or "no estimate of the difference yet"
    return f"{plural(state.blocks, 'block')}, LLR {state.llr:+.2f} ({_bounds(state)}), {difference}"


def result_lines(snapshot: Snapshot) -> list[str]:
    """Return the decision of a test with its numbers; nothing in other formats."""
    test, state = snapshot.sprt, snapshot.test
    if test is None or state is None:
        return []
    basis = ", ".join(filter(None, (plural(state.blocks, "block"), _difference(state))))
    decision = f"{verdict_text(test, state.verdict)} ({basis})"
    accepted = {Verdict.H0: "H0 is accepted: ", Verdict.H1: "H1 is accepted: "}.get(state.verdict, "")
    numbers = (
        f"{accepted}LLR {state.llr:+.2f} ({_bounds(state)}); H0 {test.elo0:+g}, H1 {test.elo1:+g} "
        f"Elo, alpha {test.alpha:g}, beta {test.beta:g}"
    )
    if state.verdict is Verdict.RUNNING:
        return [decision, numbers]
    counted = "the table has the games up to the decision; those that were still running are left out"
    return [decision, numbers, counted]


def queue_table(played: Sequence[Snapshot]) -> Table:
    """Return the results of several tests, a row each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("candidate", "verdict"):
        table.add_column(heading, overflow="fold")
    for heading in ("Elo", "LLR", "blocks", "games"):
        table.add_column(heading, justify="right", no_wrap=True)
    for snapshot in played:
        test, state = snapshot.sprt, snapshot.test
        if test is None or state is None:
            continue
        texts = (test.candidate, verdict_text(test, state.verdict), _difference(state).removesuffix(" Elo"))
        numbers = (f"{state.llr:+.2f}", f"{state.blocks:,}", f"{snapshot.games:,}")
        table.add_row(*map(Text, (*texts, *numbers)))
    return table


def verdict_text(test: SprtTest, verdict: Verdict) -> str:
    """Return what a test has found as a clause."""
    candidate, base = test.candidate, test.base
    weaker, stronger = f"{candidate} is weaker than {base}", f"{candidate} is stronger than {base}"
    return {
        Verdict.H0: f"{candidate} is not {test.elo1:g} Elo stronger than {base}" if test.elo1 > 0 else weaker,
        Verdict.H1: f"{candidate} is not {-test.elo0:g} Elo weaker than {base}"
        if test.elo0 < 0
        else stronger,
        Verdict.NO_DIFFERENCE: f"{candidate} and {base} play the same: every block was exactly even",
        Verdict.UNDECIDED: f"{candidate} against {base}: undecided after the maximum number of blocks",
        Verdict.RUNNING: f"{candidate} against {base}: nothing is decided yet",
    }[verdict]


def _difference(state: SprtState) -> str:
    """Return the estimated difference with its 95% interval, "" without one."""
    if state.elo is None:
        return ""
    if state.elo_low is None or state.elo_high is None:
        return f"{state.elo:+.0f} Elo"
    return f"{state.elo:+.0f} ±{(state.elo_high - state.elo_low) / 2:.0f} Elo"


def _bounds(state: SprtState) -> str:
    return f"H0 at {state.lower:+.2f}, H1 at {state.upper:+.2f}"
