"""The command `happycity`: simulate, catalogue, and the commands that packages above the rules add."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

from happycity_runtime.installation import install_command

try:
    import typer
except ModuleNotFoundError:  # a bot needs none of the commands
    sys.stderr.write(f"error: the commands are not installed; install them by: {install_command('arena')}\n")
    raise SystemExit(2) from None

from happycity.errors import RecordError, ReplayError
from happycity.records.random_games import movers_rng, play_random_game, record_random_game
from happycity.records.record import dumps, loads, trace
from happycity.records.replay import record_at, replay
from happycity.rules.cards import Mode
from happycity.rules.deals import MAX_PLAYERS, MAX_SEED, MIN_PLAYERS, Config, Deal, Scoring
from happycity.rules.game import Game
from happycity.text.catalogue import entries, plain
from happycity.text.words import plural
from happycity_runtime.commands import (
    AsJson,
    CommandGroup,
    Commands,
    remark,
    run_cli,
    until_output_closes,
)
from happycity_runtime.files import filled_lines

COMMANDS = "happycity.commands"
"""The entry-point group by which other packages add commands."""

HEADINGS = {
    **dict.fromkeys(("play", "show", "tournament"), "Play and watch"),
    **dict.fromkeys(
        ("new-bot", "check", "analyse", "ask", "join", "practice", "submit", "bot", "bridge"), "Write a bot"
    ),
    **dict.fromkeys(("competition", "serve", "status", "invite", "token", "cert"), "Run a server"),
    **dict.fromkeys(("ladder", "worker", "backup", "publish-site"), "Run a server"),
    **dict.fromkeys(("llm", "mcp", "benchmark", "dataset"), "Other AIs"),
    **dict.fromkeys(("simulate", "catalogue"), "Records and cards"),
}
"""The heading in the help of each command, in this order; commands of other packages come after them."""


class _ByHeading(CommandGroup):
    """The commands in the order of their headings."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, those without a heading last."""
        return sorted(super().list_commands(ctx), key=lambda name: (*HEADINGS, name).index(name))


app = Commands(
    "The Happy City arena: games, bots, tournaments and servers.", group=_ByHeading, is_program=True
)


@app.command(rich_help_panel=HEADINGS["simulate"])
def simulate(
    *,
    seats: Annotated[int, typer.Option(min=MIN_PLAYERS, max=MAX_PLAYERS, help="Seats at the table.")] = 4,
    games: Annotated[int, typer.Option(min=1, help="How many games to play.")] = 1,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Deal of the first game; counts up.")] = 0,
    mode: Annotated[Mode, typer.Option(help="Rules and specials.")] = Mode.FAMILY,
    scoring: Annotated[Scoring, typer.Option(help="How points are made.")] = Scoring.PRODUCT,
    traced: Annotated[
        bool, typer.Option("--trace", help="Record legal moves and state before every move.")
    ] = False,
    records: Annotated[
        bool, typer.Option("--records/--no-records", help="Write records, or only play.")
    ] = True,
    out: Annotated[
        Path | None, typer.Option(help="File for the records; the standard output if absent.")
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Replay the records of this file instead; - is the standard input; may be repeated.",
        ),
    ] = None,
) -> None:
    """Play random games and write their records, or check records.

    A record is one JSON object on a line. With --check, which takes the records of any game, the exit status
    is 1 at the first difference, where it stops.
    """
    if check:
        _replay_all(check)
        return
    config = Config(players=seats, mode=mode, scoring=scoring)
    started = time.perf_counter()
    decisions = 0
    deals = (Deal.shuffle(config, seed=seed + game) for game in range(games))
    if records:
        with until_output_closes() if out is None else out.open("w", encoding="utf-8") as file:
            for deal in deals:
                record = record_random_game(deal, movers_rng(deal.seed), trace=trace if traced else None)
                decisions += len(record["moves"])
                file.write(dumps(record) + "\n")
    else:
        for deal in deals:
            decisions += play_random_game(Game(deal), movers_rng(deal.seed))
    seconds = time.perf_counter() - started
    rate = decisions / seconds
    played = f"{plural(games, 'game')}, {plural(decisions, 'decision')}"
    remark(f"{played}, {seconds:.2f} s, {rate:,.0f} decisions/s")


def _replay_all(files: Sequence[str]) -> None:
    """Replay the records of some files and compare."""
    count = 0
    for where, line in _lines(files):
        try:
            with record_at(where):
                replay(loads(line))
        except ReplayError as error:
            raise ReplayError(f"{where}: {error}") from None
        count += 1
    if not count:
        raise RecordError(f"{', '.join(files)}: no record in it")
    typer.echo(f"{plural(count, 'record')} replayed, no difference")


@app.command(rich_help_panel=HEADINGS["catalogue"])
def catalogue(
    *,
    as_json: AsJson = False,
) -> None:
    """Print every card: values, condition, and what it does."""
    if as_json:
        for card in entries():
            typer.echo(json.dumps(card, ensure_ascii=False))
    else:
        typer.echo(plain(), nl=False)


def _lines(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the place and text of every line that isn't blank."""
    for name in files:
        try:
            yield from filled_lines(name)
        except UnicodeDecodeError as error:
            if error.object.startswith(b"SQLite format 3"):
                how = f"tournament export {name} --format records --out games.jsonl"
                raise RecordError(f"{name} is a store; write its records to a file first: {how}") from None
            raise RecordError(f"{name}: malformed record: not UTF-8 text") from None


def main() -> None:
    """Run the command `happycity`."""
    called = sys.argv[1] if len(sys.argv) > 1 else ""
    entries = entry_points(group=COMMANDS)
    for entry in entries:
        # Load what is called and nothing else, as the others bring gRPC with them; the help needs all.
        if entry.name == called or called not in ("simulate", "catalogue", *entries.names):
            command, heading = entry.load(), HEADINGS.get(entry.name)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=entry.name, rich_help_panel=heading)
            else:
                app.command(entry.name, rich_help_panel=heading)(command)
    run_cli(app)
