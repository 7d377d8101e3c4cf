"""The commands of this package, which import what they need when they are called."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from happycity import ConfigError, Mode
from happycity.rules.deals import MAX_PLAYERS, MAX_SEED, MIN_PLAYERS
from happycity_runtime.commands import AsJson, Server, check_output, until_output_closes
from happycity_runtime.settings import flags_of, load
from happycity_terminal.options import AnalyseOptions

DEFAULT_OPPONENTS = "greedy,planner,rollout"

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A run's folder, a store, a file of records, or grpc://HOST:PORT.  [default: the latest run]",
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


def show(
    source: Source = None,
    game: GameId = None,
    *,
    first: Annotated[
        int | None, typer.Option("--from", min=1, metavar="N", help="The decision to begin at.")
    ] = None,
    bot: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The bot, or the seat's number, whose decisions are of interest."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Watch a game that is being played, from its beginning.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser", help="Show the game in a browser, or print the address of its page.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the game to this file as a page, which needs no network."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a decision.")] = False,
) -> None:
    """Show a game, decision by decision.

    In a terminal, keys step through it, and q leaves; elsewhere all decisions are printed. Ctrl-C ends a game
    that is followed. The page of --browser or --out is one HTML file with the record in it, so it can be
    passed on; --browser writes it into the folder of the run, else into a temporary one.
    """
    if (browser or out is not None) and (follow or as_json):
        raise ConfigError("--follow, --json: they have no effect on a page (--browser, --out)")
    from happycity_terminal import show as showing

    selection = showing.Selection(first=first, seat=bot, as_json=as_json)
    if browser or out is not None:
        from happycity_terminal.game_page import write_game_page

        check_output("--out", out)
        write_game_page(source, game, selection, output=out)
        return
    with until_output_closes():
        if follow:
            showing.follow(source, game, selection)
        else:
            showing.show(source, game, selection)


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
            metavar="NAME=COMMAND",
            help="The bot, or the seat's number, whose decisions are asked, and what starts it; one of them "
            "may be left out.  [default: the bot of the decision, else the run's only program; as the run "
            "has started it]",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Ask all decisions of the bot, in their order.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.decision",
            help="Ask no bot, but write the decision to this file, for tests of the bot.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put recorded decisions to a bot again, without a clock.

    The bot is started as a run starts it, in the foreground of the terminal, so a debugger may hold it. What
    it chooses now is printed next to the recorded move. The exit status is 1 if the two differ or the bot
    fails. A first Ctrl-C goes to the bot, a second one stops both.

    A file of --out as SOURCE needs no record any more. SDKs read it too: docs/writing-a-bot.md#test-your-bot.
    """
    from happycity_terminal.ask import DECISION_SUFFIX
    from happycity_terminal.ask import ask as ask_bot

    check_output("--out", out)
    if out is not None and out.suffix != DECISION_SUFFIX:
        raise ConfigError(f"--out: {out} must end in {DECISION_SUFFIX}, by which such files are known")
    ask_bot(source, game, bot=bot, every=every, as_json=as_json, out=out)


@flags_of(AnalyseOptions)
def analyse(
    source: Source = None,
    game: Annotated[
        str | None,
        typer.Argument(
            metavar="GAME",
            help="The game's id, which `tournament games` lists, or its number in a record file.  "
            "[default: all games]",
        ),
    ] = None,
    *,
    as_json: AsJson = False,
    **flags: object,
) -> None:
    """Say what a bot's decisions cost, in a game or over a run.

    The first line says where most is lost. Over all games of a run the losses by phase, round and opponent
    follow, and the decisions that cost most. In a game each decision and the luck of each draw is judged.

    Positions are valued by the network of the bot champion, in places: after each legal move, the expected
    place of the bot, 1 for the first. A loss is by how much that is worse than after the best move. The luck
    of a draw is the place expected before the card came less that after it; its mean is 0. The costliest
    decisions come first, with their positions; `happycity ask` puts one to the bot again.
    """
    from happycity_terminal.analyse import analyse as answer

    question = load(AnalyseOptions, flags)
    if question.every_seat and question.bot is not None:
        raise ConfigError("--bot, --every-seat: give one of them")
    with until_output_closes():
        answer(source, game, question, as_json=as_json)


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
            help="Seats at the table, of which the bots fill those that are left.  [default: one for each "
            "bot, and yours]",
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
    watch: Annotated[
        bool, typer.Option("--watch", help="Let only bots play, and print each of their moves as it is made.")
    ] = False,
    no_clock: Annotated[
        bool, typer.Option("--no-clock", help="With --watch, play without clocks, for debugging.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --watch, print nothing but the result, as JSON.")
    ] = False,
    server: Server = None,
) -> None:
    """Play a game yourself, or watch bots play one.

    A server and the bots are started for the game, which is kept in a new folder under runs/; with --server
    you play against bots that are connected there. Choose moves by number or in words; ? helps, q leaves the
    game to the others, Ctrl-C ends it. Your own game has no clock. With --web the browser shows the table,
    and Ctrl-C ends the server. With --watch the same seed deals the same game again, so a change of a bot can
    be tried on it.
    """
    opponents = against if against is not None else "" if commands else DEFAULT_OPPONENTS
    if (no_clock or as_json) and not watch:
        raise ConfigError("--no-clock, --json: they have no effect without --watch")
    if web and watch:
        raise ConfigError("--web: has no effect with --watch; look at the game with: happycity show")
    from happycity_terminal.play import GamePlan, play_game

    chosen_seed = secrets.randbits(53) if seed is None else seed
    plan = GamePlan(
        name=name, against=opponents, commands=commands or (), mode=mode, seats=seats, seed=chosen_seed
    )
    if watch:
        from happycity_terminal.watched_game import play_match

        play_match(plan, no_clock=no_clock, as_json=as_json)
    elif web:
        from happycity_terminal.browser_tables import play_in_browser

        play_in_browser(plan, server, is_seeded=seed is not None, opens=not no_open)
    else:
        play_game(plan, server)
