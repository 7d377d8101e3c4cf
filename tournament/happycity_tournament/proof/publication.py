"""A published folder: a file of games, and a file of results that anybody can recompute from them.

Tournaments, seasons of a ladder and benchmarks are published so: each has a file of results of its own, and
says what has to be in it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

import orjson

from happycity.errors import ConfigError, HappyCityError, ReplayError, other_format
from happycity.match import one_line
from happycity.records.record import Json
from happycity.wire.moments import LATEST
from happycity_runtime.files import replacing
from happycity_tournament.games import LARGEST_ID, FinishedGame, place_in_words
from happycity_tournament.proof.commitment import Commitment, canonical, rules_version
from happycity_tournament.proof.incidents import Conditions, with_fallback
from happycity_tournament.recorded_games import checked_positions, game_of_json, read_record

if TYPE_CHECKING:
    from happycity_tournament.config import TournamentConfig

GAMES_FILE = "games.jsonl.gz"
_LEVEL = 6  # with 9 it takes twice the time, and 3% less room
MAX_RESULT = 16 * 2**20
"""Maximum size of the file of results, in bytes."""
MAX_LINE = 2**20
"""Maximum length of a game, in bytes; a usual one has 7,000."""
TOURNAMENT_ID = 1
"""The id of a published tournament while it is recomputed."""
ACT_KINDS = ("suspend", "restore", "void", "rename", "delete")
RecordCheck = Callable[[Json, Conditions], Collection[int]]
"""Returns the decisions that the fallback settled, by the record of a game.

