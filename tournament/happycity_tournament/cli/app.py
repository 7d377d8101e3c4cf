"""The command `tournament`: its commands with their arguments, which import what they need when called."""

# ruff: noqa: PLC0415 - the help of a command must not wait for what only the command needs

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from happycity import ConfigError
from happycity.match import DEFAULT_LINEUP
from happycity.runtime.commands import GroupedCommand, run_cli
from happycity.runtime.settings import flags_of
from happycity_tournament.bots.lineup import Lineup, bot_entries, bot_entry
from happycity_tournament.cli.options import (
    BOTS_GROUP,
    BOTS_HELP,
    GAMES_LISTED,
    SOURCE_HELP,
    AsJson,
    Bots,
    BySource,
    Commands,
    ForfeitedGames,
    GamesLimit,
    GamesOfBot,
    Joining,
    JsonFile,
    LostGames,
    OneSource,
    Renamed,
    RunStore,
    Sources,
    StoreOption,
    Tournament,
    Which,
    WorstGames,
    check_output,
    connection_of,
    load_play,
    renamed_of,
    write_example,
)
from happycity_tournament.cli.settings import (
    ConnectionSettings,
    RunSettings,
    SprtSettings,
    SprtTestSettings,
    example,
)
from happycity_tournament.config import MEAN_ELO, check_elo

EXAMPLE_FILE = Path("tournament.toml")

app = typer.Typer(
    name="tournament",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Tournaments between bots, with Elo ratings. Commands take the latest run unless you name another "
    "one by its folder, or a tournament by its id with --server or --store.",
)


# Playing ---------------------------------------------------------------------------------------------------


@app.command(cls=GroupedCommand)
@flags_of(RunSettings, without={"bots"})
def run(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="TOML file with settings; `tournament init` writes an example."),
    ] = None,
    *,
    bots: Annotated[
        str | None,
        typer.Option(
            metavar="BOT,...",
            help=f"{BOTS_HELP}  [default: {','.join(DEFAULT_LINEUP)}]",
            rich_help_panel=BOTS_GROUP,
        ),
    ] = None,
    commands: Commands = None,
    joining: Joining = None,
    **flags: object,
) -> None:
    """Play a tournament and print its standings.

    Flags win over the file; --bots, --bot and --join together replace its bots. Each game is stored when it
    ends. The store and the output of server and bots are in a new folder under runs/. Ctrl-C finishes the
    running games and stops.
    """
    from happycity_tournament.cli.start import start

    if bots is not None or commands or joining:
        builtin = ",".join(DEFAULT_LINEUP) if bots is None else bots
        flags["bots"] = bot_entries(builtin, commands or (), joining or ())
    settings = load_play(RunSettings, flags, file=file)
    start(settings.config(), Lineup(bots=settings.bots, processes=settings.processes), settings)


@app.command(cls=GroupedCommand)
@flags_of(SprtSettings, without={"candidate"})
def sprt(
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--candidate",
            metavar="TEXT",
            help="A bot that may be stronger: BOT, NAME=BOT or NAME=COMMAND. May be repeated; each one is "
            "tested against the base, one after the other.",
            rich_help_panel=SprtTestSettings.group,
        ),
    ] = None,
    **flags: object,
) -> None:
    """Test whether one bot is stronger than another.

    The two bots fill all seats, deal after deal, until the games decide between two hypotheses: H0, the
    candidate is elo0 stronger, and H1, it is elo1 stronger. The exit status is 3 without a decision after
    the maximum number of blocks.
    """
    from happycity_tournament.cli.sprt_queue import play_tests

    if candidates:
        flags["candidate"] = tuple(candidates)
    settings = load_play(SprtSettings, flags)
    queue = [bot_entry("--candidate", text) for text in settings.candidate]
    play_tests(queue, bot_entry("--base", settings.base), settings)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = EXAMPLE_FILE,
) -> None:
    """Write an example of the file for `tournament run`.

    The example explains every key, with its default.
    """
    write_example(file, example())
    typer.echo(f"wrote {file}; play it with: tournament run {file}")


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def resume(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="WHICH",
            help="A run's folder or, with --server, a tournament's id.  [default: the latest run]",
        ),
    ] = None,
    *,
    store: Annotated[str | None, typer.Option(help="URL of the run's store with its password.")] = None,
    json_file: JsonFile = None,
    **flags: object,
) -> None:
    """Continue a tournament that was stopped or interrupted.

    Only the missing games are played. The folder of a run says which server and bots to start; on a running
    server (--server) the bots have to connect by themselves.
    """
    from happycity_tournament.cli.play import resume as resume_tournament

    resume_tournament(which, connection_of(flags, store, which), store=store, json_file=json_file)


# Managing tournaments ---------------------------------------------------------------------------------


