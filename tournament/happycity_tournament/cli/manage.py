"""What `tournament list`, `show`, `stop`, `delete`, `add` and `withdraw` do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console

from happycity import ConfigError, HappyCityError
from happycity.records.record import Json
from happycity.runtime import event_loop
from happycity.text.words import plural
from happycity_tournament.arena.locations import Location, ServerLocation, call_server, stored_snapshots
from happycity_tournament.arena.run_folder import OwnServer, RemoteServer, Run, new_folder, run_folders
from happycity_tournament.arena.session import join_tournament
from happycity_tournament.bots.lineup import Lineup
from happycity_tournament.bots.processes import ProcessError
from happycity_tournament.cli.console import (
    participation_lines,
    print_facts,
    print_metrics,
    print_result,
    progress_line,
    runs_table,
    show,
    tournaments_table,
)
from happycity_tournament.cli.display import Display
from happycity_tournament.cli.json import listed_json, metrics_json, result_json, write_json
from happycity_tournament.cli.locate import check_place, url_of
from happycity_tournament.cli.settings import ConnectionSettings
from happycity_tournament.config import TournamentState
from happycity_tournament.ratings.statistics import BotMetrics
from happycity_tournament.running.snapshot import Snapshot, stored_snapshot
from happycity_tournament.storage import Store


def list_runs(*, as_json: bool) -> None:
    """List the runs below the working directory, newest first."""
    rows = [(str(folder), *_run(folder)) for folder in run_folders()]
    if as_json:
        write_json([{"run": folder, **_run_json(snapshot, bots)} for folder, snapshot, bots in rows])
    else:
        Console().print(runs_table(rows) if rows else "no runs")


def list_tournaments(connection: ConnectionSettings, store: str | None, *, as_json: bool) -> None:
    """List the tournaments of a store or a server, newest first."""
    check_place(connection, store)
    if connection.server is None:
        snapshots = stored_snapshots(url_of(store or ""))
    else:
        server = RemoteServer(address=connection.server, access=connection.access)
        snapshots = call_server(server, lambda called: called.tournaments())
    if as_json:
        write_json(list(map(listed_json, snapshots)))
    else:
        Console().print(tournaments_table(snapshots) if snapshots else "no tournaments")


def show_tournament(location: Location, *, as_json: bool, metrics: BotMetrics | None = None) -> None:
    """Show a tournament with its standings and final ratings, and with its bots' metrics if given."""
    snapshot = location.show()
    logs = location.run.folder if location.run else None
    if as_json:
        content = result_json(snapshot, logs=logs)
        write_json(content if metrics is None else {**content, "metrics": metrics_json(metrics)})
        return
    console = Console()
    print_facts(console, snapshot)
    print_result(console, snapshot, logs=logs, details=True)
    if metrics is not None:
        print_metrics(console, metrics)


def stop_tournament(location: Location, *, as_json: bool) -> None:
    """Stop a tournament, and wait for the end of its running games."""
    typer.echo("stopping: running games are finished", err=True)
    snapshot = location.stop()
    _print_listed(snapshot, as_json=as_json)
    if snapshot.state is TournamentState.STOPPED:
        typer.echo(f"continue with: tournament resume {location.arguments}", err=True)


def delete_tournament(location: Location) -> None:
    """Delete a tournament with its games, and the files of its run."""
    games = location.delete()
    if location.run is not None:
        location.run.remove()
    typer.echo(f"deleted: tournament {location.tournament_id} with {plural(games, 'game')}")


def add_bots(location: Location, lineup: Lineup, *, as_json: bool) -> None:
    """Let bots join a tournament; if it is being played, start them."""
    run = location.run
    if run is not None:
        lineup = replace(lineup, directory=run.lineup.directory)
    lineup.check()
    if lineup.started and isinstance(location, ServerLocation):
        tournament = location.status()
        # A program of the same name would take the seats of the one that plays.
        for name in lineup.names:
            if name in tournament.bots:
                raise ConfigError(f"bots: {name!r} takes part already, or did")
        if not tournament.state.over:
            _join(location, lineup, as_json=as_json)
            return
    snapshot = location.add_bots(lineup.names)
    _keep(run, lineup)
    _print_listed(snapshot, as_json=as_json, bots=lineup.names)
    if lineup.started and run is None:
        typer.echo("no bot was started, as the tournament is not being played", err=True)


