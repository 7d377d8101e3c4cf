"""The commands of this package, which import what they need when they are called."""

# ruff: noqa: PLC0415 - the help of a command must not wait for what only the command needs

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer

from happycity import Mode
from happycity.rules.deals import MAX_PLAYERS, MAX_SEED, MIN_PLAYERS
from happycity.runtime.commands import until_output_closes
from happycity.runtime.settings import flags_of
from happycity_tournament.bots.lineup import bot_entries
from happycity_tournament.cli.options import BOTS_HELP, Commands, StoreOption, check_output, connection_of
from happycity_tournament.cli.settings import ConnectionSettings

DEFAULT_OPPONENTS = "greedy,planner,rollout"

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A run's folder, a store's URL or SQLite file, a record file, or, with --server or --store, a "
        "tournament's id.  [default: the latest run]",
    ),
]
GameId = Annotated[
    str | None,
    typer.Argument(
        metavar="GAME",
        help="The game's id, which `tournament games` lists, or its number in a record file.  "
        "[default: the only game]",
    ),
]


@flags_of(ConnectionSettings)
def show(
    source: Source = None,
    game: GameId = None,
    *,
    first: Annotated[int, typer.Option("--from", min=1, metavar="N", help="The first decision to show.")] = 1,
    seat: Annotated[
        str | None,
        typer.Option(metavar="BOT", help="The bot, or the seat's number, whose decisions are of interest."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Watch a game that is being played, from its beginning.")
    ] = False,
    store: StoreOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a decision.")] = False,
    **flags: object,
) -> None:
    """Show a game, decision by decision.

    In a terminal, keys step through it, and q leaves; elsewhere all decisions are printed. Ctrl-C ends a game
    that is followed.
    """
    from happycity_terminal import show as showing

    selection = showing.Selection(first=first, seat=seat, as_json=as_json)
    connection = connection_of(flags, store, source)
    with until_output_closes():
        if follow:
            showing.follow(source, game, connection, store, selection)
        else:
            showing.show(source, game, connection, store, selection)


@flags_of(ConnectionSettings)
def view(
    source: Source = None,
    game: GameId = None,
    *,
    first: Annotated[
        int | None,
        typer.Option("--from", min=1, metavar="N", help="The decision to begin at.  [default: the end]"),
    ] = None,
    seat: Annotated[
        str | None,
        typer.Option(metavar="BOT", help="The bot, or the seat's number, that is shown first."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The HTML file to write; no browser is opened."),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address of the page, without opening a browser.")
    ] = False,
    store: StoreOption = None,
    **flags: object,
) -> None:
    """Show a finished game in a browser.

    The page is one HTML file, which needs no network and holds the record too, so it can be passed on. Unless
    --output names it, it is written into the folder of the run, else into a temporary one.
    """
    from happycity_terminal import view as viewing

    check_output("--output", output)
    start = viewing.Start(decision=first, seat=seat)
    viewing.view(
        source,
        game,
        connection_of(flags, store, source),
        store,
        start,
        output=output,
        opens=not no_open,
    )


@flags_of(ConnectionSettings)
def ask(
    source: Source = None,
    game: Annotated[
        str | None,
        typer.Argument(
            metavar="GAME[@DECISION]",
            help="The game's id, and a decision as `happycity show` numbers them.  [default: the only game; "
            "the first decision that the bot didn't answer, else its first]",
        ),
    ] = None,
    *,
    bot: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Starts the bot, in any language; NAME=COMMAND says which bot of the game it is.  "
            "[default: as the run has started it]",
        ),
    ] = None,
    seat: Annotated[
        str | None,
        typer.Option(
            metavar="BOT",
            help="The bot, or the seat's number, whose decisions are asked.  [default: that of the decision, "
            "else the run's only program]",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Ask all decisions of the bot, in their order.")
    ] = False,
    store: StoreOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    **flags: object,
) -> None:
    """Put recorded decisions to a bot again, without a clock.

    The bot is started as a run starts it, in the foreground of the terminal, so a debugger may hold it. What
    it chooses now is printed beside the move in the record. The exit status is 1 if the two differ or the bot
    fails. A first Ctrl-C goes to the bot, a second one stops both.
    """
    from happycity_terminal.ask import ask as ask_bot

    ask_bot(
        source,
        game,
        connection_of(flags, store, source),
        store,
        bot=bot,
        seat=seat,
        every=every,
        as_json=as_json,
    )


