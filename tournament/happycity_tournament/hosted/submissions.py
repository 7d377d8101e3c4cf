"""Submitted programs in a folder, each by the digest of its content, with what became of it.

No archive is ever unpacked. Files come one by one, so there are no links, devices or compressed bytes among
them, and each is created by a path that was checked, in a new folder that has nothing but such files.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import IO, Any

from google.protobuf.json_format import MessageToJson, Parse, ParseError

from happycity.errors import ConfigError
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity.match import one_line
from happycity.wire.enums import enum_field
from happycity.wire.fields import present_fields, to_message
from happycity.wire.match import duration_message, seconds_of
from happycity_runtime.files import replacing

MAX_BYTES = 64 * 1024 * 1024
"""The most bytes of all files of a program."""
MAX_FILES = 2000
MAX_PATH = 200
"""Characters of a path."""
MAX_DEPTH = 12
MAX_VERSIONS = 100
"""Versions of a bot that are kept, rejected ones not counted."""
FREE_BYTES = 1 << 30
"""What must stay free on the disk after an upload."""
CHUNK_BYTES = 256 * 1024
"""The most bytes of content in a part."""
VERSION_DIGITS = 12
"""Digits of the digest that the ladder shows as the version."""
_INCOMING = "incoming-"


class SubmissionState(Enum):
    """Where a submission stands."""

    TRYING = "trying"
    """It waits for its trial, or is being tried."""
    REJECTED = "rejected"
    """Its trial failed, or a newer one of the bot came before that."""
    PLAYING = "playing"
    RETIRED = "retired"
    """It was replaced by a newer one, or withdrawn."""


_FIELDS = ("bot", "digest", "owner", "files", "bytes", "result")
"""Fields that submissions and their messages have by the same names."""
HostedBot = pb.HostedBot
"""What a submission is besides its files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a program has used."""

    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return the usage of both, one after the other."""
        peak = max(self.peak_memory_bytes, other.peak_memory_bytes)
        return Usage(cpu_seconds=self.cpu_seconds + other.cpu_seconds, peak_memory_bytes=peak)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A program that was submitted, and where it stands."""

    bot: HostedBot
    digest: str
    """SHA-256 of its content, in hexadecimal."""
    owner: str
    created_at: datetime
    files: int
    bytes: int
    """How many files it has, and their size."""
    state: SubmissionState = SubmissionState.TRYING
    result: tuple[str, ...] = ()
    """What the trial found, in lines for people."""
    usage: Usage = Usage()
    """What it has used next to workers."""

    def message(self, usage: Usage | None = None, log_end: str = "") -> pb.Submission:
        """Write the submission, with all that it has used if that is known, and the end of its log."""
        used = usage or self.usage
        return to_message(
            pb.Submission,
            self,
            *("state", *_FIELDS),
            create_time=self.created_at,
            log_end=log_end,
            cpu_time=duration_message(used.cpu_seconds),
            peak_memory_bytes=used.peak_memory_bytes,
        )

    @classmethod
    def of(cls, message: pb.Submission) -> Submission:
        """Read a submission; ConfigError if its state is unknown."""
        return cls(
            created_at=message.create_time.ToDatetime(UTC),
            state=enum_field(message, "state", SubmissionState),
            usage=usage_in(message),
            **present_fields(message, *_FIELDS),
        )


def usage_in(message: pb.Submission) -> Usage:
    """Read what a submission has used."""
    return Usage(cpu_seconds=seconds_of(message.cpu_time), peak_memory_bytes=message.peak_memory_bytes)


def checked_path(text: str) -> Path:
    """Return the path of a file below its folder; ConfigError if it can't be one, or leads out of it."""
    parts = text.split("/")
    if len(text) > MAX_PATH or len(parts) > MAX_DEPTH:
        raise ConfigError(f"{text[:80]!r} is longer than {MAX_PATH} characters or {MAX_DEPTH} folders")
    if any(not part or part in (".", "..") or part != part.strip() for part in parts):
        raise ConfigError(f"{text!r} is not a path below the folder, such as data/weights.npz")
    if "\\" in text or ":" in text or text != one_line(text) or not text.isprintable():
        raise ConfigError(f"{text!r} has a character that can't be in a file's name here")
    return Path(*parts)


