"""Published tournaments: a folder of games and results, and the check that recomputes all of it."""

# ruff: noqa: PLC0415 - verify does without what reads stores and asks bots

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from google.protobuf.json_format import MessageToJson, Parse, ParseError

from happycity.errors import ConfigError, ReplayError
from happycity.hosting.v1beta1.hosting_service_pb2 import SubmissionPart
from happycity.match import one_line
from happycity.records.record import Json
from happycity_runtime.parallel import in_processes
from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import FinishedGame, Result, place_in_words
from happycity_tournament.hosted.submissions import Submissions
from happycity_tournament.plain_json import plain_json
from happycity_tournament.play.progress import TournamentStatus, check_evaluator
from happycity_tournament.play.snapshot import final_ratings
from happycity_tournament.proof.commitment import Commitment, canonical
from happycity_tournament.proof.incidents import unanswered
from happycity_tournament.proof.publication import (
    GAMES_FILE,
    TOURNAMENT_ID,
    Chain,
    Publication,
    RecordCheck,
    VerificationError,
    check_acts,
    games_and_chain,
    hosted_file,
    published_record,
    read_lines,
    replayed_line,
    write_lines,
)
from happycity_tournament.recorded_games import RecordedGame
from happycity_tournament.schedule import game_seeds, schedule_of
from happycity_tournament.standings.counted import CountingRules, Uncounted
from happycity_tournament.visibility import Sight, Viewer, sight_of_tournament

if TYPE_CHECKING:
    from happycity_tournament.proof.choices import HostedCommand
    from happycity_tournament.storage.sources import Source

RESULT_FILE = "tournament.json"
_CHUNK = 50  # games that a process replays at once
_ALONE = 1000  # games that take less time than starting processes


def publish(
    source: Source,
    commitment: Commitment,
    folder: Path,
    *,
    processes: int,
    acts: Sequence[Json] = (),
    hosted: Mapping[str, Iterable[SubmissionPart]] | None = None,
) -> Json:
    """Write a finished tournament with its secret into a new folder, without games after the end of a test.

    `acts` are the audit log: what organisers did to its bots, oldest first, each with its `id`. `hosted` has
    by name the submissions of hosted bots whose authors agree that they become public too.

    Raises:
        ConfigError: it is not finished, or not the tournament of the commitment, or a submission is another.
        VerificationError: its games are not those of its schedule, or contradict the rules.
    """
    (stored,) = source.tournaments()
    if sight_of_tournament(Viewer.PUBLIC, stored.state) is not Sight.ALL:
        raise ConfigError(f"{source.name}: it is {stored.state.value}; only a finished one can be published")
    if TournamentConfig.of(stored.config) != commitment.deals:
        raise ConfigError(f"{source.name}: its configuration is not the one that was committed to")
    rules, games = CountingRules([stored]), source.games(with_records=True)
    lines = (game_line(one) for one in games if rules.reason(one[0]) is not Uncounted.AFTER_DECISION)
    known = {**commitment.json(), "acts": list(acts)}
    with TemporaryDirectory(prefix="happycity-") as name:
        copies = Submissions(Path(name))
        for bot, parts in (hosted or {}).items():
            copies.copy(bot, commitment.deals.hosted_bots[bot], iter(parts))
        published = TOURNAMENTS.publish(folder, lines, known, processes=processes)
        for copy in copies:
            parts = copies.parts(copy)
            written = (f"{MessageToJson(part, indent=None)}\n".encode() for part in parts)
            write_lines(folder / hosted_file(copy.digest), written)
    return published


def verify(
    folder: Path,
    *,
    processes: int,
    noted: str | None = None,
    sample: int = 0,
    rng: random.Random | None = None,
) -> Json:
    """Recompute a published tournament, and return its results; see `Publication.verify`.

    In `sample` games the reference bots are asked again what they choose, and in the sandbox those hosted
    bots whose files are there; `rng` draws the games, or others could foresee them.

    Raises:
        ConfigError: as there, or it has no bots for a sample that can be asked here.
    """
    content = TOURNAMENTS.verify(folder, processes=processes, noted=noted)
    commitment = Commitment.of(content)
    with TemporaryDirectory(prefix="happycity-") as name:
        copies = _copies(folder, commitment.deals.hosted_bots, Path(name))
        if sample:
            from happycity_tournament.proof.choices import check_programs

            played_by, hosted = check_programs(commitment.programs), _commands(copies)
            if not played_by and not hosted:
                text = "the organiser started no bot of this project, and there are no files of hosted bots"
                raise ConfigError(f"--sample: {text}; leave it out")
            games = range(content["games"])
            chosen = (rng or random.SystemRandom()).sample(games, min(sample, len(games)))
            check_sample(folder, played_by, chosen, commitment.deals, processes=processes, hosted=hosted)
    return content


def _copies(folder: Path, digests: Mapping[str, str], place: Path) -> Submissions:
    """Copy to a place the submissions that were published; a VerificationError names a file that changed."""
    copies = Submissions(place)
    for bot, digest in digests.items():
        path = folder / hosted_file(digest)
        if not path.exists():
            continue
        try:
            copies.copy(bot, digest, (Parse(line, SubmissionPart()) for line in read_lines(path)))
        except (ConfigError, ParseError) as error:
            raise VerificationError(f"{path.name[:12]}...: {one_line(str(error))}") from None
    return copies


