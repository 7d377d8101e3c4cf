"""The command `tournament`."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from happycity import Config, ConfigError, Mode, Scoring
from happycity.cli import run_cli
from happycity.deals import MAX_SEED
from happycity.records import Json
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity.v1 import tournament_service_pb2 as pb
from happycity_tournament.access import Access
from happycity_tournament.config import DEFAULT_CONCURRENCY, TournamentConfig
from happycity_tournament.display import Display, print_summary, reason_of
from happycity_tournament.offline_cli import register
from happycity_tournament.organiser import Plan, carry_out

DEFAULT_BOTS = "random,greedy,planner,rollout"
DEFAULT_SEATS = 4
_TIME, _POLICY = TimeControl(), FailurePolicy()

app = typer.Typer(
    name="tournament",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Tournaments between bots, with Elo ratings.",
)


@app.command()
def run(
    *,
    rounds: Annotated[
        int, typer.Option(help="Rounds: each table plays one deal in all seat rotations.")
    ] = 100,
    bots: Annotated[
        str, typer.Option(help="Reference bots to start, by commas; NAME=BOT makes another copy.")
    ] = DEFAULT_BOTS,
    bot: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=COMMAND", help="A bot in any language to start; may be given often."),
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A bot that connects by itself; may be given often."),
    ] = None,
    seats: Annotated[
        int | None, typer.Option(help="Seats at a table, 2 to 5; 4 if there are enough bots.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="Rules and specials.")] = Mode.FAMILY,
    scoring: Annotated[Scoring, typer.Option(help="How points are made.")] = Scoring.PRODUCT,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_SEED, help="Makes deals and bots repeatable; random if absent."),
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="Address of a running server, host:port; one is started if absent.")
    ] = None,
    token: Annotated[
        str,
        typer.Option(help="Organiser's token for that server.", envvar="HAPPYCITY_TOKEN", show_default=False),
    ] = "",
    tls: Annotated[
        bool, typer.Option("--tls", help="Encrypt; --ca and --cert imply it.", envvar="HAPPYCITY_TLS")
    ] = False,
    ca: Annotated[
        Path | None, typer.Option(help="Authorities to trust, PEM; else gRPC's own.", envvar="HAPPYCITY_CA")
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option(help="Own certificate, PEM, if the server asks for one.", envvar="HAPPYCITY_CERT"),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The key of the certificate, PEM.", envvar="HAPPYCITY_KEY")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Database URL for the results; a new SQLite file under runs/ if absent."),
    ] = None,
    decision_time: Annotated[float, typer.Option(min=0.001, help="Seconds for each decision.")] = 10.0,
    connect_time: Annotated[float, typer.Option(min=0.001, help="Seconds to wait for the bots.")] = 30.0,
    bank: Annotated[
        float, typer.Option(min=0, help="Seconds of each seat for all its decisions of a game; 0 is no bank.")
    ] = _TIME.bank_seconds,
    increment: Annotated[
        float, typer.Option(min=0, help="Seconds added to a seat's bank before each of its decisions.")
    ] = _TIME.increment_seconds,
    margin: Annotated[
        float, typer.Option(min=0, help="Seconds of each think time that count for nothing.")
    ] = _TIME.margin_seconds,
    no_clock: Annotated[bool, typer.Option("--no-clock", help="No clock runs, for debugging.")] = False,
    strikes: Annotated[
        int, typer.Option(min=0, help="Late and illegal answers a seat may give in a game.")
    ] = _POLICY.max_strikes,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds a bot may be disconnected before its seats are forfeited.")
    ] = _POLICY.grace_seconds,
    fallback: Annotated[
        Fallback, typer.Option(help="What is played for a bot that doesn't choose.")
    ] = _POLICY.fallback,
    disqualify_share: Annotated[
        float,
        typer.Option(min=0, max=1, help="A bot that forfeits more of its games plays no more; 1 spares all."),
    ] = _POLICY.disqualify_share,
    disqualify_games: Annotated[
        int, typer.Option(min=1, help="Games before a bot can be disqualified.")
    ] = _POLICY.disqualify_games,
    concurrency: Annotated[int, typer.Option(min=1, help="Games at once.")] = DEFAULT_CONCURRENCY,
    processes: Annotated[int, typer.Option(min=1, help="Processes that share the reference bots.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="File for the result as JSON; - is the standard output.")
    ] = None,
) -> None:
    """Play a tournament and print its standings. Ctrl-C finishes the running games and stops.

    Games are stored as they finish: in a new file under runs/, where the output of server and bots goes too.
    """
    builtin = tuple(entry.strip() for entry in bots.split(",") if entry.strip())
    commands = tuple(map(_command, bot or ()))
    names = (*(entry.partition("=")[0] for entry in builtin), *(name for name, _ in commands), *(join or ()))
    if server is not None and store is not None:
        raise ConfigError(
            "store: a running server keeps the results in its own store; give --store to it instead"
        )
    config = TournamentConfig(
        bots=names,
        game=Config(
            players=seats if seats is not None else max(2, min(DEFAULT_SEATS, len(names))),
            mode=mode,
            scoring=scoring,
        ),
        rounds=rounds,
        seed=seed if seed is not None else secrets.randbits(53),
        time=TimeControl(
            connect_seconds=connect_time,
            decision_seconds=decision_time,
            bank_seconds=bank,
            increment_seconds=increment,
            margin_seconds=margin,
            no_clock=no_clock,
        ),
        policy=FailurePolicy(
            max_strikes=strikes,
            grace_seconds=grace,
            fallback=fallback,
            disqualify_share=disqualify_share,
            disqualify_games=disqualify_games,
        ),
        concurrency=concurrency,
    )
    config.check()
    if json_file is not None and not json_file.parent.is_dir():
        raise ConfigError(f"json: there is no folder {json_file.parent}")
    folder = _new_folder()
    plan = Plan(
        config=config,
        builtin=builtin,
        commands=commands,
        server=server,
        access=Access(token=token, tls=tls, ca=ca, cert=cert, key=key) if server is not None else Access(),
        store=store or f"sqlite:///{folder.as_posix()}/games.sqlite",
        logs=folder,
        processes=processes,
    )
    try:
        with Display() as display:
            last = asyncio.run(carry_out(plan, display))
    except (asyncio.CancelledError, KeyboardInterrupt):
        typer.echo(f"broken off; the games that were finished are in {_store(plan)}", err=True)
        sys.exit(130)
    _report(last, plan, json_file)
    if last.tournament.state != pb.TOURNAMENT_STATE_FINISHED:
        sys.exit(130)


def _command(text: str) -> tuple[str, str]:
    name, separator, command = text.partition("=")
    if not separator or not name:
        raise ConfigError(f"bot: {text!r} is not NAME=COMMAND")
    return name, command


def _new_folder() -> Path:
    """Make a folder for this run, named after the time."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number = 1
    while True:
        folder = Path("runs", stamp if number == 1 else f"{stamp}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return folder


def _store(plan: Plan) -> str:
    """Say where the games are kept."""
    return plan.store if plan.server is None else f"the store of {plan.server}"


def _report(last: pb.WatchTournamentResponse, plan: Plan, json_file: Path | None) -> None:
    to_stdout = json_file is not None and str(json_file) == "-"
    console = Console(stderr=to_stdout)
    print_summary(console, last)
    games = f"games: {_store(plan)}, tournament {last.tournament.tournament_id}; output: {plan.logs}/"
    console.print(Text(games), soft_wrap=True)
    if json_file is None:
        return
    text = json.dumps(_json(last, plan.config), indent=2) + "\n"
    if to_stdout:
        sys.stdout.write(text)
    else:
        json_file.write_text(text, encoding="utf-8")


def _json(last: pb.WatchTournamentResponse, config: TournamentConfig) -> Json:
    """Return the result as `--json` writes it."""
    tournament = last.tournament
    return {
        "tournament": tournament.tournament_id,
        "config": config.json(),
        "games": tournament.games_finished,
        "decisions": tournament.decisions,
        "seconds": round(tournament.seconds, 3),
        "games_voided": tournament.games_voided,
        "disqualified": list(tournament.disqualified_bots),
        "remarks": list(tournament.remarks),
        "standings": [
            {
                "rank": line.rank,
                "bot": line.bot,
                "elo": line.elo,
                "elo_low": line.elo_low if line.HasField("elo_low") else None,
                "elo_high": line.elo_high if line.HasField("elo_high") else None,
                "games": line.games,
                "points_mean": line.points_mean,
                "firsts": line.firsts,
                "forfeits": line.forfeits,
                "forfeits_by_reason": {
                    reason_of(count.ending): count.games for count in line.forfeits_by_reason
                },
            }
            for line in last.standings
        ],
    }


register(app)


def main() -> None:
    """Run the command `tournament`."""
    run_cli(app)
