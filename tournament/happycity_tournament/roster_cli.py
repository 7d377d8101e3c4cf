"""The commands of `tournament` that change who takes part: add and withdraw."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError
from rich.console import Console

from happycity import ConfigError
from happycity.v1 import tournament_service_pb2 as pb
from happycity_tournament.access import Access
from happycity_tournament.bot_flags import bots_told
from happycity_tournament.conduct import BROKEN_OFF
from happycity_tournament.display import Display, print_summary, roster_lines
from happycity_tournament.messages import tournament_message
from happycity_tournament.online_cli import (
    AsJson,
    Ca,
    Cert,
    Key,
    Server,
    Tls,
    Token,
    Which,
    ask,
    id_of,
    plan_of,
    progress,
    write_json,
)
from happycity_tournament.organiser import bring
from happycity_tournament.plan import RUNS, Plan, new_folder
from happycity_tournament.plan_file import REFERENCE_BOTS, BotEntry
from happycity_tournament.results_json import listed_json, result_json, state_of
from happycity_tournament.roster import Change, change_roster, joining, leaving
from happycity_tournament.status import load_status
from happycity_tournament.store import Store
from happycity_tournament.stored import in_use, url_of

if TYPE_CHECKING:  # in the generated stub's types only
    from happycity.v1.tournament_service_pb2_grpc import TournamentServiceAsyncStub

_PLAYED = (pb.TOURNAMENT_STATE_WAITING, pb.TOURNAMENT_STATE_RUNNING)

_Store = Annotated[
    str | None, typer.Option(help="The run's store once more, if its URL has a password: a plan keeps none.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A tournament, and who can change it."""

    tournament_id: int
    server: str | None
    """Address of the server that has its store; None if none does."""
    access: Access
    store: str = ""
    """The store's URL where there is no server."""
    run: Plan | None = None
    """The run that it belongs to, if it was named by its folder."""

    @property
    def words(self) -> str:
        """The tournament as commands take it."""
        return str(self.run.logs) if self.run is not None else f"--server {self.server} {self.tournament_id}"

    def played(self) -> pb.Tournament | None:
        """Return the tournament if a server plays it, or waits for its bots."""
        if self.server is None:
            return None
        request = pb.GetTournamentRequest(tournament_id=self.tournament_id)

        async def asked(stub: TournamentServiceAsyncStub, access: Access) -> pb.Tournament:
            return (await stub.GetTournament(request, metadata=access.metadata)).tournament

        tournament = ask(self.server, self.access, asked)
        return tournament if tournament.state in _PLAYED else None

    def add(self, bots: Sequence[str]) -> pb.Tournament:
        """Let bots join, and return the tournament."""
        if self.server is None:
            return self._changed(joining(bots))
        request = pb.AddBotsRequest(tournament_id=self.tournament_id, bots=bots)

        async def asked(stub: TournamentServiceAsyncStub, access: Access) -> pb.Tournament:
            return (await stub.AddBots(request, metadata=access.metadata)).tournament

        return ask(self.server, self.access, asked)

    def withdraw(self, bot: str) -> pb.Tournament:
        """Let a bot leave, and return the tournament."""
        if self.server is None:
            return self._changed(leaving(bot))
        request = pb.WithdrawBotRequest(tournament_id=self.tournament_id, bot=bot)

        async def asked(stub: TournamentServiceAsyncStub, access: Access) -> pb.Tournament:
            return (await stub.WithdrawBot(request, metadata=access.metadata)).tournament

        return ask(self.server, self.access, asked)

    def _changed(self, change: Change) -> pb.Tournament:
        """Change the tournament in its store, off which servers are kept meanwhile."""
        with Store(self.store) as store:
            store.claim()
            change_roster(store, self.tournament_id, change)
            status = load_status(store, self.tournament_id)
        assert status is not None
        return tournament_message(status)


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(add)
    app.command()(withdraw)


def add(
    which: Which,
    *,
    bots: Annotated[
        str | None,
        typer.Option(help="Reference bots to start, by commas; NAME=BOT makes another copy."),
    ] = None,
    bot: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=COMMAND", help="A bot in any language to start; may be given often."),
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A bot that connects by itself; may be given often."),
    ] = None,
    server: Server = None,
    token: Token = "",
    tls: Tls = False,
    ca: Ca = None,
    cert: Cert = None,
    key: Key = None,
    store: _Store = None,
    as_json: AsJson = False,
) -> None:
    """Let bots join a tournament that has begun: they take part from its next round on.

    Bots that are started here play until the end of the tournament; Ctrl-C ends them, and it goes on.
    """
    more = _newcomers(bots, bot, join)
    access = Access(token=token, tls=tls, ca=ca, cert=cert, key=key)
    place = _place(which, server=server, store=store, access=access)
    starts = bool(more.builtin or more.commands)
    if starts and (tournament := place.played()) is not None:
        # Before anything is started: a program of the same name would take the seats of the one that plays.
        for name in more.names:
            if name in tournament.config.bots:
                raise ConfigError(f"bots: {name!r} takes part already, or did")
        _bring(place, more, as_json=as_json)
        return
    tournament = place.add(more.names)
    _keep(place, more)
    _tell(tournament, more.names, as_json=as_json)
    if starts and place.run is None:
        typer.echo("nobody plays it, so no bot was started; start them when it is resumed", err=True)


