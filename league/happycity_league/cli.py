"""The command `happycity league`; what is below it is imported when it is called."""

# ruff: noqa: PLC0415 - the help of a command must not wait for what only the command needs

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from happycity.errors import ConfigError
from happycity_runtime.commands import AsJson, Commands, remark
from happycity_tournament.cli.prove import PROCESSES, Noted

if TYPE_CHECKING:
    from collections.abc import Callable

    from happycity.records.record import Json
    from happycity_league.state import AgentLeague

league = Commands("Leagues of coding agents: each edits its bot in cycles, and all versions are rated.")
Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder of the league.", show_default=False)
]


@league.command("run")
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The league's TOML file.", show_default=False)],
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The new folder.  [default: the file's name without .toml]"),
    ] = None,
) -> None:
    """Play a new league.

    In each cycle every agent edits its project, the new versions are tried in the sandbox, and all play.
    After a kill, `happycity league resume` continues with the phase that was under way.
    """
    from happycity_league.config import LeagueConfig
    from happycity_league.state import AgentLeague

    config, folder = LeagueConfig.read(file), out or file.with_suffix("")
    _check_programs()
    created = AgentLeague.create(folder, config)
    remark(f"{folder}: commitment {created.commitment.hash}")
    _play(created)


@league.command("resume")
def resume(folder: Folder) -> None:
    """Continue a league that was stopped or killed, or that waits for a person's edit."""
    from happycity_league.state import AgentLeague

    loaded = AgentLeague.load(folder)
    _check_programs()
    _play(loaded)


def _check_programs() -> None:
    for program in ("bwrap", "git", "prlimit"):
        if shutil.which(program) is None:
            raise ConfigError(
                f"a league needs the program {program!r}: apt install bubblewrap git util-linux"
            )


def _play(chosen: AgentLeague) -> None:
    from happycity_league.cycles import run_league
    from happycity_runtime import event_loop
    from happycity_tournament.client.session import ProgressView

    advice = f"continue with: happycity league resume {chosen.folder}"
    with chosen.locked():
        try:
            is_over = event_loop.run(run_league(chosen, ProgressView()))
        except (asyncio.CancelledError, KeyboardInterrupt):
            typer.echo(f"stopped; {advice}", err=True)
            sys.exit(event_loop.EXIT_STOPPED)
    if is_over:
        _print(chosen)
    else:
        remark(f"after the edit, {advice}")


@league.command("show")
def show(
    folder: Folder,
    *,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a line for each agent and cycle.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print how the agents of a league stand."""
    from happycity_league.results import results_of
    from happycity_league.state import AgentLeague
    from happycity_tournament.cli.json import write_json

    loaded = AgentLeague.load(folder)
    if as_json:
        write_json(results_of(loaded))
    elif as_csv:
        import csv
        import json

        rows = results_of(loaded)["cycles"]
        writer = csv.DictWriter(sys.stdout, rows[0] if rows else (), lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "usage": json.dumps(row["usage"])} for row in rows)
    else:
        _print(loaded)


def _print(chosen: AgentLeague) -> None:
    from rich.console import Console

    from happycity_league.results import number_cell, results_of
    from happycity_tournament.cli.tables import UNKNOWN, print_lines, table_of

    console, results = Console(), results_of(chosen)
    columns: dict[str, Callable[[Json], str]] = {
        "bot": lambda row: row["version"] or row["agent"],
        "Elo": lambda row: number_cell(row, "elo", 0),
        "mean": lambda row: number_cell(row, "mean_elo", 0),
        "a cycle": lambda row: number_cell(row, "trend", 1, "+"),
        "last gain": lambda row: number_cell(row, "gain", 3, "+"),
        "failed": lambda row: str(row["failures"]),
    }
    console.print(table_of(results["agents"], columns, compact=True))
    lines = [line for line in results["ratings"] if line["bot"] in chosen.config.anchors]
    anchors = ", ".join(f"{line['bot']} {line['elo']:.0f}" for line in lines)
    print_lines(
        console,
        f"{results['played']} of {chosen.config.cycles} cycles are over; anchors: {anchors or UNKNOWN}",
        "ranked by the Elo of the last version; a cycle: the trend; last gain: score on the same deals",
        "±: 95% intervals; that of a gain holds however often you look",
    )


@league.command("report")
def report(
    folder: Folder,
    *,
    out: Annotated[Path, typer.Option(help="The HTML file to write; - is the standard output.")],
) -> None:
    """Write a report as one HTML file: standings, curves and tables by cycle, and a matrix of versions."""
    from happycity_league.report import write_report
    from happycity_league.state import AgentLeague
    from happycity_runtime.commands import check_output, until_output_closes

    with until_output_closes():
        loaded = AgentLeague.load(folder)
        check_output("--out", out)
        write_report(loaded, out)
    remark(f"{out}: a report of {folder}")


@league.command("verify")
def verify(
    folder: Folder,
    *,
    noted: Noted = None,
) -> None:
    """Recompute a league that is over from a copy of its folder, and say what in it is not true.

    The exit status is 1 if something was changed.
    """
    from happycity_league.proof import verify as verify_league

    results, unchecked = verify_league(folder, processes=PROCESSES, noted=noted)
    hint = "and the noted hash is its own" if noted else "but no hash was compared: --noted HASH does that"
    typer.echo(f"commitment {results['commitment']}\nend of the chain {results['chain']}")
    if unchecked:
        numbers = ", ".join(map(str, unchecked))
        typer.echo(f"not computed again: gains of cycles {numbers}, by the evaluator of another version")
    agreeing = "submissions, games and ratings" if unchecked else "submissions, games, gains and ratings"
    typer.echo(f"all of it is true: {agreeing} agree, {hint}")