class Upload:
    """A program while its files come, into a folder that has nothing else."""

    def __init__(self, parent: Path, bot: HostedBot) -> None:
        self.bot = bot
        self.file_count = self.size = 0
        """How many files have come, and their bytes."""
        self.kept: Submission | None = None
        """What was kept of it; None while it comes, and if the program was there already."""
        self._folder = TemporaryDirectory(prefix=_INCOMING, dir=parent, ignore_cleanup_errors=True)
        self.files = Path(self._folder.name) / "files"
        self.files.mkdir()
        self._current: IO[bytes] | None = None
        self._turn = threading.Lock()  # a thread may still take a part of an upload that is given up
        self._closed = False

    def take(self, part: pb.SubmissionPart) -> None:
        """Take the next part of the program; ConfigError if it can't be taken."""
        with self._turn:
            match part.WhichOneof("part"):
                case _ if self._closed:
                    return
                case "file":
                    self._begin(part.file.path, executable=part.file.executable)
                case "content":
                    self._add(part.content)
                case _:
                    raise ConfigError("only the first message says what is submitted; files follow")

    def _begin(self, text: str, *, executable: bool) -> None:
        target = self.files / checked_path(text)
        self.end_file()
        self.file_count += 1
        if self.file_count > MAX_FILES:
            raise ConfigError(f"there are more than {MAX_FILES} files")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._current = target.open("xb")
            target.chmod(0o755 if executable else 0o644)
        except OSError as error:  # such as two files of one path, or a file that is a folder too
            raise ConfigError(f"{text!r} can't be created: {error.strerror}") from None

    def _add(self, content: bytes) -> None:
        if self._current is None:
            raise ConfigError("content comes before a file")
        self.size += len(content)
        if self.size > MAX_BYTES:
            raise ConfigError(f"the files have more than {MAX_BYTES >> 20} MB")
        self._current.write(content)

    def end_file(self) -> None:
        """Close the file that began last."""
        if self._current is not None:
            self._current.close()
            self._current = None

    def close(self) -> None:
        """Remove what was not kept; it takes long if there are many files."""
        with self._turn:
            self._closed = True
            self.end_file()
            self._folder.cleanup()


def digest_of(bot: HostedBot, folder: Path) -> str:
    """Return the SHA-256 over what a program is, and the paths, rights and contents of its files, as JSON."""
    files = []
    for path in files_below(folder):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        files.append((path.relative_to(folder).as_posix(), _is_executable(path), content))
    whole = [bot.name, bot.command, bot.language, bot.image, files]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def _is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)  # os.access would ask whether it is so on this file system


