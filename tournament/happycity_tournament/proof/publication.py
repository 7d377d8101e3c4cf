"""Published tournaments: a folder of games and results, and the check that recomputes all of it."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

from google.protobuf.json_format import MessageToJson, Parse, ParseError

from happycity import ConfigError, HappyCityError, ReplayError
from happycity.hosting.v1beta1.hosting_service_pb2 import SubmitRequest
from happycity.match import one_line
from happycity.records.record import Json, loads
from happycity.runtime.files import replacing
from happycity.runtime.parallel import in_processes
from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import LARGEST_ID, LATEST, FinishedGame, Result, place_in_words
from happycity_tournament.hosted.submissions import Submissions
from happycity_tournament.luck_adjusted import check_luck
from happycity_tournament.play.progress import TournamentStatus, check_evaluator
from happycity_tournament.play.snapshot import final_ratings
from happycity_tournament.proof.choices import HostedCommand, check_choices, check_programs
from happycity_tournament.proof.commitment import Commitment, canonical, engine_digest
from happycity_tournament.recorded_games import RecordedGame, named_record, replayed_game
from happycity_tournament.schedule import game_seeds, schedule_of
from happycity_tournament.standings.counted import CountingRules, Uncounted
from happycity_tournament.standings.rated_games import judged_games
from happycity_tournament.storage.sources import Source
from happycity_tournament.visibility import Sight, Viewer, sight_of_tournament

RESULT_FILE = "tournament.json"
GAMES_FILE = "games.jsonl.gz"
MAX_RESULT = 16 * 2**20
"""Maximum size of the file of results, in bytes."""
MAX_LINE = 2**20
"""Maximum length of a game, in bytes; a usual one has 7,000."""
ACT_KINDS = ("suspend", "restore", "void", "rename", "delete")
Shape = Mapping[str, Sequence[type | None]]
"""The keys of an entry, each with the types that its value may have."""
_ACT: Shape = {
    **dict.fromkeys(("id", "deals"), (int,)),
    **dict.fromkeys(("organiser", "kind", "text"), (str,)),
    "at": (float, int),
    "bot": (str, None),
}
_CHUNK = 50  # games that a process replays at once
_ID = 1


class VerificationError(ReplayError):
    """A published tournament is not what its commitment, its schedule or the rules make of it."""


class Published(NamedTuple):
    """What was published or found true."""

    games: int
    commitment: str
    seed_hash: str
    chain: str
    """The end of the chain of hashes over all games and acts."""

    @classmethod
    def of(cls, content: Json) -> Self:
        """Return what a file of results says."""
        return cls(content["games"], content["hash"], content["commitment"]["seed_hash"], content["chain"])


Recompute = Callable[[Json, Path, int], Json]
"""Returns what has to be in a file of results, by what can't be computed and the games in the same folder.