@flags_of(ConnectionSettings)
def play(
    *,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="BOT,...",
            help="Reference bots to play against, separated by commas; on a server any connected bots.  "
            f"[default: {DEFAULT_OPPONENTS}, or none with --bot]",
        ),
    ] = None,
    commands: Annotated[
        list[str] | None,
        typer.Option(
            "--bot", metavar="NAME=COMMAND", help="A bot of your own to play against; may be repeated."
        ),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="Rules and specials.")] = Mode.FAMILY,
    seats: Annotated[
        int | None,
        typer.Option(
            min=MIN_PLAYERS,
            max=MAX_PLAYERS,
            help="Seats at the table.  [default: one for each bot, and yours]",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_SEED, help="Chooses the deal and your seat.  [default: random]"),
    ] = None,
    name: Annotated[str, typer.Option(help="Your name at the table.")] = "you",
    web: Annotated[
        bool, typer.Option("--web", help="Play in the browser, also with people whom you invite.")
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="With --web, print the link, without opening a browser.")
    ] = False,
    **flags: object,
) -> None:
    """Play a game yourself.

    A server and the bots are started for the game, which has no clock and is kept in a new folder under
    runs/; with --server you play against bots that are connected there. Choose moves by number or in words;
    ? helps, q leaves the game to the others, Ctrl-C ends it. With --web the browser shows the table, and
    Ctrl-C ends the server.
    """
    # While a person thinks, a server closes what is idle, which gRPC would log into the dialogue.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    from happycity_terminal.play import GamePlan, play_game

    opponents = against if against is not None else "" if commands else DEFAULT_OPPONENTS
    plan = GamePlan(
        name=name,
        against=opponents,
        commands=commands or (),
        mode=mode,
        seats=seats,
        seed=secrets.randbits(53) if seed is None else seed,
    )
    if web:
        from happycity_terminal.browser import play_in_browser

        play_in_browser(plan, connection_of(flags), is_seeded=seed is not None, opens=not no_open)
    else:
        play_game(plan, connection_of(flags))


def match(
    *,
    bots: Annotated[str, typer.Option(metavar="BOT,...", help=BOTS_HELP)] = DEFAULT_OPPONENTS,
    commands: Commands = None,
    seats: Annotated[
        int | None,
        typer.Option(
            min=MIN_PLAYERS,
            max=MAX_PLAYERS,
            help="Seats at the table, of which the reference bots fill those that are left.  "
            "[default: one for each bot]",
        ),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="Rules and specials.")] = Mode.FAMILY,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_SEED, help="Chooses the deal and the seats.  [default: random]"),
    ] = None,
    no_clock: Annotated[bool, typer.Option("--no-clock", help="Play without clocks, for debugging.")] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Print each move as it is made; in a terminal, step through them afterwards."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Play one game between bots.

    The same seed deals the same cards, so a change can be tried again on the same deal. The game is a run of
    its own in a new folder under runs/, which other commands take. Ctrl-C stops it.
    """
    from happycity_terminal.match import MatchPlan, play_match, table_of

    lineup = table_of(bot_entries(bots, commands or (), ()), seats)
    chosen = secrets.randbits(53) if seed is None else seed
    plan = MatchPlan(lineup=lineup, mode=mode, seed=chosen, no_clock=no_clock)
    play_match(plan, watch=watch, as_json=as_json)
