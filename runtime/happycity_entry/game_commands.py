"""The commands that need the rules alone: simulate and catalogue."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from happycity.errors import RecordError, ReplayError
from happycity.records.random_games import movers_rng, play_random_game, record_random_game
from happycity.records.record import dumps, loads, trace
from happycity.records.replay import record_at, replay
from happycity.rules.cards import Mode
from happycity.rules.deals import MAX_PLAYERS, MAX_SEED, MIN_PLAYERS, Config, Deal, Scoring
from happycity.rules.game import Game
from happycity.text.catalogue import entries, plain
from happycity.text.words import plural
from happycity_runtime.commands import AsJson, remark, until_output_closes
from happycity_runtime.files import filled_lines


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


def catalogue(*, as_json: AsJson = False) -> None:
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