def _commands(copies: Submissions) -> dict[str, HostedCommand]:
    """Return what runs submissions, by bot; ConfigError if there are any and the sandbox can't be used."""
    if not (found := list(copies)):
        return {}
    # It needs Linux, which publications don't.
    from happycity_tournament.hosted.sandbox import BWRAP, MEMORY_BYTES, Sandbox

    sandbox = Sandbox(BWRAP, copies.folder, memory=MEMORY_BYTES)
    return {one.bot.name: partial(sandbox.command, one.bot, copies.place(one)) for one in found}


def game_line(recorded: RecordedGame) -> bytes:
    """Return a stored game as a line; ConfigError if its record wasn't kept."""
    game, record = recorded
    seeds, published = game.bot_seeds, published_record(game, record)
    return canonical({"position": game.position, "bot_seeds": seeds, "record": published}) + b"\n"


def recount(
    config: TournamentConfig, folder: Path, *, first: str, processes: int, check: RecordCheck = unanswered
) -> tuple[TournamentStatus, list[Result], str]:
    """Replay and count the games of a folder, which have to be those of the tournament `config`.

    The chain of hashes begins with `first`, and its end is returned too. A VerificationError names the first
    game that is wrong, by the rules or by `check`.
    """
    chain = Chain(first)
    lines = chain.over(read_lines(folder / GAMES_FILE))
    status = TournamentStatus(TOURNAMENT_ID, config, schedule_of(config), 0.0)
    try:
        check_evaluator(config)
    except ConfigError as error:
        raise VerificationError(str(error)) from None
    replay = partial(replayed_line, config=config, check=check)
    games = in_processes(replay, lines, processes=processes, chunk=_CHUNK, alone=_ALONE)
    results = _scheduled(status, games)
    status.standings.count_held_back()
    return status, results, chain.head


def _recompute(known: Json, folder: Path, processes: int) -> Json:
    """Return what has to be in the file of results of a tournament."""
    commitment = Commitment.of(known)
    config, acts = commitment.deals, known.get("acts")
    check_acts(RESULT_FILE, acts, config.bots)
    status, results, chain = recount(config, folder, first=commitment.hash, processes=processes)
    ratings = final_ratings(status)
    return {
        **commitment.json(),
        "format": TOURNAMENTS.format,
        **games_and_chain(folder, len(results), chain, acts),
        "acts": acts,
        "ratings": [] if ratings is None else [plain_json(line) for line in ratings.lines],
        "table": [plain_json(line) for line in status.standings.lines()],
    }


TOURNAMENTS = Publication(RESULT_FILE, "happycity-publication/2", _recompute)


def check_sample(
    folder: Path,
    played_by: Mapping[str, str | None],
    games: Collection[int],
    config: TournamentConfig,
    *,
    processes: int,
    hosted: Mapping[str, HostedCommand] | None = None,
) -> None:
    """Ask bots again what they choose in the games of a tournament at some places of its file."""
    chosen = set(games)
    lines = (line for place, line in enumerate(read_lines(folder / GAMES_FILE)) if place in chosen)
    ask = partial(_ask_again, played_by=played_by, config=config, hosted=hosted or {})
    for _ in in_processes(ask, lines, processes=processes, chunk=4):
        pass


def _ask_again(
    line: bytes,
    *,
    played_by: Mapping[str, str | None],
    config: TournamentConfig,
    hosted: Mapping[str, HostedCommand],
) -> None:
    from happycity_tournament.proof.choices import check_choices

    content = json.loads(line)
    number, table, _ = content["position"]
    record = content["record"]
    seeds = content["bot_seeds"] or game_seeds(config.seed, number, table, bots=record["bots"])
    try:
        check_choices(record, seeds, played_by, hosted, skipped=unanswered(record, config))
    except ReplayError as error:
        where = f"{GAMES_FILE}: {place_in_words(tuple(content['position']))}"
        raise VerificationError(f"{where}: {error}") from None


def _scheduled(status: TournamentStatus, games: Iterator[FinishedGame]) -> list[Result]:
    """Count games, which have to be all those of the schedule, in its order."""
    schedule, results = status.schedule, list[Result]()
    game = next(games, None)
    for stage in schedule.stages():
        for fixture in stage:
            if game is None or game.position != fixture.position:
                if schedule.decided:  # games that were not begun when the test was decided
                    continue
                instead = f"; {_place_of(game)} is in its place" if game is not None else ""
                raise VerificationError(f"{GAMES_FILE}: {fixture.place} is missing{instead}")
            # Servers don't tell the seeds of bots, which follow from the tournament's.
            planned = fixture if game.bot_seeds else replace(fixture, bot_seeds=())
            if game.fixture != planned or game.config != status.config.game:
                raise VerificationError(
                    f"{GAMES_FILE}: {fixture.place}: its deal, bots, seeds or kind are not the schedule's"
                )
            schedule.add(game.result)
            status.standings.add_in_order([game.result])
            results.append(game.result)
            game = next(games, None)
        if schedule.decided and game is None:
            break
    if game is not None:
        raise VerificationError(f"{GAMES_FILE}: {_place_of(game)} was added")
    return results


def _place_of(game: FinishedGame) -> str:
    return place_in_words(game.position or (0, 0, 0))