The former is the commitment with its secret, and the audit log. The number is that of processes which replay
games. A VerificationError says what is wrong.
"""


def publish(
    source: Source,
    commitment: Commitment,
    folder: Path,
    *,
    processes: int,
    acts: Sequence[Json] = (),
    hosted: Mapping[str, Iterable[SubmitRequest]] | None = None,
) -> Published:
    """Write a finished tournament with its secret into a folder; games after the end of a test are left out.

    Args:
        source: the tournament.
        commitment: what was committed to before its first game.
        folder: a new one.
        processes: how many replay games.
        acts: the audit log: what organisers did to the tournament's bots, oldest first, each with its `id`.
        hosted: by name, the submissions of hosted bots whose authors agree that they become public too.

    Raises:
        ConfigError: it is not finished, or not the tournament of the commitment, or a submission is another.
        VerificationError: its games are not those of its schedule, or contradict the rules.
    """
    (stored,) = source.tournaments()
    if sight_of_tournament(Viewer.PUBLIC, stored.state) is not Sight.ALL:
        raise ConfigError(f"{source.name}: it is {stored.state.value}; only a finished one can be published")
    if TournamentConfig.of(stored.config) != commitment.deals:
        raise ConfigError(f"{source.name}: its configuration is not the one that was committed to")
    games = judged_games(source, CountingRules([stored]), with_records=True)
    played = ((game, record) for game, record, reason in games if reason is not Uncounted.DECIDED)
    lines = map(game_line, played)
    known = {**commitment.json(), "acts": list(acts)}
    with TemporaryDirectory(prefix="happycity-") as name:
        copies = Submissions(Path(name))
        for bot, parts in (hosted or {}).items():
            copies.copy(bot, commitment.deals.hosted_bots[bot], iter(parts))
        published = publish_folder(folder, RESULT_FILE, lines, known, _recompute, processes=processes)
        for copy in copies:
            parts = copies.parts(copy)
            written = (f"{MessageToJson(part, indent=None)}\n".encode() for part in parts)
            write_lines(folder / hosted_file(copy.digest), written)
    return published


def hosted_file(digest: str) -> str:
    """Return the name of the file with a submission, of which each line is a part of it as JSON."""
    return f"{digest}.jsonl.gz"


def publish_folder(
    folder: Path, file: str, lines: Iterable[bytes], known: Json, recompute: Recompute, *, processes: int
) -> Published:
    """Write games and the file of results that follows from them, and from what is known besides."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigError(f"{folder}: it is not empty; name a new folder")
    write_lines(folder / GAMES_FILE, lines)
    content = recompute(known, folder, processes)
    check_same(file, known, {key: content[key] for key in known})
    with replacing(folder / file) as path:
        path.write_bytes(canonical(content) + b"\n")
    return Published.of(content)


def verify(
    folder: Path,
    *,
    processes: int,
    noted: str | None = None,
    sample: int = 0,
    rng: random.Random | None = None,
) -> Published:
    """Recompute a published tournament.

    Args:
        folder: where it is.
        processes: how many replay games.
        noted: a hash that was noted before: of the commitment, of seed and salt, or the end of the chain.
        sample: in how many games the reference bots are asked again what they choose, and in the sandbox
            those hosted bots whose files are there.
        rng: which games these are; others can't foresee them.

    Raises:
        ConfigError: it is not the folder of a published tournament, or has no bots for a sample that can be
            asked here.
        VerificationError: something in it is not what it has to be.
    """
    verified, content = verify_folder(folder, RESULT_FILE, _recompute, processes=processes, noted=noted)
    commitment = Commitment.of(content)
    with TemporaryDirectory(prefix="happycity-") as name:
        copies = _copies(folder, commitment.deals.hosted_bots, Path(name))
        if sample:
            played_by, hosted = check_programs(commitment.programs), _commands(copies)
            if not played_by and not hosted:
                text = "the organiser started no bot of this project, and there are no files of hosted bots"
                raise ConfigError(f"--sample: {text}; leave it out")
            games = range(verified.games)
            chosen = (rng or random.SystemRandom()).sample(games, min(sample, verified.games))
            seed = commitment.deals.seed
            check_sample(folder, played_by, chosen, seed, processes=processes, hosted=hosted)
    return verified


def _copies(folder: Path, digests: Mapping[str, str], place: Path) -> Submissions:
    """Copy to a place the submissions that were published; a VerificationError names a file that changed."""
    copies = Submissions(place)
    for bot, digest in digests.items():
        path = folder / hosted_file(digest)
        if not path.exists():
            continue
        try:
            copies.copy(bot, digest, (Parse(line, SubmitRequest()) for line in read_lines(path)))
        except (ConfigError, ParseError) as error:
            raise VerificationError(f"{path.name[:12]}...: {one_line(str(error))}") from None
    return copies


def _commands(copies: Submissions) -> dict[str, HostedCommand]:
    """Return what runs submissions, by bot; ConfigError if there are any and the sandbox can't be used."""
    if not (found := list(copies)):
        return {}
    # It needs Linux, which publications don't.
    from happycity_tournament.hosted.sandbox import BWRAP, MEMORY_BYTES, Sandbox  # noqa: PLC0415

    sandbox = Sandbox(BWRAP, copies.folder, memory=MEMORY_BYTES)
    return {one.bot.name: partial(sandbox.command, one.bot, copies.place(one)) for one in found}


