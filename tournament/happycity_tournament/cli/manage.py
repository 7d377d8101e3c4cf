"""`tournament list`, `show`, `stop`, `disqualify` and `delete`: look at tournaments, and end them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from happycity.errors import HappyCityError
from happycity.text.words import plural
from happycity_runtime.commands import AsJson, remark
from happycity_runtime.environment import SERVER_VARIABLE
from happycity_tournament.cli.options import Address
from happycity_tournament.client.run_folder import RemoteServer, Run, run_folders
from happycity_tournament.config import STOP_SECONDS, TournamentState

if TYPE_CHECKING:
    from happycity.records.record import Json
    from happycity_tournament.cli.addresses import Location
    from happycity_tournament.client.connection import Connection
    from happycity_tournament.play.snapshot import Snapshot
    from happycity_tournament.storage.store import Store


def list_tournaments(
    address: Annotated[
        str | None,
        typer.Argument(
            metavar="ADDRESS",
            help="A store, or grpc://HOST:PORT.  [default: HAPPYCITY_SERVER, else the runs of this folder]",
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the runs, or the tournaments of a store or server.

    The newest one comes first.
    """
    if address is None and not os.environ.get(SERVER_VARIABLE):
        _list_runs(as_json=as_json)
        return
    from rich.console import Console

    from happycity_tournament.cli.addresses import location_at
    from happycity_tournament.cli.console import tournaments_table
    from happycity_tournament.cli.json import listed_json, write_json

    snapshots = _snapshots(location_at(address))
    if as_json:
        write_json(list(map(listed_json, snapshots)))
    else:
        Console().print(tournaments_table(snapshots) if snapshots else "no tournaments")


def show_tournament(address: Address = None, *, as_json: AsJson = False) -> None:
    """Show a tournament with its ratings.

    The output has its settings, its progress, and the final ratings by the games so far.
    """
    from rich.console import Console

    from happycity_tournament.cli.addresses import find_tournament
    from happycity_tournament.cli.console import print_facts, print_result
    from happycity_tournament.cli.json import result_json, write_json
    from happycity_tournament.client.connection import call_server
    from happycity_tournament.play.snapshot import load_snapshot
    from happycity_tournament.storage.store import Store

    found = find_tournament(address)
    if isinstance(found.at, RemoteServer):
        snapshot = call_server(found.at, lambda connection: connection.standings(found.tournament_id))
    else:
        with Store.existing(found.at) as store:
            snapshot = load_snapshot(store, found.tournament_id)
    logs = found.run.folder if found.run else None
    if as_json:
        write_json(result_json(snapshot, logs=logs))
        return
    console = Console()
    print_facts(console, snapshot)
    print_result(console, snapshot, logs=logs, details=True)


def stop(address: Address = None, *, as_json: AsJson = False) -> None:
    """Stop a tournament.

    Running games that end within 3 s count, the others are played again when the tournament is resumed.
    """
    from happycity_tournament.cli.addresses import find_tournament
    from happycity_tournament.client.connection import call_server
    from happycity_tournament.play.progress import UNFINISHED
    from happycity_tournament.play.snapshot import stored_snapshot

    found = find_tournament(address)
    remark(f"stopping: running games are finished in at most {STOP_SECONDS:g} s")
    if isinstance(found.at, RemoteServer):
        snapshot = call_server(found.at, lambda connection: _stopped(connection, found.tournament_id))
    else:
        with _claimed(found.at) as store:
            if stored_snapshot(store, found.tournament_id, claimed=False).state in UNFINISHED:
                store.set_state(found.tournament_id, TournamentState.STOPPED)
            snapshot = stored_snapshot(store, found.tournament_id, claimed=False)
    _print_listed(snapshot, as_json=as_json)
    if snapshot.state is TournamentState.STOPPED:
        remark(f"continue with: tournament resume {found.address}")


