"""Whether bots whose moves follow from their seeds have played what the record of a game says."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from tempfile import TemporaryDirectory

import happycity_bots
from happycity import ConfigError, Game, Move, ReplayError
from happycity.records.record import Json
from happycity.records.replay import config_of, deal_of
from happycity_check.asked_bot import BotFailedError, asked_bot
from happycity_check.recorded_match import RecordedMatch
from happycity_client import Bot, Decision, GameStarted
from happycity_runtime.child import Child
from happycity_tournament.proof.commitment import bots_digest

ANSWER_SECONDS = 120.0
"""How long a hosted bot may take to start, and to choose a move, when it is asked again."""
HostedCommand = Callable[[str], Sequence[str]]
"""Returns what runs a hosted bot in the sandbox, by the name of a folder for what it prints."""


def check_programs(programs: Mapping[str, str]) -> dict[str, str]:
    """Return the reference bots of programs, by name; ConfigError for another version."""
    for name, program in programs.items():
        if program.partition(" ")[2] != bots_digest():
            raise ConfigError(f"--sample: {name} was played by another version of this project; leave it out")
    return {name: program.partition(" ")[0] for name, program in programs.items()}


def check_choices(
    record: Json,
    seeds: tuple[int, ...],
    played_by: Mapping[str, str | None],
    hosted: Mapping[str, HostedCommand],
    *,
    skipped: Collection[int],
) -> None:
    """Ask the bots of a game again what they choose in each of its positions, which has their seeds by seat.

    Reference bots are asked for the names under which they played, and `hosted` bots, each seat by a program
    of its own, without a clock. Decisions that are `skipped`, by their numbers from 1, were settled by the
    fallback.

    Raises:
        ReplayError: a bot chooses another move.
        ConfigError: a hosted bot fails, or chooses another move each time, so that it can't be compared.
    """
    game, config, bots = Game(deal_of(record)), config_of(record), dict[int, tuple[str, Bot]]()
    asked = dict[int, list[int]]()
    for seat, name in enumerate(record["bots"]):
        if (builtin := played_by.get(name)) in happycity_bots.BOTS:
            start = GameStarted(match_id=0, config=config, seat=seat, bots=record["bots"], seed=seeds[seat])
            bots[seat] = builtin, happycity_bots.BOTS[builtin](start)
        elif name in hosted:
            asked[seat] = []
    for number, entry in enumerate(record["moves"], start=1):
        if game.seat in bots:
            builtin, bot = bots[game.seat]
            move = bot.choose(Decision.of(game))
            if number not in skipped and move != Move.parse(entry["move"]):
                raise ReplayError(f"move {number}: {builtin} plays {move}, not {entry['move']}")
        elif game.seat in asked and number not in skipped:
            asked[game.seat].append(number)
        game.apply(Move.parse(entry["move"]))
    for seat, decisions in asked.items():
        name = record["bots"][seat]
        match = RecordedMatch(1, record, bots=record["bots"], seat=seat, bot_seed=seeds[seat])
        expected = {number: Move.parse(record["moves"][number - 1]["move"]) for number in decisions}
        _check_hosted(name, hosted[name], match, expected)


def _check_hosted(
    name: str, command: HostedCommand, match: RecordedMatch, expected: Mapping[int, Move]
) -> None:
    """Ask a hosted bot its decisions in a match again; errors are those of `check_choices`."""
    chosen = asyncio.run(_choices(name, command, match, expected))
    if (number := next((each for each in expected if chosen[each] != expected[each]), None)) is None:
        return
    # All decisions: two moves by chance are easily the same, but not those of a game.
    if asyncio.run(_choices(name, command, match, expected)) != chosen:
        raise ConfigError(
            f"--sample: {name} doesn't play the same each time that it is asked (move {number}: "
            f"{chosen[number]}), so its moves can't be compared; remove its file"
        )
    raise ReplayError(f"move {number}: {name} plays {chosen[number]}, not {expected[number]}")


async def _choices(
    name: str, command: HostedCommand, match: RecordedMatch, numbers: Collection[int]
) -> dict[int, Move]:
    """Return what a hosted bot chooses in the decisions with these numbers."""
    with TemporaryDirectory(prefix="happycity-") as folder:

        def start(environment: Mapping[str, str]) -> Child:
            return Child.start(command(f"asked-{os.getpid()}"), environment=environment)

        listen = f"unix:{folder}/own"
        try:
            started = match.started()
            async with asked_bot(
                start, name=name, started=started, listen=listen, seconds=ANSWER_SECONDS
            ) as bot:
                asked = pairwise((0, *numbers))
                decisions = {number: match.decision(number, after=last) for last, number in asked}
                return {number: (await bot.choose(one))[0] for number, one in decisions.items()}
        except BotFailedError as error:
            raise ConfigError(f"--sample: {name} can't be asked here: {error}; remove its file") from None
