"""`happycity benchmark`: measure a bot by a protocol, and verify such results."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from happycity_runtime.commands import AsJson

if TYPE_CHECKING:
    from happycity.records.record import Json
    from happycity_tournament.client.run_folder import Run
    from happycity_tournament.client.session import ProgressView
    from happycity_tournament.config import TournamentConfig
    from happycity_tournament.lineup import BotEntry
    from happycity_tournament.play.snapshot import Snapshot
    from happycity_tournament.storage.sources import StoreSource

Beacon = Annotated[
    str | None, typer.Option(help="Text drawn after the bot was finished, from which the deals follow too.")
]


def run(
    protocol: Annotated[
        str,
        typer.Argument(
            metavar="PROTOCOL", help="HappyCity-SEATS-MODE-v4 or -MODE-lite-v4: 2 to 5, family or expert."
        ),
    ],
    *,
    bot: Annotated[
        str, typer.Option(metavar="BOT", help="The bot to measure: BOT, NAME=BOT or NAME=COMMAND.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to.  [default: PROTOCOL-NAME]")
    ] = None,
    games: Annotated[
        int | None,
        typer.Option(min=1, help="Play this many games or a few more, which is a try and not a result."),
    ] = None,
    money: Annotated[
        str | None, typer.Option(help='What the run cost, as it is to stand in the result, such as "3 USD".')
    ] = None,
    beacon: Beacon = None,
    as_json: AsJson = False,
) -> None:
    """Measure a bot by a protocol; `run` may be left out.

    It plays against a pool of reference bots, each deal in every seat. The result is benchmark.json in
    the folder, with the games in games.jsonl.gz. After Ctrl-C or a crash, the same command continues.
    """
    from happycity.errors import ConfigError
    from happycity_tournament.cli.prove import PROCESSES
    from happycity_tournament.cli.tables import reading_games
    from happycity_tournament.lineup import bot_entry
    from happycity_tournament.proof.benchmark import BENCHMARK_FILE, protocol_named, write_benchmark

    chosen, entry = protocol_named(protocol), bot_entry("--bot", bot)
    deals = chosen.deals if games is None else chosen.deals_for(games)
    config = chosen.config(deals, beacon=beacon)
    folder = out or Path(f"{chosen.name}-{entry.name}")
    if (folder / BENCHMARK_FILE).exists():
        raise ConfigError(f"--out: {folder} has a result already; name another folder")
    source = _play(config, folder, entry, as_json=as_json)
    cost = {"cpu_seconds": _cpu_seconds(folder), "money": money}
    with reading_games():
        result = write_benchmark(
            source, chosen, folder, bot=entry, deals=deals, cost=cost, processes=PROCESSES, beacon=beacon
        )
    source.close()
    _print(result, as_json=as_json)


def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a result.")],
    *,
    asked: Annotated[
        int,
        typer.Option("--ask", min=0, help="Games, drawn by chance, in which reference bots are asked again."),
    ] = 100,
    beacon: Beacon = None,
    as_json: AsJson = False,
) -> None:
    """Recompute a result, and say what in it is not true.

    All games are replayed by the rules, and all numbers follow from them but the costs. The exit status is 1
    if something was changed.
    """
    from happycity_tournament.cli.prove import PROCESSES
    from happycity_tournament.cli.tables import reading_games
    from happycity_tournament.proof.benchmark import verify_benchmark

    with reading_games():
        result = verify_benchmark(folder, asked=asked, processes=PROCESSES, beacon=beacon)
    _print(result, as_json=as_json)


def _play(config: TournamentConfig, folder: Path, entry: BotEntry, *, as_json: bool) -> StoreSource:
    """Play a benchmark in a folder, or what is missing of it, and return its games."""
    from happycity.errors import ConfigError
    from happycity_tournament.cli.session_view import SessionView
    from happycity_tournament.client.run_folder import RUN_FILE, OwnServer, Run, own_store
    from happycity_tournament.client.session import play_new, resume_run
    from happycity_tournament.lineup import BotEntry, Lineup
    from happycity_tournament.proof.benchmark import CANDIDATE, POOL
    from happycity_tournament.storage.sources import StoreSource

    # A process of its own, so that its CPU time is known.
    command = entry.command or f"{shlex.quote(sys.executable)} -m happycity bot {CANDIDATE}={entry.builtin}"
    opponents = (BotEntry(name=name, builtin=name) for name in POOL)
    lineup = Lineup(bots=(BotEntry(name=CANDIDATE, command=command), *opponents))
    lineup.check()
    venue = OwnServer(store=own_store(folder))
    begun = Run.load(folder) if (folder / RUN_FILE).exists() else None
    if begun is not None and begun.lineup.bots != lineup.bots:
        raise ConfigError(f"--out: {folder} has games of another bot; name another folder")
    if begun is not None and _config_of(begun) != config:
        raise ConfigError(
            f"--out: {folder} has games of another protocol, beacon or --games; name another folder"
        )
    folder.mkdir(parents=True, exist_ok=True)

    async def session(view: ProgressView) -> Snapshot:
        if begun is not None:
            return await resume_run(begun, view)
        return await play_new(config, folder=folder, venue=venue, lineup=lineup, view=view, web=False)

    session_view = SessionView(
        venue, str(folder), as_json=as_json, folder=folder, starts_bots=True, benchmark=True
    )
    played = session_view.play(session)
    return StoreSource(venue.store, tournament=played.tournament_id)


def _config_of(run: Run) -> TournamentConfig:
    """Return what a run that was begun plays."""
    from happycity_tournament.client.run_folder import own_store
    from happycity_tournament.config import TournamentConfig
    from happycity_tournament.storage.sources import StoreSource

    source = StoreSource(own_store(run.folder), tournament=run.tournament_id)
    (stored,) = source.tournaments()
    source.close()
    return TournamentConfig.of(stored.config)


def _cpu_seconds(folder: Path) -> float | None:
    """Return the CPU time of the candidate's processes, None if it isn't known."""
    from happycity_tournament.client.run_folder import USAGE_FILE
    from happycity_tournament.proof.benchmark import CANDIDATE

    lines = map(json.loads, (folder / USAGE_FILE).read_text(encoding="utf-8").splitlines())
    times = [line["cpu_seconds"] for line in lines if line["bots"] == [CANDIDATE]]
    return None if not times or None in times else sum(times)


def _print(result: Json, *, as_json: bool) -> None:
    from happycity.text.words import plural
    from happycity_tournament.cli.json import write_json
    from happycity_tournament.proof.benchmark import POOL, protocol_named

    if as_json:
        write_json(result)
        return
    stated, columns = result["stated"], result["columns"]
    numbers = {
        "Elo over the pool": _with_margin(result["elo"], 1),
        f"worst, over {result['worst']}": _with_margin(columns[result["worst"]]["elo"], 1),
        **{f"Elo over {bot}": _with_margin(columns[bot]["elo"], 1) for bot in POOL},
        "score": _with_margin(result["score"], 4),
        **{key: result[key] for key in ("points", "opponents_points", "places", "forfeits")},
        **{key: result[key] for key in ("protocol_digest", "chain", "hash")},
    }
    claims = {
        **{key: stated[key] for key in ("decisions", "cpu_seconds", "money") if stated[key] is not None},
        **stated["notes"],
    }
    tried = (
        "" if result["complete"] else f", of {protocol_named(result['protocol']).deals}: a try, not a result"
    )
    typer.echo(f"{result['bot']['name']} in {result['protocol']}, {plural(result['deals'], 'deal')}{tried}")
    for title, lines in (("", numbers), ("stated by who ran it, not verified:", claims)):
        if title:
            typer.echo(title)
        for name, number in lines.items():
            typer.echo(f"{name.replace('_', ' '):21} {number}")


def _with_margin(figure: Json | None, digits: int) -> str:
    """Return a number with its interval."""
    from happycity_tournament.cli.tables import number_text

    if figure is None:
        return "not known, as every comparison went one way"
    return number_text(figure["value"], figure["margin"], digits)