def withdraw(
    which: Which,
    bot: Annotated[str, typer.Argument(metavar="BOT", help="The bot that is to leave.")],
    *,
    server: Server = None,
    token: Token = "",
    tls: Tls = False,
    ca: Ca = None,
    cert: Cert = None,
    key: Key = None,
    store: _Store = None,
    as_json: AsJson = False,
) -> None:
    """Let a bot leave a tournament: it takes part in no round that hasn't begun; its games so far count."""
    access = Access(token=token, tls=tls, ca=ca, cert=cert, key=key)
    place = _place(which, server=server, store=store, access=access)
    tournament = place.withdraw(bot)
    if place.run is not None:
        Plan.load(place.run.logs).without_bot(bot).save(place.tournament_id)
    _tell(tournament, [bot], as_json=as_json)


def _place(which: str, *, server: str | None, store: str | None, access: Access) -> _Place:
    """Return where a tournament is.

    Raises:
        ConfigError: that isn't told, or there is nothing of the kind.
    """
    if server is not None:
        if store is not None:
            raise ConfigError("store: a running server has its own; leave one of --store and --server away")
        return _Place(tournament_id=id_of(which), server=server, access=access)
    run = plan_of(which).at(store=store, access=access)
    assert run.tournament_id is not None
    address = run.server
    if address is None and in_use(url_of(run.store)):
        address = run.address
        if address is None:
            raise ConfigError(
                f"{run.file} doesn't tell where the server of its store listens; add --server, and the id "
                f"{run.tournament_id} in place of the folder"
            )
    return _Place(
        tournament_id=run.tournament_id, server=address, access=run.access, store=run.store, run=run
    )


def _newcomers(bots: str | None, bot: Sequence[str] | None, join: Sequence[str] | None) -> Plan:
    """Return the bots that are to join as a plan that has nothing else."""
    try:
        entries = [BotEntry.model_validate(told) for told in bots_told(bots, bot, join)]
    except ValidationError:
        raise ConfigError("bots, bot, join: a name or a command is empty") from None
    if not entries:
        raise ConfigError("bots, bot, join: say by one of them who is to join")
    for entry in entries:
        if entry.builtin is not None and entry.builtin not in REFERENCE_BOTS:
            raise ConfigError(
                f"bots: {entry.builtin!r} is none of the reference bots {', '.join(REFERENCE_BOTS)}; "
                "name a bot that connects by itself with --join"
            )
    more = Plan(
        builtin=tuple(entry.words for entry in entries if entry.builtin is not None),
        commands=tuple((entry.name, entry.command) for entry in entries if entry.command is not None),
        join=tuple(entry.name for entry in entries if entry.join),
        store="",
        logs=RUNS,
    )
    twice = [name for name in more.names if more.names.count(name) > 1]
    if twice:
        raise ConfigError(f"bots, bot, join: {twice[0]!r} is named more than once")
    return more


def _bring(place: _Place, more: Plan, *, as_json: bool) -> None:
    """Start the newcomers, and stay with them until the tournament is over."""
    run, are_in = place.run, False
    plan = replace(
        more,
        tournament_id=place.tournament_id,
        server=place.server,
        address=run.address if run is not None and run.server is None else None,
        access=place.access,
        store=run.store if run is not None else "",
        logs=run.logs if run is not None else new_folder(),
        directory=run.directory if run is not None else more.directory,
    )

    def joined() -> None:
        nonlocal are_in
        are_in = True
        _keep(place, more)

    try:
        with Display(hint=f"Ctrl-C ends {', '.join(more.names)}, not the tournament") as display:
            last = asyncio.run(bring(plan, display, joined=joined))
    except (asyncio.CancelledError, KeyboardInterrupt):
        typer.echo(_farewell(place, more.names, are_in=are_in), err=True)
        sys.exit(BROKEN_OFF)
    if as_json:
        write_json(result_json(last))
    else:
        print_summary(Console(), last)
    if last.tournament.state != pb.TOURNAMENT_STATE_FINISHED:
        sys.exit(BROKEN_OFF)


def _farewell(place: _Place, names: Sequence[str], *, are_in: bool) -> str:
    if not are_in:  # the request may have been granted all the same
        return f"broken off; whether they joined is told by: tournament show {place.words}"
    return (
        f"ended: {', '.join(names)}; the tournament goes on, and their seats are forfeited until they "
        f"connect again; take a bot out with: tournament withdraw {place.words} {names[0]}"
    )


def _keep(place: _Place, more: Plan) -> None:
    """Let the run start the newcomers too when it is resumed."""
    if place.run is not None:
        # Read again, as others may have joined meanwhile.
        Plan.load(place.run.logs).with_bots(more).save(place.tournament_id)


def _tell(tournament: pb.Tournament, bots: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        write_json(listed_json(tournament))
        return
    typer.echo(f"tournament {tournament.tournament_id}: {progress(tournament)}, {state_of(tournament)}")
    for line in roster_lines(tournament, bots) or [f"{bot} takes part from round 1 on" for bot in bots]:
        typer.echo(line)