It raises a ReplayError if the record can't be of a game under these conditions, though the rules allow it.
"""
Shape = Mapping[str, Sequence[type | None]]
"""The keys of an entry, each with the types that its value may have."""
_ACT: Shape = {
    **dict.fromkeys(("id", "deals"), (int,)),
    **dict.fromkeys(("organiser", "kind", "text"), (str,)),
    "at": (float, int),
    "bot": (str, None),
}


class VerificationError(ReplayError):
    """What is published is not what its commitment, its schedule or the rules make of it."""


@dataclass(frozen=True, slots=True)
class Publication:
    """A kind of published folders."""

    file: str
    """The name of the file of results."""
    format: str
    """What this file has as its `format`: a version of its own for each kind."""
    recompute: Callable[[Json, Path, int], Json]
    """Returns what has to be in that file, by what can't be computed and the games in the same folder.

    The former are such as the commitment with its secret, and the audit log. The number is that of processes
    which replay games. A VerificationError says what is wrong.
    """

    def publish(self, folder: Path, lines: Iterable[bytes], known: Json, *, processes: int) -> Json:
        """Write games into a new folder, and what follows from them, as `write_results` does."""
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigError(f"{folder}: it is not empty; name a new folder")
        write_lines(folder / GAMES_FILE, lines)
        return self.write_results(folder, known, processes=processes)

    def write_results(self, folder: Path, known: Json, *, processes: int) -> Json:
        """Write what follows from the games of a folder, and from what is known besides; return it."""
        content = self.recompute(known, folder, processes)
        self._check_same(known, {key: content[key] for key in known})
        with replacing(folder / self.file) as path:
            path.write_bytes(canonical(content) + b"\n")
        return content

    def verify(self, folder: Path, *, processes: int, noted: str | None = None) -> Json:
        """Check a published folder with a commitment, and return its results.

        `noted` is a hash that was noted before: of the commitment, of seed and salt, or the end of the chain.

        Raises:
            ConfigError: it is not such a folder.
            VerificationError: something in it is not what it has to be.
        """
        content = self.read_results(folder)
        try:
            commitment = Commitment.of(content)
        except ConfigError as error:
            raise VerificationError(f"{self.file}: {error}") from None
        if commitment.engine != rules_version():
            raise VerificationError(
                f"{self.file}: engine: it was played by another version of the rules; verify it with that one"
            )
        hosted = commitment.config.get("hosted_bots")  # not checked yet
        own = {
            self.file,
            GAMES_FILE,
            *(map(hosted_file, hosted.values()) if isinstance(hosted, dict) else ()),
        }
        if strangers := {path.name for path in islice(folder.iterdir(), len(own) + 10)} - own:
            raise VerificationError(f"{min(strangers)!a}: this file doesn't belong to what is published")
        if noted is not None and noted not in (commitment.hash, commitment.seed_hash, content.get("chain")):
            raise VerificationError(f"--noted: {noted[:80]!a} is none of its hashes")
        self.check_results(content, folder, processes=processes)
        return content

    def read_results(self, folder: Path) -> Json:
        """Read the file of results; a ConfigError if there is none, a VerificationError if it was changed."""
        path = folder / self.file
        if not path.is_file():
            raise ConfigError(f"{path}: there is no such file; name the folder of what was published")
        with path.open("rb") as file:
            data = file.read(MAX_RESULT + 1)
        if len(data) > MAX_RESULT:
            raise VerificationError(f"{path.name}: it has more than {MAX_RESULT} bytes")
        try:
            content = json.loads(data)
            is_canonical = isinstance(content, dict) and canonical(content) + b"\n" == data
        except (ValueError, RecursionError):
            is_canonical = False
        if not is_canonical:
            raise VerificationError(f"{path.name}: it was changed: it is not JSON as it is published")
        if content.get("format") != self.format:
            raise VerificationError(f"{path.name}: {other_format(content.get('format'), self.format)}")
        return cast(Json, content)

    def check_results(self, content: Json, folder: Path, *, processes: int) -> None:
        """Raise a VerificationError that names what is not as the games of a folder give it."""
        self._check_same(content, self.recompute(content, folder, processes))

    def _check_same(self, content: Json, recomputed: Json) -> None:
        """Raise a VerificationError that names the first key that is not what was recomputed."""
        for key in [*recomputed, *content]:
            if key not in recomputed:
                problem = f"{key[:80]!a}: there is no such key in what is published"
            elif key in content and canonical(content[key]) == canonical(recomputed[key]):
                continue
            else:
                problem = f"{key}: {_difference(content.get(key), recomputed[key])}"
            raise VerificationError(f"{self.file}: {problem}")


def _difference(found: object, expected: object) -> str:
    """Return what differs; of lists of bots the first line that does."""
    if isinstance(found, list) and isinstance(expected, list):
        for number, line in enumerate(expected):
            if number >= len(found) or canonical(found[number]) != canonical(line):
                return f"the line of {line['bot']} is not what the games give"
    return "it is not what the games give"


def hosted_file(digest: str) -> str:
    """Return the name of the file with a submission, of which each line is a part of it as JSON."""
    return f"{digest}.jsonl.gz"


def published_record(game: FinishedGame, record: str | None) -> Json:
    """Return the record of a game with its bots; ConfigError if it wasn't kept."""
    if record is None:
        raise ConfigError(f"game {game.match_id}: its record was not kept, so it can't be published")
    return {"bots": list(game.bots), **read_record(record)}


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file of lines, packed; it is there when all of it is."""
    with (
        replacing(path) as partial_path,
        partial_path.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=_LEVEL) as file,
    ):
        file.writelines(lines)


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
        read.content = orjson.loads(line)
        if canonical(read.content) + b"\n" != line or read.content.keys() != keys:
            raise ValueError("not as it is published")
        yield read
    except HappyCityError as error:
        raise VerificationError(f"{GAMES_FILE}: {read.where}: {error!s:.300}") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise VerificationError(f"{GAMES_FILE}: {read.where}: malformed line") from None


def replayed(
    record: Json, config: Conditions | None = None, check: RecordCheck | None = None
) -> FinishedGame:
    """Return a game whose record agrees with the rules and the seed of its deal; else a HappyCityError.

    A game of a tournament or a ladder agrees with the `check` and the fallback of its configuration too.
    """
    game = game_of_json(record, number=1)
    positions = checked_positions(record, game)
    if config is not None and check is not None and (settled := check(record, config)):
        positions = with_fallback(positions, record, config.policy, settled)
    if game.recorded_luck:
        # It imports numpy, for which a process that replays other games would wait.
        from happycity_tournament.luck_adjusted import check_luck  # noqa: PLC0415

        check_luck(record, positions)
    deque(positions, maxlen=0)
    return game


def replayed_line(line: bytes, *, config: TournamentConfig, check: RecordCheck) -> FinishedGame:
    """Return the game of a line of a tournament, with its position and seeds; errors say where it is."""
    with reading_line(line, {"position", "bot_seeds", "record"}) as read:
        position = tuple(read.content["position"])
        if [type(number) for number in position] != [int, int, int] or max(position) > LARGEST_ID:
            raise ValueError("not a position")
        if type(read.content["bot_seeds"]) is not list:
            raise ValueError("not seeds")
        read.where = place_in_words(position)
        game = replayed(read.content["record"], config, check)
        seeds = tuple(read.content["bot_seeds"])
    return replace(game, position=position, tournament_id=TOURNAMENT_ID, bot_seeds=seeds)


class Chain:
    """The chain of hashes: each is the SHA-256 of the one before, as digits, and a line."""

    def __init__(self, first: str) -> None:
        self.head = first

    def over(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield lines, each after it was added."""
        for line in lines:
            self.head = hashlib.sha256(self.head.encode() + line).hexdigest()
            yield line


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
