"""`tournament sprt`: test one candidate after the other against the base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from happycity import ConfigError
from happycity.runtime.commands import AsJson, remark
from happycity.runtime.settings import flags_of, load, naming_flags
from happycity_tournament.cli.console import sprt_table
from happycity_tournament.cli.json import result_json, write_json
from happycity_tournament.cli.presenter import exit_unless_decided
from happycity_tournament.cli.run import File, play
from happycity_tournament.cli.settings import FILE_ONLY, FLAGS, SprtSettings, SprtTestSettings
from happycity_tournament.lineup import BotEntry, Lineup, bot_entry
from happycity_tournament.play.snapshot import Snapshot


@flags_of(SprtSettings, without={"candidate", *FILE_ONLY})
def sprt(
    *,
    file: File = None,
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--candidate",
            metavar="NAME=BOT",
            help="A bot that may be stronger: BOT, NAME=BOT or NAME=COMMAND. May be repeated; each one is "
            "tested against the base, one after the other.",
            rich_help_panel=SprtTestSettings.group,
        ),
    ] = None,
    as_json: AsJson = False,
    **flags: object,
) -> None:
    """Test whether one bot is stronger than another.

    The two bots fill all seats, deal after deal, until the games decide between two hypotheses: H0, the
    candidate is elo0 stronger, and H1, it is elo1 stronger. The exit status is 3 without a decision after
    the maximum number of blocks.
    """
    if candidates:
        flags["candidate"] = tuple(candidates)
    settings = load(SprtSettings, flags, file=file)
    queue = [bot_entry("--candidate", text) for text in settings.candidate]
    with naming_flags(FLAGS):
        _play_tests(queue, bot_entry("--base", settings.base), settings, as_json=as_json)


def _play_tests(
    candidates: Sequence[BotEntry], base: BotEntry, settings: SprtSettings, *, as_json: bool
) -> None:
    """Play a test for each candidate; with several of them, print all results at the end."""
    names = [candidate.name for candidate in candidates]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--candidate: {name!r} is named more than once")
    lineups = [Lineup(bots=(candidate, base), processes=settings.processes) for candidate in candidates]
    tests = [(settings.config(*lineup.bots), lineup) for lineup in lineups]
    for lineup in lineups:
        lineup.check()
    is_queue = len(tests) > 1
    played: list[Snapshot] = []
    try:
        for number, (config, lineup) in enumerate(tests, start=1):
            if is_queue:
                text = f"test {number} of {len(tests)}: {names[number - 1]} against {base.name}"
                remark(text)
            played.append(play(config, lineup, settings, as_json=as_json, in_queue=is_queue))
    finally:
        if is_queue and played:
            Console(stderr=as_json).print(sprt_table(played))
            if as_json:
                write_json({"tests": [result_json(last) for last in played]})
    exit_unless_decided(played)