def files_below(folder: Path) -> list[Path]:
    """Return the files of a program in the order of their paths."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def parts_of(bot: HostedBot, folder: Path, files: Iterable[Path]) -> Iterator[pb.SubmissionPart]:
    """Yield a program with files of a folder part by part, as `Upload` takes it."""
    yield pb.SubmissionPart(bot=bot)
    for path in files:
        name = path.relative_to(folder).as_posix()
        yield pb.SubmissionPart(file=pb.HostedFile(path=name, executable=_is_executable(path)))
        with path.open("rb") as file:
            while content := file.read(CHUNK_BYTES):
                yield pb.SubmissionPart(content=content)


class Submissions:
    """All programs in a folder, which it creates: those submitted to a server, or copies of some of them."""

    def __init__(self, folder: Path) -> None:
        """Read the folder; ConfigError if it can't be used."""
        self.folder = folder.resolve()
        self._known: defaultdict[str, dict[str, Submission]] = defaultdict(dict)
        """By bot and digest."""
        self._changing, self._saving = Lock(), Lock()  # a change doesn't wait for the disk
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for left in self.folder.glob(f"{_INCOMING}*"):
                shutil.rmtree(left)
            for file in self.folder.glob("bot.*/*/submission.json"):
                submission = Submission.of(Parse(file.read_bytes(), pb.Submission()))
                self._known[submission.bot.name][submission.digest] = submission
        except (OSError, ParseError, ConfigError) as error:
            raise ConfigError(f"hosted bots: {folder} can't be used: {one_line(str(error))}") from None

    def __iter__(self) -> Iterator[Submission]:
        """Yield all, newest first."""
        every = chain.from_iterable(map(self._of, list(self._known)))
        yield from sorted(every, key=_creation, reverse=True)

    def _of(self, bot: str) -> list[Submission]:
        """Return the submissions of a bot; a copy, as threads keep new ones."""
        return list(self._known.get(bot, {}).values())

    def find(self, bot: str, digest: str = "") -> Submission | None:
        """Return a bot's newest submission whose digest begins so."""
        found = (one for one in self._of(bot) if one.digest.startswith(digest))
        return max(found, key=_creation, default=None)

    def playing(self, bot: str) -> Submission | None:
        """Return the submission of a bot that plays."""
        return next((one for one in self._of(bot) if one.state is SubmissionState.PLAYING), None)

    def place(self, submission: Submission) -> Path:
        """Return the folder of a submission: `files`, and `run` and `trial` with what the launcher stores."""
        return self.folder / f"bot.{submission.bot.name}" / submission.digest

    def upload(self, bot: HostedBot) -> Upload:
        """Return what takes a program, and is closed in the end.

        ConfigError if the disk or the bot has no room for it.
        """
        if shutil.disk_usage(self.folder).free < FREE_BYTES + MAX_BYTES:
            raise ConfigError("there is no room for it on the disk; tell the organiser")
        if sum(one.state is not SubmissionState.REJECTED for one in self._of(bot.name)) >= MAX_VERSIONS:
            raise ConfigError(f"{MAX_VERSIONS} versions of {bot.name} are kept, and no more are taken")
        return Upload(self.folder, bot)

    def parts(self, submission: Submission) -> Iterator[pb.SubmissionPart]:
        """Yield a program part by part, as `copy` takes it; OSError if its files can't be read."""
        files = self.place(submission) / "files"
        return parts_of(submission.bot, files, files_below(files))

    def copy(self, bot: str, digest: str, parts: Iterator[pb.SubmissionPart]) -> Submission:
        """Keep a copy of a program that was submitted elsewhere.

        Raises:
            ConfigError: it is not the program of that bot and digest, or can't be taken.
            OSError: it can't be written.
        """
        try:
            head = next(parts, pb.SubmissionPart()).bot
            if head.name != bot:
                raise ConfigError(f"it is a program of {one_line(head.name)[:80]!r}")
            with closing(self.upload(head)) as upload:
                for part in parts:
                    upload.take(part)
                return self.keep(upload, "", datetime.now(UTC), digest=digest)
        except ConfigError as error:
            raise ConfigError(f"{bot} {digest[:12]}: {error}") from None

    def keep(self, upload: Upload, owner: str, now: datetime, *, digest: str = "") -> Submission:
        """Keep a whole program to be tried; return the submission of before if that plays or is being tried.

        Raises:
            ConfigError: it has no files, or not the `digest` that it should have.
            OSError: it can't be written.
        """
        upload.end_file()
        if not upload.file_count and not upload.bot.image:
            raise ConfigError("there are no files")
        found = digest_of(upload.bot, upload.files)
        if digest not in ("", found):
            raise ConfigError(f"its content has the digest {found[:12]}, and not {digest[:12]}")
        known = self.find(upload.bot.name, found)
        if known is not None and known.state in (SubmissionState.PLAYING, SubmissionState.TRYING):
            return known
        submission = Submission(
            bot=upload.bot,
            digest=found,
            owner=owner,
            created_at=now.astimezone(UTC),
            files=upload.file_count,
            bytes=upload.size,
        )
        files = self.place(submission) / "files"
        for folder in (upload.files, *filter(Path.is_dir, upload.files.rglob("*"))):
            folder.chmod(0o755)  # a sandbox may run the bot as another user
        shutil.rmtree(files, ignore_errors=True)
        files.parent.mkdir(parents=True, exist_ok=True)
        upload.files.rename(files)
        with self._saving:
            self._write(submission)
        self._known[upload.bot.name][found] = upload.kept = submission
        return submission

    def change(self, submission: Submission, **fields: Any) -> Submission:
        """Change some fields of a submission and keep the others as they are now; `save` stores that."""
        with self._changing:
            of_bot = self._known[submission.bot.name]
            present = of_bot.get(submission.digest, submission)
            changed = of_bot[submission.digest] = replace(present, **fields)
        return changed

    def save(self, submission: Submission) -> None:
        """Store a submission as it is now, and remove the files of a rejected one; OSError if it can't be."""
        with self._saving:
            self._write(self._known[submission.bot.name][submission.digest])

    def _write(self, submission: Submission) -> None:
        with replacing(self.place(submission) / "submission.json") as partial:
            partial.write_text(MessageToJson(submission.message()), encoding="utf-8")
        if submission.state is SubmissionState.REJECTED:
            shutil.rmtree(self.place(submission) / "files", ignore_errors=True)

    def rename_owner(self, owner: str, new_owner: str | None) -> None:
        """Give an owner's submissions to another name; without one, remove those that don't play."""
        for one in [one for one in self if one.owner == owner]:
            if new_owner is not None:
                self.save(self.change(one, owner=new_owner))
            elif one.state in (SubmissionState.REJECTED, SubmissionState.RETIRED):
                self.remove(one)

    def remove(self, submission: Submission) -> None:
        """Remove a submission, which doesn't play any more."""
        shutil.rmtree(self.place(submission))
        del self._known[submission.bot.name][submission.digest]

    def usage(self, submission: Submission) -> Usage:
        """Return what a submission has used, on this machine and next to workers."""
        try:
            own = Usage(**json.loads((self.place(submission) / "run" / "usage.json").read_bytes()))
        except FileNotFoundError:
            return submission.usage
        return submission.usage + own

    def log_end(self, submission: Submission) -> str:
        """Return the end of what a submission printed last, since its trial or in it."""
        logs = [self.place(submission) / kind / "log.txt" for kind in ("run", "trial")]
        file = next(filter(Path.exists, logs), None)
        return "" if file is None else file.read_text(encoding="utf-8", errors="replace")

    def add_usage(self, reports: Iterable[pb.Submission]) -> None:
        """Add and store what workers report of submissions; OSError if that can't be stored."""
        for report in reports:
            if (known := self.find(report.bot.name, report.digest)) is not None:
                self.save(self.change(known, usage=known.usage + usage_in(report)))


def _creation(submission: Submission) -> datetime:
    return submission.created_at
