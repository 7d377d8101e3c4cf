"""The command `tournament`."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from happycity import ConfigError
from happycity.cli import run_cli
from happycity_tournament import offline_cli, online_cli, roster_cli
from happycity_tournament.bot_flags import bots_told
from happycity_tournament.conduct import check_json_file, conduct
from happycity_tournament.config import TournamentConfig
from happycity_tournament.flags import flags_of, given
from happycity_tournament.formats import Format
from happycity_tournament.plan import STORE_FILE, Plan, new_folder
from happycity_tournament.plan_file import (
    DEFAULT_SEATS,
    REFERENCE_BOTS,
    BotEntry,
    PlaySettings,
    RunSettings,
    SettingsError,
    SprtSettings,
    example,
    load_settings,
)
from happycity_tournament.schedule.duel import copies

EXAMPLE_FILE = Path("tournament.toml")
_T = TypeVar("_T")

app = typer.Typer(
    name="tournament",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Tournaments between bots, with Elo ratings.",
)


@app.command()
@flags_of(RunSettings)
def run(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="TOML file with settings, as `tournament init` writes one."),
    ] = None,
    *,
    bots: Annotated[
        str | None,
        typer.Option(
            help="Reference bots to start, by commas; NAME=BOT makes another copy.",
            show_default=",".join(REFERENCE_BOTS),
        ),
    ] = None,
    bot: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=COMMAND", help="A bot in any language to start; may be given often."),
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A bot that connects by itself; may be given often."),
    ] = None,
    **flags: object,
) -> None:
    """Play a tournament and print its standings. Ctrl-C finishes the running games and stops.

    Flags win over the file; --bots, --bot and --join together replace its bots. Games are stored as they
    finish: in a new file under runs/, where the output of server and bots goes too.
    """
    told = given(flags)
    if file is None or bots is not None or bot or join:
        told["bots"] = bots_told(",".join(REFERENCE_BOTS) if bots is None else bots, bot, join)
    settings = _read(lambda: load_settings(RunSettings, told, file))
    entries = settings.bots
    if entries is None:
        entries = tuple(BotEntry(name=name, builtin=name) for name in REFERENCE_BOTS)
    config = TournamentConfig(
        bots=tuple(entry.name for entry in entries),
        game=settings.game(seats=max(2, min(DEFAULT_SEATS, len(entries)))),
        rounds=settings.rounds,
        seed=_seed(settings),
        format=settings.format,
        cycles=settings.cycles,
        orders=settings.orders,
        challengers=settings.challengers,
        minimum=settings.minimum,
        anchor=settings.anchor,
        anchor_elo=settings.anchor_elo,
        time=settings.time,
        policy=settings.policy,
        concurrency=settings.concurrency,
    )
    _play(config, entries, settings)


@app.command()
@flags_of(SprtSettings)
def sprt(**flags: object) -> None:
    """Test whether one bot is stronger than another, with as many games as that takes.

    The two fill all seats, deal after deal, until the games speak clearly for H0, the candidate is elo0
    stronger, or for H1, it is elo1 stronger. The exit status is 3 if they don't within the maximum.
    """
    settings = _read(lambda: load_settings(SprtSettings, given(flags)))
    game = settings.game(seats=settings.seats)
    candidate = _entry(settings.candidate, flag="candidate")
    base = _entry(settings.base, flag="base")
    entries = [
        entry.model_copy(update={"name": name})
        for entry in (candidate, base)
        for name in copies(entry.name, game.players)
    ]
    config = TournamentConfig(
        bots=tuple(entry.name for entry in entries),
        game=game,
        seed=_seed(settings),
        format=Format.SPRT,
        sprt=settings.terms,
        time=settings.time,
        policy=settings.policy,
        concurrency=settings.concurrency,
    )
    _play(config, entries, settings)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = EXAMPLE_FILE,
) -> None:
    """Write an example of the file that `tournament run` takes, with every key, its default and meaning."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(example())
    except FileExistsError:
        raise ConfigError(f"{file} is there already; remove it, or name another file") from None
    typer.echo(f"wrote {file}; play it with: tournament run {file}")


def _play(config: TournamentConfig, entries: Sequence[BotEntry], settings: PlaySettings) -> None:
    config.check()
    check_json_file(settings.json_file)
    folder = new_folder()
    plan = Plan(
        config=config,
        builtin=tuple(entry.words for entry in entries if entry.builtin is not None),
        commands=tuple((entry.name, entry.command) for entry in entries if entry.command is not None),
        join=tuple(entry.name for entry in entries if entry.join),
        server=settings.server,
        access=settings.access,
        store=settings.store or f"sqlite:///{folder.as_posix()}/{STORE_FILE}",
        logs=folder,
        processes=settings.processes,
    )
    conduct(plan, settings.json_file)


def _read(load: Callable[[], _T]) -> _T:
    """Return settings, or exit with a line for each of their problems."""
    try:
        return load()
    except SettingsError as error:
        for problem in error.problems:
            typer.echo(f"error: {problem}", err=True)
        sys.exit(2)


def _seed(settings: PlaySettings) -> int:
    return settings.seed if settings.seed is not None else secrets.randbits(53)


def _entry(text: str, *, flag: str) -> BotEntry:
    """Read a bot of a test: what is no reference bot is a command."""
    name, separator, what = text.partition("=")
    if not name or (separator and not what):
        raise ConfigError(f"{flag}: {text!r} is none of BOT, NAME=BOT and NAME=COMMAND")
    if not separator or what in REFERENCE_BOTS:
        return BotEntry(name=name, builtin=what or name)
    return BotEntry(name=name, command=what)


offline_cli.register(app)
online_cli.register(app)
roster_cli.register(app)


def main() -> None:
    """Run the command `tournament`."""
    run_cli(app)
