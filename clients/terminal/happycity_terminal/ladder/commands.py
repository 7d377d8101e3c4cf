"""The commands of `happycity ladder`, which import what they need when they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from happycity.errors import ConfigError
from happycity_ladder.entries import ActionKind, ChallengeState, DealKind
from happycity_ladder.ladder_config import DEFAULT_HOUSE, example
from happycity_runtime.commands import AsJson, Commands, Server, write_example
from happycity_runtime.transport import DEFAULT_ADDRESS
from happycity_tournament.cli.prove import PROCESSES, Noted, print_published, print_verified

EXAMPLE_FILE = Path("ladder.toml")
MAX_ID = 2**63 - 1
"""The largest id that anything can have."""
LISTED = 20
"""Entries that a list has unless a limit is given."""

ladder = Commands(
    "The ladder of a server: ratings of bots that come and go. Without --server, the address is that of "
    f"HAPPYCITY_SERVER or {DEFAULT_ADDRESS}."
)


def _id(text: str, metavar: str = "ID") -> Any:
    """Return an option that takes an id."""
    return typer.Option(min=1, max=MAX_ID, metavar=metavar, help=text)


OnBoard = Annotated[
    str, typer.Option(metavar="BOARD", help="The board, such as 4-family.  [default: the first one]")
]
OnlyBoard = Annotated[str, typer.Option("--board", metavar="BOARD", help="Only those on this board.")]
OnlyBot = Annotated[str, typer.Option("--bot", metavar="NAME", help="Only those of this bot.")]
InSeason = Annotated[int | None, _id("The season.  [default: the present one]")]
Limit = Annotated[int, typer.Option(min=0, metavar="N", help="The most entries; 0: all.")]
SomeBot = Annotated[str, typer.Argument(metavar="BOT", help="The bot's name.", show_default=False)]


@ladder.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = EXAMPLE_FILE,
) -> None:
    """Write an example of the file for `happycity serve --ladder`.

    The example explains every key, with its default.
    """
    write_example(file, example())
    typer.echo(f"wrote {file}; keep the ladder with: happycity serve --ladder {file} --house {DEFAULT_HOUSE}")


@ladder.command()
def show(
    name: SomeBot = "",
    *,
    board: OnBoard = "",
    season: InSeason = None,
    ranked: Annotated[bool, typer.Option("--ranked", help="Only bots that have a rank.")] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Show the leaderboard of a board, or one bot with its versions and their ratings.

    First come owners by their best bot, then all bots. Ranks are by the lower end of the 95% interval. Bots
    without a rank come last: their rating is provisional, or they haven't played for long. The JSON of a bot
    has its rating over time, too.
    """
    from happycity_terminal.ladder import run

    if name:
        if season is not None or ranked:
            raise ConfigError("--season, --ranked: these are for leaderboards; leave out BOT, or them")
        run.show("GetLadderBot", server, bot=name, board=board, as_json=as_json)
        return
    run.show_leaderboard(
        server, board=board, season_id=season, ranked_only=ranked, limit=limit, as_json=as_json
    )


