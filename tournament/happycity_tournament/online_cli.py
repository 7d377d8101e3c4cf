"""The commands of `tournament` for tournaments that are there already: resume, list, show and stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from happycity import ConfigError
from happycity.records import Json
from happycity.v1 import tournament_service_pb2 as pb
from happycity.wire import config_of
from happycity_tournament.access import Access, dial, translated
from happycity_tournament.conduct import check_json_file, conduct
from happycity_tournament.display import print_summary
from happycity_tournament.plan import RUNS, Plan
from happycity_tournament.results_json import listed_json, result_json, state_of
from happycity_tournament.stored import list_stored, show_stored, url_of

if TYPE_CHECKING:  # in the generated stub's types only
    from happycity.v1.tournament_service_pb2_grpc import TournamentServiceAsyncStub

_PAGE = 200
_T = TypeVar("_T")

Server = Annotated[str | None, typer.Option(help="Address of a running server, host:port.")]
Token = Annotated[
    str, typer.Option(help="Token for that server.", envvar="HAPPYCITY_TOKEN", show_default=False)
]
Tls = Annotated[
    bool, typer.Option("--tls", help="Encrypt; --ca and --cert imply it.", envvar="HAPPYCITY_TLS")
]
Ca = Annotated[
    Path | None, typer.Option(help="Authorities to trust, PEM; else gRPC's own.", envvar="HAPPYCITY_CA")
]
Cert = Annotated[
    Path | None,
    typer.Option(help="Own certificate, PEM, if the server asks for one.", envvar="HAPPYCITY_CERT"),
]
Key = Annotated[Path | None, typer.Option(help="The key of the certificate, PEM.", envvar="HAPPYCITY_KEY")]
_Store = Annotated[str | None, typer.Option(help="A store's URL or SQLite file; no server is needed.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON to the standard output.")]
Which = Annotated[
    str,
    typer.Argument(metavar="RUN_FOLDER|ID", help="A run's folder, or a tournament's id with its place."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(resume)
    app.command("list")(list_tournaments)
    app.command()(show)
    app.command()(stop)


def resume(
    which: Annotated[
        str, typer.Argument(metavar="RUN_FOLDER|ID", help="A run's folder; with --server a tournament's id.")
    ],
    *,
    server: Server = None,
    token: Token = "",
    tls: Tls = False,
    ca: Ca = None,
    cert: Cert = None,
    key: Key = None,
    store: Annotated[
        str | None,
        typer.Option(help="The run's store once more, if its URL has a password: a plan keeps none."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="File for the result as JSON; - is the standard output.")
    ] = None,
) -> None:
    """Go on with a tournament that was stopped, interrupted or killed: exactly what is missing is played.

    A run's folder tells which server and bots to start again; on a running server bots connect by themselves.
    """
    check_json_file(json_file)
    access = Access(token=token, tls=tls, ca=ca, cert=cert, key=key)
    if server is not None:
        if store is not None:
            raise ConfigError("store: a running server has its own; leave one of --store and --server away")
        plan = Plan(tournament_id=id_of(which), server=server, access=access, store="", logs=RUNS)
    else:
        plan = plan_of(which).at(store=store, access=access)
        if plan.server is None:
            url_of(plan.store)  # a file that is gone would be made anew, and empty
    conduct(plan, json_file)


def list_tournaments(
    *,
    store: _Store = None,
    server: Server = None,
    token: Token = "",
    tls: Tls = False,
    ca: Ca = None,
    cert: Cert = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List the tournaments of a store or a server, newest first."""
    if (store is None) == (server is None):
        raise ConfigError("store, server: say by one of them where to look")
    if server is None:
        assert store is not None
        found = list_stored(url_of(store))
    else:
        found = ask(server, Access(token=token, tls=tls, ca=ca, cert=cert, key=key), _listed)
    if as_json:
        write_json([listed_json(tournament) for tournament in found])
    else:
        Console().print(_table(found) if found else Text("no tournaments"))


