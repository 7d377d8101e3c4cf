"""The findings of a check, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import TextWrapper
from typing import Any

from happycity_check.step import Finding, Status
from happycity_check.trial_bot import Options

_LINES = TextWrapper(110, " " * 9, " " * 11, break_long_words=False, break_on_hyphens=False)


def format_finding(finding: Finding) -> str:
    """Return the lines of a finding; what is demanded and advised only where it helps."""
    step, status = finding.step, finding.status
    label = "FAILED" if status is Status.FAILED else status.value
    head = f"{label:8} {step.name:18}"
    if status in (Status.OK, Status.SKIPPED):
        return f"{head} {finding.seen}"
    lines = {"demanded": step.demand, "seen": finding.seen, "to do": step.advice}
    return "\n".join([head.rstrip(), *(_LINES.fill(f"{key}: {text}") for key, text in lines.items() if text)])


def summary(findings: Sequence[Finding]) -> str:
    """Return the last line."""
    counts = {status: sum(finding.status is status for finding in findings) for status in Status}
    parts = [f"{count} {status.value}" for status, count in counts.items() if count]
    return f"{'passed' if passed(findings) else 'NOT PASSED'}: {', '.join(parts)}"


def passed(findings: Sequence[Finding]) -> bool:
    """Return whether nothing failed."""
    return all(finding.status is not Status.FAILED for finding in findings)


def as_json(
    options: Options, findings: Sequence[Finding], measurements: Mapping[str, object]
) -> dict[str, Any]:
    """Return the result as one JSON object."""
    return {
        "bot": options.command or None,
        "seed": options.seed,
        "passed": passed(findings),
        "steps": [
            {
                "name": finding.step.name,
                "status": finding.status.value,
                "demanded": finding.step.demand,
                "seen": finding.seen,
                "advice": finding.step.advice,
                "seconds": round(finding.seconds, 3),
            }
            for finding in findings
        ],
        **measurements,
    }