@ladder.command()
def deals(
    *,
    bot: OnlyBot = "",
    version: Annotated[int | None, _id("Only those of this version.")] = None,
    board: OnlyBoard = "",
    season: Annotated[int | None, _id("Only those of this season.")] = None,
    kind: Annotated[DealKind | None, typer.Option(help="Only those that are played for this.")] = None,
    challenge: Annotated[int | None, _id("Only those of this challenge.")] = None,
    limit: Limit = LISTED,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """List deals, newest first.

    Each deal is played once in every rotation of its seats; `happycity show` shows the game of a match id.
    """
    from happycity_terminal.ladder import run

    run.show_list(
        "ListLadderDeals",
        server,
        bot=bot,
        version_id=version,
        board=board,
        season_id=season,
        kind=kind and f"DEAL_KIND_{kind.name}",
        challenge_id=challenge,
        limit=limit,
        as_json=as_json,
    )


@ladder.command()
def seasons(
    *,
    close: Annotated[
        int | None,
        _id("End this season, if it has not ended, and begin the next one; ratings go on.", "SEASON"),
    ] = None,
    limit: Limit = LISTED,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """List the seasons, newest first, or end the present one.

    Ending takes the token of an organiser.
    """
    from happycity_terminal.ladder import run

    if close is not None:
        run.show("CloseSeason", server, season_id=close, as_json=as_json)
    else:
        run.show_list("ListSeasons", server, limit=limit, as_json=as_json)


@ladder.command()
def publish(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The server's store: a file or a URL.")],
    season: Annotated[int, typer.Argument(min=1, max=MAX_ID, metavar="SEASON", help="One that has ended.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The new folder to write.")],
) -> None:
    """Write a season that has ended so that anybody can recompute it.

    As ratings go on from season to season, the folder has the deals of all seasons up to this one, with their
    seeds and salts, the acts of organisers, and the leaderboards. The server may run.
    """
    from happycity_ladder.season_proof import publish_season
    from happycity_tournament.cli.addresses import url_of
    from happycity_tournament.cli.tables import reading_games
    from happycity_tournament.storage.store import Store

    with Store.existing(url_of(store)) as opened, reading_games():
        print_published(publish_season(opened, season, folder, processes=PROCESSES))


@ladder.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a published season.")],
    *,
    noted: Noted = None,
) -> None:
    """Recompute a published season, and say what in it is not true.

    The exit status is 1 if something was changed.
    """
    from happycity_ladder.season_proof import verify_season
    from happycity_tournament.cli.tables import reading_games

    with reading_games():
        results = verify_season(folder, processes=PROCESSES, noted=noted)
    print_verified(results, noted)


@ladder.command()
def challenge(
    name: SomeBot = "",
    *,
    board: OnBoard = "",
    against: Annotated[
        str,
        typer.Option(
            metavar="BOT,...",
            help="Play unrated deals against these bots, which must accept unless of the house.",
        ),
    ] = "",
    replay: Annotated[
        int | None,
        _id("Play once more what this older version of the bot played against the house, unrated."),
    ] = None,
    deals: Annotated[int, typer.Option(min=1, metavar="N", help="How many deals.")] = 10,
    accept: Annotated[int | None, _id("Accept this challenge to the bot.")] = None,
    decline: Annotated[int | None, _id("Decline this challenge to the bot.")] = None,
    withdraw: Annotated[int | None, _id("Take back this challenge of the bot.")] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List challenges, those of the bot or to it if it is named.")
    ] = False,
    state: Annotated[ChallengeState | None, typer.Option(help="List only those in this state.")] = None,
    limit: Limit = LISTED,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Ask for deals of a bot, answer challenges, or list them.

    Without --against and --replay the deals are rated, and the ladder chooses the opponents. The token is the
    bot's.
    """
    from happycity_terminal.ladder import run

    answers = {"accept": accept, "decline": decline, "withdraw": withdraw}
    chosen = {answer: number for answer, number in answers.items() if number is not None}
    if listed + len(chosen) > 1:
        raise ConfigError("--list, --accept, --decline, --withdraw: give one of them")
    if listed:
        in_state = state and f"CHALLENGE_STATE_{state.name}"
        run.show_list("ListChallenges", server, bot=name, state=in_state, limit=limit, as_json=as_json)
        return
    if not name:
        raise ConfigError("BOT: it is missing; name the bot, or list challenges by --list")
    if chosen:
        ((answer, number),) = chosen.items()
        method = f"{answer.capitalize()}Challenge"
        run.show(method, server, challenge_id=number, bot=name, as_json=as_json)
        return
    opponents = tuple(filter(None, map(str.strip, against.split(","))))
    if opponents and replay is not None:
        raise ConfigError("--against, --replay: the house plays in a replay; give one of them")
    kind = DealKind.CHALLENGE if opponents else DealKind.RATED if replay is None else DealKind.COMPARISON
    run.show(
        "CreateChallenge",
        server,
        bot=name,
        board=board,
        kind=f"DEAL_KIND_{kind.name}",
        opponents=opponents,
        deals=min(deals, 2**32 - 1),
        old_version_id=replay,
        as_json=as_json,
    )


@ladder.command()
def compare(
    old: Annotated[
        int, typer.Argument(min=1, max=MAX_ID, metavar="OLD", help="The older version's id; see `show BOT`.")
    ],
    new: Annotated[int, typer.Argument(min=1, max=MAX_ID, metavar="NEW", help="The newer version's id.")],
    *,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Compare two versions of a bot by deals that both of them played against the house.

    `challenge --replay` lets the newer one play such deals.
    """
    from happycity_terminal.ladder import run

    run.show("CompareVersions", server, old_version_id=old, new_version_id=new, as_json=as_json)


@ladder.command()
def acts(*, bot: OnlyBot = "", limit: Limit = LISTED, as_json: AsJson = False, server: Server = None) -> None:
    """List what organisers did to bots and participants, newest first."""
    from happycity_terminal.ladder import run

    run.show_list("ListActs", server, bot=bot, limit=limit, as_json=as_json)


@ladder.command()
def act(
    kind: Annotated[ActionKind, typer.Argument(help="What to do.")],
    subject: Annotated[
        str, typer.Argument(metavar="BOT|OWNER|ID,...", help="A bot; an owner; or, to void, deals.")
    ],
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="In a line that all may read.")],
    to: Annotated[str, typer.Option("--to", metavar="OWNER", help="The new name, to rename.")] = "",
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Suspend or restore a bot, void its deals, rename or delete an owner.

    Only `suspend` can be undone. Voided deals count for nothing. `delete` ends the owner's tokens and
    removes names and texts. The token is an organiser's.
    """
    from happycity_terminal.ladder import run

    if bool(to) is not (kind is ActionKind.RENAME):
        raise ConfigError("--to: give the new name if an owner is renamed, and else leave it out")
    operation: dict[str, Any]
    match kind:
        case ActionKind.SUSPEND:
            operation = {"suspend_bot": {"bot": subject}}
        case ActionKind.RESTORE:
            operation = {"restore_bot": {"bot": subject}}
        case ActionKind.VOID if subject.replace(",", "").isdecimal():
            operation = {"void_deals": {"deal_ids": [int(number) for number in subject.split(",") if number]}}
        case ActionKind.VOID:
            operation = {"void_deals": {"bot": subject}}
        case ActionKind.RENAME:
            operation = {"rename_owner": {"owner": subject, "new_owner": to}}
        case ActionKind.DELETE:
            operation = {"delete_owner": {"owner": subject}}
    run.show("CreateAct", server, **operation, text=reason, as_json=as_json)


@ladder.command()
def flags(*, season: InSeason = None, as_json: AsJson = False, server: Server = None) -> None:
    """List odd results for a person to judge, oddest first.

    Chance makes some, too. The token is an organiser's.
    """
    from happycity_terminal.ladder import run

    run.show_list("ListFlags", server, season_id=season, as_json=as_json)