@app.command("list", cls=GroupedCommand)
@flags_of(ConnectionSettings)
def list_tournaments(*, store: StoreOption = None, as_json: AsJson = False, **flags: object) -> None:
    """List the runs, or the tournaments of a store or server.

    The newest one comes first.
    """
    from happycity_tournament.cli import manage

    connection = connection_of(flags, store)
    if store is None and connection.server is None:
        manage.list_runs(as_json=as_json)
    else:
        manage.list_tournaments(connection, store, as_json=as_json)


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def show(
    which: Which = None,
    *,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Also sums and means of the numbers that bots sent.")
    ] = False,
    store: RunStore = None,
    as_json: AsJson = False,
    **flags: object,
) -> None:
    """Show a tournament with its ratings.

    The output has its settings, its progress, and the final ratings by the games so far.
    """
    from happycity_tournament.cli import locate, manage

    connection = connection_of(flags, store, which)
    location = locate.locate(which, connection, store)
    found = None
    if metrics:
        from happycity_tournament.cli import offline  # needs numpy, which is slow to load

        with locate.sources_of([which], connection, store, tournament=location.tournament_id) as sources:
            found = offline.metrics_of_bots(sources)
    manage.show_tournament(location, as_json=as_json, metrics=found)


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def stop(which: Which = None, *, store: RunStore = None, as_json: AsJson = False, **flags: object) -> None:
    """Stop a tournament.

    Running games are finished; no new ones begin until the tournament is resumed.
    """
    from happycity_tournament.cli import locate, manage

    manage.stop_tournament(locate.locate(which, connection_of(flags, store, which), store), as_json=as_json)


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def delete(
    which: Annotated[
        str,
        typer.Argument(
            metavar="WHICH",
            help="A run's folder, a store with one tournament, or, with --server or --store, its id.",
        ),
    ],
    *,
    store: RunStore = None,
    **flags: object,
) -> None:
    """Delete a tournament with all its games.

    The tournament must be stopped or finished. If it is named by its run's folder, the files that the run
    made are deleted as well.
    """
    from happycity_tournament.cli import locate, manage

    manage.delete_tournament(locate.locate(which, connection_of(flags, store, which), store))


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def add(
    which: Which = None,
    *,
    bots: Bots = None,
    commands: Commands = None,
    joining: Joining = None,
    store: RunStore = None,
    as_json: AsJson = False,
    **flags: object,
) -> None:
    """Let bots join a tournament that has begun.

    They take part from the next round on. Bots that this command starts play until the end of the
    tournament; Ctrl-C ends them, but not the tournament.
    """
    from happycity_tournament.cli import locate, manage

    entries = bot_entries(bots or "", commands or (), joining or ())
    if not entries:
        raise ConfigError("--bots, --bot, --join: name the bots that are to join")
    manage.add_bots(
        locate.locate(which, connection_of(flags, store, which), store), Lineup(bots=entries), as_json=as_json
    )


class _WithdrawCommand(GroupedCommand):
    """The command whose first argument may be left out, which typer's usage can't express."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name of the command in its usage."""
        return ["[OPTIONS]", "[WHICH]", "BOT"]


@app.command(cls=_WithdrawCommand)
@flags_of(ConnectionSettings)
def withdraw(
    which_and_bot: Annotated[
        list[str],
        typer.Argument(metavar="[WHICH] BOT", help="The tournament, by default the latest run, and the bot."),
    ],
    *,
    store: RunStore = None,
    as_json: AsJson = False,
    **flags: object,
) -> None:
    """Let a bot leave a tournament.

    The bot plays on in rounds that have begun. Its games count.
    """
    from happycity_tournament.cli import locate, manage

    *which, bot = which_and_bot
    if len(which) > 1:
        raise ConfigError("name one tournament and one bot")
    location = locate.locate(which[0] if which else None, connection_of(flags, store, *which), store)
    manage.withdraw_bot(location, bot, as_json=as_json)