def disqualify(
    bot: Annotated[str, typer.Argument(metavar="BOT", help="The bot that plays no more.")],
    address: Address = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Take a bot out of a tournament.

    Its seats in games that run or are still to come are forfeited, and these games are not rated; the games
    that it has played count.
    """
    from happycity_tournament.cli.addresses import find_tournament
    from happycity_tournament.client.connection import call_server
    from happycity_tournament.play.progress import disqualify_stored
    from happycity_tournament.play.snapshot import stored_snapshot

    found = find_tournament(address)
    if isinstance(found.at, RemoteServer):
        snapshot = call_server(found.at, lambda connection: connection.disqualify(found.tournament_id, bot))
    else:
        with _claimed(found.at) as store:
            disqualify_stored(store, found.tournament_id, bot)
            snapshot = stored_snapshot(store, found.tournament_id, claimed=False)
    _print_listed(snapshot, as_json=as_json)


def delete(
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS",
            help="The tournament: runs/FOLDER, games.sqlite#3, grpc://HOST:PORT#3 or grpcs://HOST:PORT#3.",
        ),
    ],
) -> None:
    """Delete a tournament with all its games.

    The tournament must be stopped or finished. If it is named by its run's folder, the files that the run
    made are deleted as well.
    """
    from happycity_tournament.cli.addresses import find_tournament
    from happycity_tournament.client.connection import call_server
    from happycity_tournament.play.snapshot import stored_snapshot

    found = find_tournament(address, only=True)
    if isinstance(found.at, RemoteServer):
        games = call_server(found.at, lambda connection: connection.delete(found.tournament_id))
    else:
        with _claimed(found.at) as store:
            stored_snapshot(store, found.tournament_id, claimed=False)
            games = store.delete_tournament(found.tournament_id)
    if found.run is not None:
        found.run.remove()
    typer.echo(f"deleted: tournament {found.tournament_id} with {plural(games, 'game')}")


async def _stopped(connection: Connection, tournament_id: int) -> Snapshot:
    """Start no more games, wait until the running ones are finished, and return the tournament."""
    await connection.stop(tournament_id)
    async with aclosing(connection.watch(tournament_id)) as snapshots:
        async for snapshot in snapshots:
            last = snapshot
    return last


@contextmanager
def _claimed(url: str) -> Iterator[Store]:
    """Give a store for writing; it has to be there, and no server can use it meanwhile."""
    from happycity_tournament.storage.store import Store

    Store.existing(url, any_version=True).close()
    with Store.create(url) as store:
        store.claim()
        yield store


def _print_listed(snapshot: Snapshot, *, as_json: bool) -> None:
    from rich.console import Console

    from happycity_tournament.cli.console import progress_line
    from happycity_tournament.cli.json import listed_json, write_json
    from happycity_tournament.cli.tables import print_lines

    if as_json:
        write_json(listed_json(snapshot))
    else:
        print_lines(Console(), progress_line(snapshot))


def _snapshots(location: Location) -> list[Snapshot]:
    """Return all tournaments of a store or server without their standings, newest first."""
    from happycity_tournament.client.connection import call_server
    from happycity_tournament.play.snapshot import listed
    from happycity_tournament.storage.store import Store

    if isinstance(location.at, RemoteServer):
        return call_server(location.at, lambda connection: connection.tournaments())
    with Store.existing(location.at) as store:
        claimed = store.is_claimed()
        return [
            listed(stored, store.progress(stored.id), claimed=claimed) for stored in store.tournaments(None)
        ]


def _list_runs(*, as_json: bool) -> None:

    folders = run_folders()
    if not folders and not as_json:
        typer.echo("no runs")
        return
    from rich.console import Console

    from happycity_tournament.cli.console import runs_table
    from happycity_tournament.cli.json import write_json

    rows = [(str(folder), *_run(folder)) for folder in folders]
    if as_json:
        write_json([{"run": folder, **_run_json(snapshot, bots)} for folder, snapshot, bots in rows])
    else:
        Console().print(runs_table(rows))


def _run(folder: Path) -> tuple[Snapshot | str, Sequence[str]]:
    """Return the tournament of a run, or a text if its store can't be read here, and the run's bots."""
    from happycity_tournament.play.snapshot import stored_snapshot
    from happycity_tournament.storage.store import Store

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
    from happycity_tournament.cli.json import listed_json
    from happycity_tournament.play.snapshot import Snapshot

    if isinstance(snapshot, Snapshot):
        return listed_json(snapshot)
    return {"tournament": None, "state": None, "bots": list(bots), "remarks": [snapshot]}