def withdraw_bot(location: Location, bot: str, *, as_json: bool) -> None:
    """Let a bot leave a tournament."""
    snapshot = location.withdraw_bot(bot)
    if location.run is not None:
        run = Run.load(location.run.folder)
        replace(run, lineup=run.lineup.without_bot(bot)).save()
    _print_listed(snapshot, as_json=as_json, bots=[bot])


def _join(location: ServerLocation, lineup: Lineup, *, as_json: bool) -> None:
    """Start bots, let them join, and wait for the end of the tournament."""
    run, names, has_joined = location.run, ", ".join(lineup.names), False
    advice = (
        "the tournament goes on, and seats of bots that are not connected are forfeited; "
        f"take a bot out with: tournament withdraw {location.arguments} {lineup.names[0]}"
    )
    folder = new_folder() if run is None else run.folder
    own = run.venue if run is not None and isinstance(run.venue, OwnServer) else None
    if own is not None and own.ray is not None:
        typer.echo(
            f"games with {names} are played at the run's own server alone; "
            "tournament resume starts such bots on the nodes of the cluster too",
            err=True,
        )

    def joined() -> None:
        nonlocal has_joined
        has_joined = True
        _keep(run, lineup)

    try:
        with Display(hint=f"Ctrl-C ends {names}, not the tournament", logs=folder) as display:
            last = event_loop.run(
                join_tournament(
                    location.server,
                    location.tournament_id,
                    lineup,
                    folder=folder,
                    own=own,
                    joined=joined,
                    observer=display,
                )
            )
    except (asyncio.CancelledError, KeyboardInterrupt):
        text = f"broken off before {names} joined; see: tournament show {location.arguments}"
        typer.echo(f"ended: {names}; {advice}" if has_joined else text, err=True)
        sys.exit(event_loop.EXIT_STOPPED)
    except ProcessError as error:
        if not has_joined:
            raise
        raise HappyCityError(f"{error}; {advice}") from None
    if as_json:
        write_json(result_json(last, logs=folder))
    else:
        print_result(Console(), last, logs=folder)
    if last.state is not TournamentState.FINISHED:
        sys.exit(event_loop.EXIT_STOPPED)


def _keep(run: Run | None, lineup: Lineup) -> None:
    """Add bots to those that a run starts when it is resumed."""
    if run is not None:
        current = Run.load(run.folder)  # others may have joined meanwhile
        replace(current, lineup=current.lineup.with_bots(lineup.bots)).save()


def _print_listed(snapshot: Snapshot, *, as_json: bool, bots: Sequence[str] = ()) -> None:
    if as_json:
        write_json(listed_json(snapshot))
        return
    lines = [] if snapshot.config is None else list(participation_lines(snapshot.config, bots))
    late = lines or [f"{bot} takes part from round 1 on" for bot in bots]
    show(Console(), progress_line(snapshot), *late)


def _run(folder: Path) -> tuple[Snapshot | str, Sequence[str]]:
    """Return the tournament of a run, or a text if its store can't be read here, and the run's bots."""
    bots: Sequence[str] = ()
    try:
        run = Run.load(folder)
        bots = run.lineup.names
        if isinstance(run.venue, RemoteServer):
            return f"on {run.venue.address}", bots
        with Store.existing(run.venue.store) as store:
            return stored_snapshot(store, run.tournament_id), bots
    except HappyCityError as error:
        return str(error), bots


def _run_json(snapshot: Snapshot | str, bots: Sequence[str]) -> Json:
    if isinstance(snapshot, Snapshot):
        return listed_json(snapshot)
    return {"tournament": None, "state": None, "bots": list(bots), "remarks": [snapshot]}