# Reading games ---------------------------------------------------------------------------------------------


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def games(
    source: OneSource = None,
    *,
    bot: GamesOfBot = None,
    lost: LostGames = False,
    forfeits: ForfeitedGames = False,
    worst: WorstGames = None,
    limit: GamesLimit = None,
    tournament: Tournament = None,
    store: StoreOption = None,
    as_json: AsJson = False,
    **flags: object,
) -> None:
    """List games, with the ids by which other commands find them.

    Each line has a game's id, its deal as round.table, and by seat the bots with their places and points, or
    how they forfeited. Games of the same deal have the same cards.
    """
    from happycity_tournament.cli import locate
    from happycity_tournament.cli.games import Choice, list_games

    shown = GAMES_LISTED if limit is None else limit
    choice = Choice(bot=bot, lost=lost, forfeits=forfeits, worst=worst, limit=shown)
    connection = connection_of(flags, store, source)
    with locate.sources_of([source], connection, store, tournament=tournament) as (opened,):
        arguments = f"--server {connection.server}" if connection.server is not None else opened.name
        list_games(opened, choice, arguments=arguments, as_json=as_json)


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def rate(
    sources: Sources = None,
    *,
    anchor: Annotated[
        str | None,
        typer.Option(metavar="BOT", help="The bot whose rating is fixed.  [default: the mean of all bots]"),
    ] = None,
    anchor_elo: Annotated[
        float, typer.Option(help="The rating of the anchor, or the mean of all ratings.")
    ] = MEAN_ELO,
    renamed: Renamed = None,
    by_source: BySource = None,
    tournament: Tournament = None,
    store: StoreOption = None,
    json_file: JsonFile = None,
    **flags: object,
) -> None:
    """Rate bots by all their games.

    The ratings are computed like the final ratings of a tournament. Copies of a game count once; games with
    a disqualified bot are left out. Checks say where the games contradict the model of the ratings.
    """
    from happycity_tournament.cli import locate
    from happycity_tournament.cli.rate import rate_sources
    from happycity_tournament.storage.rating_input import Naming

    check_output("--json", json_file)
    check_elo("--anchor-elo", anchor_elo)
    naming = Naming(renamed_of(renamed), frozenset(by_source or ()))
    with locate.sources_of(
        sources or [None], connection_of(flags, store, *(sources or ())), store, tournament=tournament
    ) as opened:
        rate_sources(opened, naming=naming, anchor=anchor, anchor_elo=anchor_elo, json_file=json_file)


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def compare(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=f"Games before a change. {SOURCE_HELP}")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="Games after it, named in the same ways.")],
    *,
    bot: Annotated[
        str | None,
        typer.Option(
            metavar="BOT", help="Only this bot: NAME, or OLD=NEW if its name changed.  [default: all bots]"
        ),
    ] = None,
    store: StoreOption = None,
    as_json: AsJson = False,
    **flags: object,
) -> None:
    """Say what a change of a bot gained.

    Games of the two sources are compared in pairs that have the same deal, seats and opponents, so that luck
    cancels. Two runs have such games if they were played with the same --seed and bots.
    """
    from happycity_tournament.cli import locate
    from happycity_tournament.cli.compare import compare_sources

    connection = connection_of(flags, store, before, after)
    with locate.sources_of([before, after], connection, store, tournament=None) as (first, second):
        compare_sources(first, second, bot=bot, as_json=as_json)


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def export(
    source: OneSource = None,
    *,
    file_format: Annotated[
        Literal["csv", "jsonl", "parquet", "records", "pgn", "rankings"],
        typer.Option("--format", help="The format to write."),
    ],
    out: Annotated[Path, typer.Option(help="The file to write; with --split, the folder.")],
    game: Annotated[
        int | None, typer.Option(metavar="ID", help="Write only this game; `tournament games` lists ids.")
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Write one file for each game, with --format records.")
    ] = False,
    tournament: Tournament = None,
    store: StoreOption = None,
    **flags: object,
) -> None:
    """Write games as a table, as records, or for rating programs.

    A table (csv, jsonl, parquet) has a row for each seat of each game. Ordo and BayesElo read pgn, OpenSkill
    and choix take rankings.
    """
    from happycity_tournament.cli import locate, offline

    if split and file_format != "records":
        raise ConfigError("--split has no effect in a table; add --format records")
    results = file_format in ("pgn", "rankings")
    if results and game is not None:
        raise ConfigError(
            f"--game has no effect with --format {file_format}, which has the results of all games"
        )
    with locate.sources_of([source], connection_of(flags, store, source), store, tournament=tournament) as (
        opened,
    ):
        if results:
            offline.export_source_results(opened, out, file_format=file_format)
        else:
            offline.export_source(opened, out, file_format=file_format, split=split, game=game)


@app.command(cls=GroupedCommand)
@flags_of(ConnectionSettings)
def report(
    source: OneSource = None,
    *,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    replays: Annotated[
        Path | None,
        typer.Option(
            help="Folder for replays, each a page that needs no network; the report links to them. "
            "Notable games are replayed, and those that the next options choose."
        ),
    ] = None,
    bot: GamesOfBot = None,
    lost: LostGames = False,
    forfeits: ForfeitedGames = False,
    worst: WorstGames = None,
    limit: GamesLimit = None,
    tournament: Tournament = None,
    store: StoreOption = None,
    **flags: object,
) -> None:
    """Write a report as one HTML file.

    The report is about one tournament, or about all games of a source without tournaments.
    """
    from happycity_tournament.cli import locate, offline
    from happycity_tournament.cli.games import Choice

    chooses = bot is not None or lost or forfeits or worst is not None or limit is not None
    if chooses and replays is None:
        raise ConfigError(
            "--bot, --lost, --forfeits, --worst, --limit: they choose replays; add --replays FOLDER"
        )
    shown = GAMES_LISTED if limit is None else limit
    choice = Choice(bot=bot, lost=lost, forfeits=forfeits, worst=worst, limit=shown) if chooses else None
    connection = connection_of(flags, store, source)
    with locate.sources_of([source], connection, store, tournament=tournament) as (opened,):
        only = locate.one_tournament(opened) if tournament is None else tournament
    with locate.sources_of([source], connection, store, tournament=only) as (opened,):
        run = locate.run_of(source, connection, store)
        offline.report_source(
            opened, out, replays=replays, choice=choice, lineup=run.lineup if run is not None else None
        )


def main() -> None:
    """Run the command `tournament`."""
    run_cli(app)