def verify_folder(
    folder: Path, file: str, recompute: Recompute, *, processes: int, noted: str | None
) -> tuple[Published, Json]:
    """Check that a folder's file of results is what is recomputed; return it as it is, too."""
    content = read_result(folder / file)
    try:
        commitment = Commitment.of(content)
    except ConfigError as error:
        raise VerificationError(f"{file}: {error}") from None
    if commitment.engine != engine_digest():
        raise VerificationError(
            f"{file}: engine: it was played by another version of the rules; verify it with that one"
        )
    hosted = commitment.config.get("hosted_bots")  # not checked yet
    own = {file, GAMES_FILE, *(map(hosted_file, hosted.values()) if isinstance(hosted, dict) else ())}
    if strangers := {path.name for path in islice(folder.iterdir(), len(own) + 10)} - own:
        raise VerificationError(f"{min(strangers)!a}: this file doesn't belong to what is published")
    if noted is not None and noted not in (commitment.hash, commitment.seed_hash, content.get("chain")):
        raise VerificationError(f"--noted: {noted[:80]!a} is none of its hashes")
    check_same(file, content, recompute(content, folder, processes))
    return Published.of(content), content


def check_same(file: str, content: Json, recomputed: Json) -> None:
    """Raise a VerificationError that names the first key of a file that is not what was recomputed."""
    for key in [*recomputed, *content]:
        if (
            key not in content
            or key not in recomputed
            or canonical(content[key]) != canonical(recomputed[key])
        ):
            raise VerificationError(f"{file}: {_difference(key, content, recomputed)}")


def _difference(key: str, content: Json, recomputed: Json) -> str:
    """Return what differs under a key, for lists of bots with the first line that does."""
    if key not in recomputed:
        return f"{key[:80]!a}: there is no such key in what is published"
    found, expected = content.get(key), recomputed[key]
    if isinstance(found, list) and isinstance(expected, list):
        for number, line in enumerate(expected):
            if number >= len(found) or canonical(found[number]) != canonical(line):
                return f"{key}: the line of {line['bot']} is not what the games give"
    return f"{key}: it is not what the games give"


def read_result(path: Path) -> Json:
    """Read a file of results; a ConfigError if there is none, a VerificationError if it was changed."""
    if not path.is_file():
        raise ConfigError(f"{path}: there is no such file; name the folder of what was published")
    with path.open("rb") as file:
        data = file.read(MAX_RESULT + 1)
    if len(data) > MAX_RESULT:
        raise VerificationError(f"{path.name}: it has more than {MAX_RESULT} bytes")
    try:
        content = json.loads(data)
        if isinstance(content, dict) and canonical(content) + b"\n" == data:
            return content
    except (ValueError, RecursionError):
        pass
    raise VerificationError(f"{path.name}: it was changed: it is not JSON as it is published")


def game_line(recorded: RecordedGame) -> bytes:
    """Return a stored game as a line; ConfigError if its record wasn't kept."""
    game, record = recorded
    seeds, published = game.bot_seeds, published_record(game, record)
    return canonical({"position": game.position, "bot_seeds": seeds, "record": published}) + b"\n"