def show(
    which: Which,
    *,
    store: _Store = None,
    server: Server = None,
    token: Token = "",
    tls: Tls = False,
    ca: Ca = None,
    cert: Cert = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show a tournament: what it consists of, how far it is, and the final ratings of its games.

    A run's folder says where the tournament is; with an id the place has to be named too.
    """
    access = Access(token=token, tls=tls, ca=ca, cert=cert, key=key)
    if server is not None and store is not None:
        raise ConfigError("store, server: say by one of them where to look")
    if server is None and store is None:
        plan = plan_of(which).at(store=None, access=access)
        tournament_id, server, access, store = plan.tournament_id, plan.server, plan.access, plan.store
        assert tournament_id is not None
    else:
        tournament_id = id_of(which)
    if server is None:
        assert store is not None
        shown = show_stored(url_of(store), tournament_id)
    else:
        shown = ask(server, access, lambda stub, access: _shown(stub, access, tournament_id))
    if as_json:
        write_json(result_json(shown))
        return
    console = Console()
    for line in _facts(shown.tournament):
        console.print(Text(line), soft_wrap=True)
    print_summary(console, shown)


def stop(
    tournament_id: Annotated[int, typer.Argument(metavar="ID", min=1, help="The tournament's id.")],
    *,
    server: Annotated[str, typer.Option(help="Address of the server that plays it, host:port.")],
    token: Token = "",
    tls: Tls = False,
    ca: Ca = None,
    cert: Cert = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Stop a tournament: running games are finished, and no more begin until it is resumed."""
    access = Access(token=token, tls=tls, ca=ca, cert=cert, key=key)
    stopped = ask(server, access, lambda stub, access: _stopped(stub, access, tournament_id))
    if as_json:
        write_json(listed_json(stopped))
        return
    typer.echo(f"tournament {tournament_id}: {progress(stopped)}, {state_of(stopped)}")
    if stopped.state != pb.TOURNAMENT_STATE_FINISHED:
        typer.echo(f"go on with: tournament resume --server {server} {tournament_id}", err=True)


# Places --------------------------------------------------------------------------------------------------


def id_of(which: str) -> int:
    """Read a tournament's id.

    Raises:
        ConfigError: it is none.
    """
    if not which.isascii() or not which.isdecimal() or not int(which):
        raise ConfigError(f"{which!r} is no tournament's id: with --server or --store it has to be a number")
    return int(which)


def plan_of(which: str) -> Plan:
    """Return the plan of a run that is named by its folder.

    Raises:
        ConfigError: there is no such run.
    """
    folder = Path(which)
    if which.isdecimal() and not folder.exists():
        raise ConfigError(f"{which}: an id needs its place; add --server, or give the run's folder instead")
    return Plan.load(folder)


# Servers -------------------------------------------------------------------------------------------------


def ask(
    server: str, access: Access, question: Callable[[TournamentServiceAsyncStub, Access], Awaitable[_T]]
) -> _T:
    """Ask a server.

    Raises:
        ServerError: none answers, or it refuses.
    """

    async def asked() -> _T:
        with translated(server):
            async with dial(server, access) as stub:
                return await question(stub, access)

    return asyncio.run(asked())


async def _listed(stub: TournamentServiceAsyncStub, access: Access) -> list[pb.Tournament]:
    found: list[pb.Tournament] = []
    request = pb.ListTournamentsRequest(page_size=_PAGE)
    while True:
        page = await stub.ListTournaments(request, metadata=access.metadata)
        found.extend(page.tournaments)
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


async def _shown(
    stub: TournamentServiceAsyncStub, access: Access, tournament_id: int
) -> pb.WatchTournamentResponse:
    """Return what a watcher sees first, with the final ratings of the games so far."""
    watching = pb.WatchTournamentRequest(tournament_id=tournament_id)
    call = stub.WatchTournament(watching, metadata=access.metadata)
    update = await call.read()
    call.cancel()
    assert isinstance(update, pb.WatchTournamentResponse)  # there is one at least, or an error
    wanted = pb.GetStandingsRequest(tournament_id=tournament_id, with_final_ratings=True)
    found = await stub.GetStandings(wanted, metadata=access.metadata)
    if found.HasField("final_ratings"):
        update.final_ratings.CopyFrom(found.final_ratings)
    return update


async def _stopped(stub: TournamentServiceAsyncStub, access: Access, tournament_id: int) -> pb.Tournament:
    """Stop a tournament and wait for the end of its running games."""
    stopping = pb.StopTournamentRequest(tournament_id=tournament_id)
    tournament = (await stub.StopTournament(stopping, metadata=access.metadata)).tournament
    watching = pb.WatchTournamentRequest(tournament_id=tournament_id)
    call = stub.WatchTournament(watching, metadata=access.metadata)
    while isinstance(update := await call.read(), pb.WatchTournamentResponse):
        tournament = update.tournament
    return tournament


# Output --------------------------------------------------------------------------------------------------


def write_json(told: Json | list[Json]) -> None:
    """Write JSON to the standard output."""
    typer.echo(json.dumps(told, indent=2))


def _table(found: Iterable[pb.Tournament]) -> Table:
    table = Table()
    for heading in ("id", "state", "games", "created (UTC)", "bots"):
        table.add_column(heading, justify="right" if heading in {"id", "games"} else "left")
    for tournament in found:
        created = tournament.create_time.ToDatetime().strftime("%Y-%m-%d %H:%M")
        table.add_row(
            str(tournament.tournament_id),
            state_of(tournament),
            progress(tournament).removesuffix(" games"),
            created,
            Text(", ".join(tournament.config.bots)),
        )
    return table


def progress(tournament: pb.Tournament) -> str:
    """Say how far a tournament is."""
    return f"{tournament.games_finished} of {tournament.games_total} games"


def _facts(tournament: pb.Tournament) -> list[str]:
    """Say what a tournament consists of and where it stands, beside its standings."""
    game, created = config_of(tournament.config.game), tournament.create_time.ToDatetime()
    facts = [
        f"tournament {tournament.tournament_id}, {state_of(tournament)}, "
        f"created {created:%Y-%m-%d %H:%M} UTC",
        f"bots: {', '.join(tournament.config.bots)}",
        f"game: {game.players} seats, {game.mode.value} rules, scoring by {game.scoring.value}",
    ]
    if tournament.missing_bots:
        facts.append(f"not connected: {', '.join(tournament.missing_bots)}")
    return facts
