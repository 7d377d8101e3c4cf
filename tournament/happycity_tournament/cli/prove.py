"""`tournament commit`, `publish` and `verify`: results that anybody can recompute."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from happycity.hosting.v1beta1.hosting_service_pb2 import SubmissionPart
    from happycity.records.record import Json
    from happycity_tournament.cli.addresses import Location
    from happycity_tournament.client.run_folder import Run
    from happycity_tournament.proof.commitment import Commitment

PROCESSES = min(4, os.cpu_count() or 1)
"""How many replay games."""
Noted = Annotated[
    str | None, typer.Option(metavar="HASH", help="A hash that was noted before, to compare with.")
]


def commit(
    file: Annotated[Path, typer.Option("--config", metavar="FILE", help="TOML file of the tournament.")],
) -> None:
    """Print the hash of a file's seed and salt.

    It is to be published before a beacon is drawn.
    """
    from happycity.errors import ConfigError
    from happycity_runtime.settings import load
    from happycity_tournament.cli.settings import RunSettings
    from happycity_tournament.proof.commitment import Commitment

    settings = load(RunSettings, {}, file=file)
    if settings.seed is None or settings.salt is None:
        raise ConfigError(f"{file}: it needs both seed and salt to commit to")
    typer.echo(Commitment.to(settings.config(), salt=settings.salt).seed_hash)


def publish(
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="ADDRESS",
            help="A tournament of a run here: its folder, games.sqlite#3 or grpc://HOST:PORT#3; by default "
            "the latest one.",
            show_default=False,
        ),
    ] = None,
    second: Annotated[
        str | None, typer.Argument(metavar="FOLDER", help="The new folder to write.", show_default=False)
    ] = None,
    *,
    files_of: Annotated[
        str,
        typer.Option(
            metavar="BOTS",
            help="Hosted bots whose files become public too, separated by commas; ask their authors first.",
        ),
    ] = "",
) -> None:
    """Write a finished tournament so that anybody can recompute it.

    The folder has all games, the commitment, its seed and salt, the ratings and the table, and what
    organisers of a ladder on the same server did to its bots.
    """
    from happycity.errors import ConfigError
    from happycity_tournament.cli.addresses import open_sources, with_tournament
    from happycity_tournament.cli.tables import reading_games
    from happycity_tournament.proof.commitment import Commitment
    from happycity_tournament.proof.tournament_proof import publish as publish_games

    if first is None:
        raise ConfigError("FOLDER: it is missing; name the new folder to write")
    address, folder = (None, Path(first)) if second is None else (first, Path(second))
    run = _run_with_commitment(address)
    commitment = Commitment.load(run.folder)
    hosted = _submissions(run, commitment, files_of)
    with open_sources([with_tournament(address)]) as (source,), reading_games():
        source.check()
        acts = _acts(run, commitment)
        print_published(
            publish_games(source, commitment, folder, processes=PROCESSES, acts=acts, hosted=hosted)
        )


def _run_with_commitment(address: str | None) -> Run:
    """Return the run of an address: the commitment is in its folder alone, wherever its games are."""
    from happycity.errors import ConfigError
    from happycity_tournament.cli.addresses import find_tournament, location_at
    from happycity_tournament.client.run_folder import RUNS, run_folders

    found = find_tournament(address)
    if found.run is not None:
        return found.run
    for folder in run_folders():
        with suppress(ConfigError):
            location = location_at(str(folder))
            if location.run is not None and _place(location) == _place(found):
                return location.run
    raise ConfigError(f"{found.address}: no run in {RUNS}/ played it, so there is no commitment")


def _place(location: Location) -> tuple[str | Path, int | None]:
    """Return what is the same for all addresses of a tournament."""
    from happycity_tournament.client.run_folder import RemoteServer
    from happycity_tournament.storage.sources import path_of

    if isinstance(location.at, RemoteServer):
        return location.at.url, location.tournament_id
    path = path_of(location.at)
    return path.resolve() if path else location.at, location.tournament_id


def _submissions(run: Run, commitment: Commitment, bots: str) -> dict[str, list[SubmissionPart]]:
    """Return the submissions of hosted bots, named with commas, from the server that hosts them."""
    from happycity.errors import ConfigError
    from happycity_tournament.client.connection import Connection, call_server
    from happycity_tournament.client.run_folder import RemoteServer

    hosted, found = commitment.deals.hosted_bots, {}
    for bot in filter(None, map(str.strip, bots.split(","))):
        if bot not in hosted or not isinstance(run.venue, RemoteServer):
            raise ConfigError(f"--files-of: {bot!r} is not a hosted bot of this run")
        found[bot] = call_server(run.venue, partial(Connection.submission, bot=bot, digest=hosted[bot]))
    return found


def _acts(run: Run, commitment: Commitment) -> list[Json]:
    """Return what organisers of the server did to the bots of a run; its own server keeps no ladder."""
    from happycity.ladder.v1beta1.ladder_service_pb2 import ActKind
    from happycity.wire.enums import enum_word
    from happycity.wire.moments import unix_of
    from happycity_tournament.client.connection import call_server
    from happycity_tournament.client.run_folder import RemoteServer

    if not isinstance(run.venue, RemoteServer):
        return []
    acts = call_server(run.venue, lambda connection: connection.acts())
    return [
        {
            "id": act.act_id,
            "at": unix_of(act.time),
            "organiser": act.organiser,
            "kind": enum_word(ActKind, act.kind),
            "bot": act.bot,
            "text": act.text,
            "deals": act.deals,
        }
        for act in reversed(acts)
        if act.bot in commitment.deals.bots
    ]


def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a published tournament.")],
    *,
    noted: Noted = None,
    sample: Annotated[
        int, typer.Option("--sample", min=0, metavar="N", help="Games in which bots are asked again.")
    ] = 0,
) -> None:
    """Recompute a published tournament, and say what in it is not true.

    The exit status is 1 if something was changed. With --sample, the bots of the project that the run
    started, and in the sandbox the hosted bots whose files are there, choose their moves again in N games
    drawn by chance.
    """
    from happycity_tournament.cli.tables import reading_games
    from happycity_tournament.proof.tournament_proof import verify as verify_games

    with reading_games():
        results = verify_games(folder, processes=PROCESSES, noted=noted, sample=sample)
    print_verified(results, noted)


def print_published(results: Json) -> None:
    """Print the numbers of games and the hashes of what was published or verified."""
    typer.echo(f"{results['games']} games")
    typer.echo(f"commitment {results['hash']}")
    typer.echo(f"seed and salt {results['commitment']['seed_hash']}")
    typer.echo(f"end of the chain {results['chain']}")


def print_verified(results: Json, noted: str | None) -> None:
    """Print what was verified without an error, and say in one sentence what that shows."""
    from happycity.text.words import plural

    print_published(results)
    hint = "but no hash was compared: --noted HASH shows that it is what was announced before"
    games, compared = plural(results["games"], "game"), "and the noted hash is its own" if noted else hint
    typer.echo(f"all of it is true: {games} replayed, ratings and hashes agree, {compared}")