def published_record(game: FinishedGame, record: str | None) -> Json:
    """Return the record of a game with its bots; ConfigError if it wasn't kept."""
    if record is None:
        raise ConfigError(f"game {game.match_id}: its record was not kept, so it can't be published")
    content: Json = loads(named_record(game.bots, record))
    return content


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file of lines, packed; it is there when all of it is."""
    with (
        replacing(path) as partial_path,
        partial_path.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as file,
    ):
        file.writelines(lines)


class Recount(NamedTuple):
    """What the file of games shows once each game was replayed and found in the schedule."""

    status: TournamentStatus
    results: list[Result]
    chain: str
    """The end of the chain of hashes over all games."""


def recount(config: TournamentConfig, folder: Path, *, first: str, processes: int) -> Recount:
    """Replay and count the games of a folder, which have to be those of the tournament `config`.

    The chain of hashes begins with `first`. A VerificationError names the first game that is wrong.
    """
    chain = Chain(first)
    lines = chain.over(read_lines(folder / GAMES_FILE))
    status = TournamentStatus(_ID, config, schedule_of(config), 0.0)
    try:
        check_evaluator(config)
    except ConfigError as error:
        raise VerificationError(str(error)) from None
    results = _scheduled(status, in_processes(_replay_line, lines, processes=processes, chunk=_CHUNK))
    status.standings.flush()
    return Recount(status, results, chain.head)


def _recompute(known: Json, folder: Path, processes: int) -> Json:
    """Return what has to be in the file of results of a tournament."""
    commitment = Commitment.of(known)
    config, acts = commitment.deals, known.get("acts")
    check_acts(RESULT_FILE, acts, config.bots)
    status, results, chain = recount(config, folder, first=commitment.hash, processes=processes)
    ratings = final_ratings(status)
    return {
        **commitment.json(),
        "format": "happycity-publication/2",
        **games_and_chain(folder, len(results), chain, acts),
        "acts": acts,
        "ratings": [] if ratings is None else [plain(asdict(line)) for line in ratings.lines],
        "table": [plain(asdict(line)) for line in status.standings.lines()],
    }


def games_and_chain(folder: Path, games: int, chain: str, *others: object) -> Json:
    """Return what each file of results says of its games, and the end of their chain and of `others`."""
    end = Chain(chain)
    for _ in end.over(map(canonical, others)):
        pass
    with (folder / GAMES_FILE).open("rb") as file:
        packed = hashlib.file_digest(file, "sha256").hexdigest()
    return {"games": games, "games_sha256": packed, "chain": end.head}


def check_acts(file: str, acts: object, bots: Collection[str]) -> None:
    """Raise a VerificationError unless acts are a log in the order of time that concerns some bots."""
    last = 0
    for act in acts if isinstance(acts, list) else [{}]:
        number = act.get("id") if isinstance(act, dict) else None
        if not isinstance(act, dict) or type(number) is not int or not last < number <= LARGEST_ID:
            raise VerificationError(f"{file}: acts: they are not in the order of time after act {last}")
        last = number
        try:
            check_entry(act, _ACT)
        except ValueError as error:
            raise VerificationError(f"{file}: acts: act {last}: {error}") from None
        if act["kind"] not in ACT_KINDS:
            raise VerificationError(f"{file}: acts: act {last}: kind: there is no such act")
        if act["bot"] not in (None, *bots):
            raise VerificationError(f"{file}: acts: act {last} is not to a bot that played")


def check_entry(entry: Json, shape: Shape) -> None:
    """Raise a ValueError unless an entry has these keys, with values of these types that can be.

    Those are lines of text, whole numbers that a store can have, moments, and lists of such numbers.
    """
    if different := set(entry) ^ set(shape):
        raise ValueError(f"{min(different)!a:.60}: a key is unknown, or missing")
    for name, types in shape.items():
        if not _can_be(entry[name], types):
            raise ValueError(f"{name}: it can't be {entry[name]!a:.60}")


def _can_be(value: object, types: Sequence[type | None]) -> bool:
    match value:
        case str():
            is_sound = value == one_line(value)
        case list():
            is_sound = all(_can_be(one, (int,)) for one in value)
        case float():
            is_sound = 0 <= value <= LATEST
        case int():
            is_sound = 0 <= value <= LARGEST_ID
        case _:
            is_sound = value is None
    return is_sound and (None if value is None else type(value)) in types


def check_sample(
    folder: Path,
    played_by: Mapping[str, str | None],
    games: Collection[int],
    seed: int,
    *,
    processes: int,
    hosted: Mapping[str, HostedCommand] | None = None,
) -> None:
    """Ask bots again what they choose in the games of a tournament at some places of its file."""
    chosen = set(games)
    lines = (line for place, line in enumerate(read_lines(folder / GAMES_FILE)) if place in chosen)
    ask = partial(_ask_again, played_by=played_by, seed=seed, hosted=hosted or {})
    for _ in in_processes(ask, lines, processes=processes, chunk=4):
        pass


def _ask_again(
    line: bytes, *, played_by: Mapping[str, str | None], seed: int, hosted: Mapping[str, HostedCommand]
) -> None:
    content = json.loads(line)
    number, table, _ = content["position"]
    record = content["record"]
    seeds = content["bot_seeds"] or game_seeds(seed, number, table, bots=record["bots"])
    try:
        check_choices(record, seeds, played_by, hosted)
    except ReplayError as error:
        where = f"{GAMES_FILE}: {place_in_words(tuple(content['position']))}"
        raise VerificationError(f"{where}: {error}") from None


class Chain:
    """The chain of hashes: each is the SHA-256 of the one before, as digits, and a line."""

    def __init__(self, first: str) -> None:
        self.head = first

    def over(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield lines, each after it was added."""
        for line in lines:
            self.head = hashlib.sha256(self.head.encode() + line).hexdigest()
            yield line


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a packed file; a VerificationError says what keeps it from being read."""
    if not path.is_file():
        raise VerificationError(f"{path.name}: it is missing")
    try:
        with gzip.open(path) as file:
            while line := file.readline(MAX_LINE + 1):
                if len(line) > MAX_LINE:
                    raise VerificationError(f"{path.name}: a line has more than {MAX_LINE} bytes")
                yield line
    except (OSError, EOFError, zlib.error):
        raise VerificationError(f"{path.name}: a byte of it was changed: it can't be unpacked") from None


def _replay_line(line: bytes) -> FinishedGame:
    with reading_line(line, {"position", "bot_seeds", "record"}) as read:
        position = tuple(read.content["position"])
        if [type(number) for number in position] != [int, int, int] or max(position) > LARGEST_ID:
            raise ValueError("not a position")
        if type(read.content["bot_seeds"]) is not list:
            raise ValueError("not seeds")
        read.where = place_in_words(position)
        game = replayed(read.content["record"])
        seeds = tuple(read.content["bot_seeds"])
    return replace(game, position=position, tournament_id=_ID, bot_seeds=seeds)


@dataclass(slots=True)
class PublishedLine:
    """A line of a file of games while it is read."""

    content: Json
    where: str
    """Where it is, for people."""


@contextmanager
def reading_line(line: bytes, keys: Collection[str], where: str = "a game") -> Iterator[PublishedLine]:
    """Yield a line with these keys; what is wrong in it is a VerificationError that says where."""
    read = PublishedLine({}, where)
    try:
        read.content = json.loads(line)
        if canonical(read.content) + b"\n" != line or read.content.keys() != keys:
            raise ValueError("not as it is published")
        yield read
    except HappyCityError as error:
        raise VerificationError(f"{GAMES_FILE}: {read.where}: {error!s:.300}") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise VerificationError(f"{GAMES_FILE}: {read.where}: malformed line") from None


def replayed(record: Json) -> FinishedGame:
    """Return a game whose record agrees with the rules and the seed of its deal; else a HappyCityError."""
    game = replayed_game(record, number=_ID)
    if game.recorded_luck:
        check_luck(record)
    return game


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
            status.standings.add_settled([game.result])
            results.append(game.result)
            game = next(games, None)
        if schedule.decided and game is None:
            break
    if game is not None:
        raise VerificationError(f"{GAMES_FILE}: {_place_of(game)} was added")
    return results


def _place_of(game: FinishedGame) -> str:
    return place_in_words(game.position or (0, 0, 0))


def plain(value: Any) -> Any:
    """Return a value as JSON has it, numbers with the four decimals that commands print."""
    match value:
        case float():
            return round(value, 4)
        case dict():
            return {str(getattr(key, "value", key)): plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case _:
            return getattr(value, "value", value)
