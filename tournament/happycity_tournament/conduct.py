"""Conducts a tournament for a person: from its plan to the result that is printed and written."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from happycity import ConfigError
from happycity.v1 import tournament_service_pb2 as pb
from happycity_tournament.display import Display, print_summary
from happycity_tournament.organiser import carry_out
from happycity_tournament.plan import Plan
from happycity_tournament.results_json import result_json

BROKEN_OFF = 130
"""The exit status where somebody ended the tournament before its last game."""

UNDECIDED = 3
"""The exit status where a test has played its maximum without a decision."""


def check_json_file(json_file: Path | None) -> None:
    """Refuse a file that can't be written, before anything is played.

    Raises:
        ConfigError: its folder isn't there.
    """
    if json_file is not None and not json_file.parent.is_dir():
        raise ConfigError(f"json: there is no folder {json_file.parent}")


def conduct(plan: Plan, json_file: Path | None) -> pb.WatchTournamentResponse:
    """Play a tournament, or what is missing of it, show how it goes, and tell the result.

    Exits with status 130 unless it was finished; then it says how to go on. A test that could not decide
    exits with status 3.
    """
    try:
        with Display() as display:
            last = asyncio.run(carry_out(plan, display))
    except (asyncio.CancelledError, KeyboardInterrupt):
        told = f"broken off; the games that were finished are in {plan.where}"
        typer.echo(f"{told}; {_advice(plan)}" if plan.resume_command else told, err=True)
        sys.exit(BROKEN_OFF)
    _report(last, plan, json_file)
    if last.tournament.state != pb.TOURNAMENT_STATE_FINISHED:
        if plan.resume_command:
            typer.echo(_advice(plan), err=True)
        sys.exit(BROKEN_OFF)
    if last.sprt.verdict == pb.SPRT_VERDICT_UNDECIDED:
        sys.exit(UNDECIDED)
    return last


def _advice(plan: Plan) -> str:
    return f"go on with: {plan.resume_command}"


def _report(last: pb.WatchTournamentResponse, plan: Plan, json_file: Path | None) -> None:
    to_stdout = json_file is not None and str(json_file) == "-"
    console = Console(stderr=to_stdout)
    print_summary(console, last)
    output = f"; output: {plan.logs}/" if plan.has_output else ""
    games = f"games: {plan.where}, tournament {last.tournament.tournament_id}{output}"
    console.print(Text(games), soft_wrap=True)
    if json_file is None:
        return
    text = json.dumps(result_json(last), indent=2) + "\n"
    if to_stdout:
        sys.stdout.write(text)
    else:
        json_file.write_text(text, encoding="utf-8")
