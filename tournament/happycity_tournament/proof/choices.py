"""Whether bots whose moves follow from their seeds have played what the record of a game says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import happycity_bots
from happycity import ConfigError, Ending, Game, Move, ReplayError
from happycity.records.record import Json
from happycity.records.replay import config_of, deal_of, endings_of, incidents_of
from happycity_client import Bot, Decision, GameStarted
from happycity_tournament.lineup import Lineup
from happycity_tournament.proof.commitment import sources_digest


def _bots_digest() -> str:
    return sources_digest(Path(happycity_bots.__file__).parent)


def programs_of(lineup: Lineup) -> dict[str, str]:
    """Return by name what the reference bots of a run are: `planner DIGEST`, that of all their sources."""
    return {name: f"{builtin} {_bots_digest()}" for name, builtin in lineup.reference_bots}


def check_programs(programs: Mapping[str, str]) -> dict[str, str]:
    """Return the reference bots of programs, by name; ConfigError for none, or for another version."""
    if not programs:
        raise ConfigError("--sample: the organiser started no bot of this project; leave it out")
    for name, program in programs.items():
        if program.partition(" ")[2] != _bots_digest():
            raise ConfigError(f"--sample: {name} was played by another version of this project; leave it out")
    return {name: program.partition(" ")[0] for name, program in programs.items()}


def check_choices(record: Json, seeds: tuple[int, ...], played_by: Mapping[str, str | None]) -> None:
    """Ask the reference bots of a game again what they choose in each of its positions.

    Args:
        record: the game, with the names of its bots.
        seeds: those of its bots, by seat.
        played_by: the reference bot that played under a name. Seats with a strike or forfeit are left out.

    Raises:
        ReplayError: a bot chooses another move.
    """
    game, config, bots = Game(deal_of(record)), config_of(record), dict[int, tuple[str, Bot]]()
    struck = {incident.seat for incident in incidents_of(record)}
    for seat, (name, ending) in enumerate(zip(record["bots"], endings_of(record), strict=True)):
        builtin = played_by.get(name)
        if builtin in happycity_bots.BOTS and ending is Ending.FINISHED and seat not in struck:
            start = GameStarted(match_id=0, config=config, seat=seat, bots=record["bots"], seed=seeds[seat])
            bots[seat] = builtin, happycity_bots.BOTS[builtin](start)
    for number, entry in enumerate(record["moves"], start=1):
        if game.seat in bots:
            builtin, bot = bots[game.seat]
            move = bot.choose(Decision.of(game))
            if move != Move.parse(entry["move"]):
                raise ReplayError(f"move {number}: {builtin} plays {move}, not {entry['move']}")
        game.apply(Move.parse(entry["move"]))
