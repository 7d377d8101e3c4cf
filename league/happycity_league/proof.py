"""The check that recomputes a league from a copy of its folder."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from happycity.errors import ConfigError
from happycity.records.record import Json
from happycity_league.cycles import RESULTS_FILE
from happycity_league.playing import tournaments_of
from happycity_league.results import gains_evaluator, gains_of, results_of
from happycity_league.state import AgentLeague, EditOutcome
from happycity_tournament.config import TournamentConfig
from happycity_tournament.hosted.submissions import Submissions, digest_of
from happycity_tournament.plain_json import plain_json
from happycity_tournament.proof.commitment import Commitment, canonical, rules_version
from happycity_tournament.proof.publication import VerificationError
from happycity_tournament.proof.tournament_proof import publish


class VerifiedLeague(NamedTuple):
    """A league in which all is true that this version can recompute."""

    results: Json
    unchecked: tuple[int, ...]
    """The cycles whose gains are without luck by an evaluator of another version."""


def verify(folder: Path, *, processes: int, noted: str | None = None) -> VerifiedLeague:
    """Recompute a league that is over.

    The files of all versions are those that were committed to, the games those of the schedules that follow
    from the seed, and replayed by the rules; ratings and gains follow from them. `noted` is a hash that was
    noted before: of the commitment, of seed and salt, or the head of the chain of any cycle.

    Raises:
        ConfigError: it is not the folder of a league that is over.
        VerificationError: something in it is not what it has to be.
    """
    league = AgentLeague.load(folder)
    if not league.is_over or not (folder / RESULTS_FILE).is_file():
        raise ConfigError(f"{folder}: it is not over; continue with: happycity league resume {folder}")
    commitment, stored = league.commitment, league.tables
    if commitment.engine != rules_version():
        raise VerificationError("engine: it was played by another version of the rules; use that one")
    if noted not in (None, commitment.hash, commitment.seed_hash, *(cycle.chain for cycle in league.cycles)):
        raise VerificationError(f"--noted: {str(noted)[:80]!a} is none of its hashes")
    submissions = Submissions(folder / "bots")
    digests = {one.bot.name: digest_of(one.bot, submissions.place(one) / "files") for one in submissions}
    if stored:
        with closing(league.games()) as source:
            source.check()
    ours = gains_evaluator()
    unchecked = tuple(one.number for one in league.cycles if one.gains and one.evaluator != ours)
    for cycle in league.cycles:
        passed = (edit for edit in cycle.edits.values() if edit.outcome is EditOutcome.ACCEPTED)
        if cycle.chain != league.link(cycle) or any(
            edit.digest != digests.get(edit.plays) for edit in passed
        ):
            raise VerificationError(f"cycle {cycle.number}: its versions are not those of its commitment")
        for config in tournaments_of(league, cycle, digests):
            if config.title not in stored:
                raise VerificationError(f"{config.title}: its games are missing")
            _replay(league, config, processes)
            del stored[config.title]
        if cycle.number in unchecked:
            continue
        if canonical(plain_json(gains_of(league, cycle))) != canonical(plain_json(cycle.gains)):
            raise VerificationError(f"cycle {cycle.number}: its gains are not what the games give")
    if stored:
        raise VerificationError(f"{min(stored)!a}: this tournament doesn't belong to the league")
    results = results_of(league)
    if canonical(results) + b"\n" != (folder / RESULTS_FILE).read_bytes():
        raise VerificationError(f"{RESULTS_FILE}: it is not what the games give")
    return VerifiedLeague(results, unchecked)


def _replay(league: AgentLeague, config: TournamentConfig, processes: int) -> None:
    """Replay the games of a tournament, which have to be all those of its schedule."""
    commitment = Commitment.to(config, salt=league.commitment.salt)
    with TemporaryDirectory(prefix="happycity-") as place, closing(league.games(config.title)) as source:
        try:
            publish(source, commitment, Path(place), processes=processes)
        except ConfigError as error:
            raise VerificationError(f"{config.title}: {error}") from None
