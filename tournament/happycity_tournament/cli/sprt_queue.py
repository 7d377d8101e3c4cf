"""What `tournament sprt` does: test one candidate after the other against the base."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from happycity import ConfigError
from happycity_tournament.bots.lineup import BotEntry, Lineup
from happycity_tournament.cli.options import check_output
from happycity_tournament.cli.settings import SprtSettings
from happycity_tournament.cli.start import start
from happycity_tournament.running.snapshot import Snapshot


def play_tests(candidates: Sequence[BotEntry], base: BotEntry, settings: SprtSettings) -> None:
    """Play a test for each candidate; with several of them, print all results at the end."""
    names = [candidate.name for candidate in candidates]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--candidate: {name!r} is named more than once")
    tests = [
        (
            settings.config(candidate, base),
            Lineup(bots=(candidate, base), processes=settings.processes),
        )
        for candidate in candidates
    ]
    for _, lineup in tests:
        lineup.check()
    check_output("--json", settings.json_file)
    is_queue = len(tests) > 1
    of_one = settings.model_copy(update={"json_file": None}) if is_queue else settings
    played: list[Snapshot] = []
    try:
        for number, (config, lineup) in enumerate(tests, start=1):
            if is_queue:
                typer.echo(
                    f"test {number} of {len(tests)}: {names[number - 1]} against {base.name}", err=True
                )
            played.append(start(config, lineup, of_one))
    finally:
        if is_queue and played:
            _print(played, settings)

    from happycity_tournament.cli.play import exit_unless_decided  # noqa: PLC0415 - as in `start`

    exit_unless_decided(played)


def _print(played: Sequence[Snapshot], settings: SprtSettings) -> None:
    """Print the results of all tests that ended."""
    from rich.console import Console  # noqa: PLC0415 - a test must not wait for it

    from happycity_tournament.cli.json import result_json, write_json  # noqa: PLC0415 - likewise
    from happycity_tournament.cli.sprt import queue_table  # noqa: PLC0415 - likewise

    Console(stderr=str(settings.json_file) == "-").print(queue_table(played))
    if settings.json_file is not None:
        write_json({"tests": [result_json(last) for last in played]}, settings.json_file)
