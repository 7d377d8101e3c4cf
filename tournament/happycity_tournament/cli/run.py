"""`tournament run`, `sprt` and `resume`: play a tournament, show its progress, and print the result."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from happycity.errors import ConfigError, fields_named
from happycity.match import DEFAULT_LINEUP, LONGEST_SECONDS
from happycity_runtime.commands import AsJson, remark
from happycity_runtime.settings import flags_of, load, setting_place
from happycity_tournament.cli.options import BASICS, Address
from happycity_tournament.cli.settings import (
    FILE_ONLY,
    FLAGS,
    PlaySettings,
    RunSettings,
    SprtSettings,
    example,
)
from happycity_tournament.client import run_folder
from happycity_tournament.client.run_folder import OwnServer, RemoteServer
from happycity_tournament.config import TournamentConfig
from happycity_tournament.lineup import BotEntry, Lineup, bot_entries, bot_entry

File = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="TOML file with settings, more than there are flags; see --example.",
        rich_help_panel=BASICS,
    ),
]


@flags_of(RunSettings, without={"bots", *FILE_ONLY})
def run(
    *,
    file: File = None,
    bots: Annotated[
        str | None,
        typer.Option(
            metavar="BOT,...",
            help="Reference bots to start, separated by commas; NAME=BOT starts BOT under another name, "
            "hosted:NAME is a bot that was submitted to the server.  "
            f"[default: {','.join(DEFAULT_LINEUP)}; none with --join on a running server]",
            rich_help_panel=BASICS,
        ),
    ] = None,
    commands: Annotated[
        list[str] | None,
        typer.Option(
            "--bot",
            metavar="NAME=COMMAND",
            help="A bot of your own to start, in any language; may be repeated.",
            rich_help_panel=BASICS,
        ),
    ] = None,
    joining: Annotated[
        list[str] | None,
        typer.Option(
            "--join",
            metavar="NAME",
            help="A bot that connects by itself; may be repeated.",
            rich_help_panel=BASICS,
        ),
    ] = None,
    as_json: AsJson = False,
    write_example: Annotated[
        bool, typer.Option("--example", help="Print an example of the file of --config, and play nothing.")
    ] = False,
    **flags: object,
) -> None:
    """Play a tournament and print its standings.

    Flags win over the file; --bots, --bot and --join together replace its bots. Each game is stored when it
    ends. The store and the output of server and bots are in a new folder under runs/. Ctrl-C stops it in a
    few seconds; `tournament resume` continues it.
    """
    if write_example:
        typer.echo(example(), nl=False)
        return
    place_of = _places(flags, file)
    if bots is not None or commands or joining:
        given = {"--bots": bots is not None, "--bot": commands, "--join": joining}
        own = ", ".join(name for name, is_given in given.items() if is_given)
        place_of = _places(flags, file, bots=own)
        entries = bot_entries(bots or "", commands or (), joining or ())
        # The reference bots would need tokens of a running server, where those who join know each other.
        if bots is None and not (joining and load(RunSettings, flags, file=file).server_to_use):
            if taken := sorted({entry.name for entry in entries} & {*DEFAULT_LINEUP}):
                raise ConfigError(
                    f"--bot, --join: {taken[0]!r} is also one of the default --bots "
                    f"{','.join(DEFAULT_LINEUP)}; name the reference bots to start by --bots, or none by "
                    '--bots ""'
                )
            entries = (*bot_entries(",".join(DEFAULT_LINEUP), (), ()), *entries)
        flags["bots"] = entries
    settings = load(RunSettings, flags, file=file)
    with fields_named(place_of):
        play(settings.config(), settings.bots, settings, as_json=as_json)


@flags_of(SprtSettings, without=FILE_ONLY)
def sprt(*, file: File = None, as_json: AsJson = False, **flags: object) -> None:
    """Test whether one bot is stronger than another.

    The two bots fill all seats, deal after deal, until the games decide between two hypotheses: H0, the
    candidate is elo0 stronger, and H1, it is elo1 stronger. The exit status is 3 without a decision after
    the maximum number of blocks.
    """
    settings = load(SprtSettings, flags, file=file)
    with fields_named(_places(flags, file)):
        bots = bot_entry("--candidate", settings.candidate), bot_entry("--base", settings.base)
        play(settings.config(*bots), bots, settings, as_json=as_json)


def _places(flags: Mapping[str, object], file: Path | None, *, bots: str = "") -> Callable[[str], str]:
    """Return what names where a setting was given; `bots` are the flags that name bots."""
    place = setting_place(flags, file=file)

    def named(key: str) -> str:
        if key.startswith("--"):  # a flag that was read
            return key
        if key == "bots" and bots:
            return bots
        return place(key) if key in FLAGS or (file is not None and key) else key

    return named


def play(
    config: TournamentConfig, bots: tuple[BotEntry, ...], settings: PlaySettings, *, as_json: bool
) -> None:
    """Play a new tournament; what can be checked is checked before it is started."""
    from happycity_tournament.cli.session_view import SessionView
    from happycity_tournament.client.connection import call_server
    from happycity_tournament.client.session import default_workers, play_new
    from happycity_tournament.proof.commitment import Commitment, programs_of
    from happycity_tournament.schedule import schedule_of

    lineup = Lineup(bots=bots, processes=settings.processes, restarts=settings.restarts)
    lineup.check()
    venue: run_folder.ServerChoice | None = None
    if settings.server_to_use:
        venue = server = RemoteServer.at(settings.server)  # without a flag, that of the environment
        if lineup.hosted:
            hosted = call_server(server, lambda at: at.hosted_digests(lineup.hosted))
            config = replace(config, hosted_bots=hosted)
    elif lineup.hosted:
        raise ConfigError(f"hosted:{lineup.hosted[0]}: only a running server hosts bots; name it by --server")
    salt = secrets.token_hex(32) if settings.salt is None else settings.salt
    commitment = Commitment.to(config, salt=salt, beacon=settings.beacon, programs=programs_of(lineup))
    config = commitment.deals
    schedule = schedule_of(config)
    folder = run_folder.new_folder()
    with run_folder.discarded_unless_begun(folder):
        commitment.save(folder)
        if settings.salt is not None:
            remark(f"commitment {commitment.hash}")
        if venue is None:
            workers = settings.workers
            if workers is None:
                games = schedule.total_games
                workers = 0 if settings.ray else default_workers(lineup, games, config.concurrency)
            venue = OwnServer(
                store=settings.store or run_folder.own_store(folder), workers=workers, ray=settings.ray
            )
        session_view = SessionView(
            venue,
            str(folder),
            as_json=as_json,
            folder=folder,
            starts_bots=bool(lineup.started),
            fail_on_forfeit=settings.fail_on_forfeit,
        )
        session_view.play(
            lambda view: play_new(
                config, folder=folder, venue=venue, lineup=lineup, view=view, web=settings.web
            )
        )


def resume(
    address: Address = None,
    *,
    connect_seconds: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=LONGEST_SECONDS, help="Seconds to wait for the bots.  [default: as the run says]"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Continue a tournament that was stopped or interrupted.

    Only the missing games are played. The folder of a run says which server and bots to start; on a running
    server the bots have to connect by themselves.
    """
    # A new run needs no database in this process.
    from happycity_tournament.cli.addresses import find_run, find_tournament, location_at
    from happycity_tournament.cli.session_view import SessionView
    from happycity_tournament.client.session import resume_run
    from happycity_tournament.storage.store import Store

    run = find_run(address)
    if run is not None:
        if isinstance(run.venue, OwnServer):
            # A server would make a store that is missing.
            Store.existing(run.venue.store, any_version=True).close()
        session_view = SessionView(
            run.venue,
            location_at(address).address,
            as_json=as_json,
            folder=run.folder,
            starts_bots=bool(run.lineup.started),
        )
        session_view.play(lambda view: resume_run(run, view, connect_seconds=connect_seconds))
        return
    found = find_tournament(address)
    server = found.at
    if not isinstance(server, RemoteServer):
        raise ConfigError(f"{found.address}: name the folder of its run, which says what bots to start")
    others = run_folder.Run(
        folder=Path(), tournament_id=found.tournament_id, created_at=0.0, venue=server, lineup=Lineup()
    )
    SessionView(server, found.address, as_json=as_json).play(
        lambda view: resume_run(others, view, connect_seconds=connect_seconds)
    )
