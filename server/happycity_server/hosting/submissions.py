"""What participants have submitted, in a folder: each program by the digest of its content, with its result.

No archive is ever unpacked. Files come one by one, so there are no links, devices or compressed bytes among
them, and each is created by a path that was checked, in a new folder that has nothing but such files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from pathlib import Path
from tempfile import mkdtemp

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from happycity import ConfigError
from happycity.match import one_line
from happycity.runtime.files import replacing

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
VERSION_DIGITS = 12
"""Digits of the digest that the ladder shows as the version."""
_INCOMING = "incoming-"


class State(Enum):
    """Where a submission stands."""

    TRYING = "trying"
    """It waits to be tried, or is being tried."""
    REJECTED = "rejected"
    """The trial failed; its files are not kept."""
    PLAYING = "playing"
    RETIRED = "retired"
    """It was replaced by a newer one, or withdrawn."""


class Program(BaseModel):
    """What an author says of a program."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bot: str
    command: str
    language: str
    image: str = ""


class Submission(BaseModel):
    """A program that was submitted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: Program
    owner: str
    digest: str
    files: int
    size: int
    """Bytes of all files."""
    created: AwareDatetime
    state: State = State.TRYING
    result: tuple[str, ...] = ()
    """What the trial found, in lines for people."""

    @property
    def bot(self) -> str:
        """The bot's name."""
        return self.program.bot

    @property
    def version(self) -> str:
        """What the ladder shows as the version."""
        return self.digest[:VERSION_DIGITS]


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
    """A program while its files come; `close` removes what was not kept."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.program = program
        self.size = 0
        self._folder = Path(mkdtemp(prefix=_INCOMING, dir=folder))
        self._files = self._folder / "files"
        self._files.mkdir()
        self._digests: dict[str, str] = {}
        """By path, with whether it may be executed."""
        self._current = hashlib.sha256()
        self._descriptor: int | None = None
        self._line = ""

    def begin_file(self, text: str, *, executable: bool) -> None:
        """Begin a file; ConfigError if the path can't be used, or there are too many files."""
        path = checked_path(text)
        self._end_file()
        if len(self._digests) >= MAX_FILES:
            raise ConfigError(f"there are more than {MAX_FILES} files")
        target = self._files / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            self._descriptor = os.open(target, flags, 0o755 if executable else 0o644)
        except OSError as error:  # such as two files of one path, or a file that is a folder too
            raise ConfigError(f"{text!r} can't be created: {error.strerror}") from None
        self._line = f"{path.as_posix()}\0{'x' if executable else '-'}"
        self._current = hashlib.sha256()

    def add(self, content: bytes) -> None:
        """Write the next bytes of the file that began last; ConfigError if that is too much, or none did."""
        self.size += len(content)
        self._current.update(content)
        if self._descriptor is None:
            raise ConfigError("content comes before a file")
        if self.size > MAX_BYTES:
            raise ConfigError(f"the files have more than {MAX_BYTES >> 20} MB")
        while content:
            content = content[os.write(self._descriptor, content) :]

    def keep(self, submissions: Submissions, owner: str, now: datetime) -> Submission:
        """Keep the program, and return it with its digest, to be tried.

        Raises:
            ConfigError: it has no files, or too many versions of the bot are kept.
            OSError: it can't be written.
        """
        self._end_file()
        if not self._digests and not self.program.image:
            raise ConfigError("there are no files")
        content = [self.program.model_dump_json(), *(f"{k}\0{v}" for k, v in sorted(self._digests.items()))]
        digest = hashlib.sha256("\n".join(content).encode()).hexdigest()
        known = submissions.find(self.program.bot, digest)
        if known is not None and known.state in (State.PLAYING, State.TRYING):
            return known
        submission = Submission(
            program=self.program,
            owner=owner,
            digest=digest,
            files=len(self._digests),
            size=self.size,
            created=now,
        )
        submissions.take(submission, self._files)
        return submission

    def close(self) -> None:
        """Remove what is left of the upload."""
        self._end_file()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_file(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._digests[self._line] = self._current.hexdigest()
            self._descriptor = None


class Submissions:
    """All that was submitted to a server, in its folder, which it creates."""

    def __init__(self, folder: Path) -> None:
        """Read the folder; ConfigError if it can't be used."""
        self.folder = folder.resolve()
        self._known: dict[tuple[str, str], Submission] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(f"{_INCOMING}*"):
                shutil.rmtree(left)
            for file in self.folder.glob("bot.*/*/submission.json"):
                submission = Submission.model_validate_json(file.read_bytes())
                self._known[submission.bot, submission.digest] = submission
        except (OSError, ValidationError) as error:
            raise ConfigError(f"--hosted: {folder} can't be used: {one_line(str(error))}") from None

    def __iter__(self) -> Iterator[Submission]:
        """Yield all, newest first."""
        yield from sorted(self._known.values(), key=lambda one: one.created, reverse=True)

    def find(self, bot: str, digest: str = "") -> Submission | None:
        """Return a bot's newest submission whose digest begins so."""
        return next((one for one in self if one.bot == bot and one.digest.startswith(digest)), None)

    def playing(self, bot: str) -> Submission | None:
        """Return the submission of a bot that plays."""
        return next((one for one in self if one.bot == bot and one.state is State.PLAYING), None)

    def place(self, submission: Submission) -> Path:
        """Return the folder of a submission: `files`, and `run` and `trial` with what the launcher stores."""
        return self.folder / f"bot.{submission.bot}" / submission.digest

    def upload(self, program: Program) -> Upload:
        """Begin to take a program in; ConfigError if the disk or the bot has no room for it."""
        if shutil.disk_usage(self.folder).free < FREE_BYTES + MAX_BYTES:
            raise ConfigError("the server's disk is full; tell the organiser")
        kept = [one for one in self if one.bot == program.bot and one.state is not State.REJECTED]
        if len(kept) >= MAX_VERSIONS:
            raise ConfigError(f"{MAX_VERSIONS} versions of {program.bot} are kept, and no more are taken")
        return Upload(self.folder, program)

    def take(self, submission: Submission, files: Path) -> None:
        """Keep a submission with its files, which are moved."""
        place = self.place(submission)
        shutil.rmtree(place / "files", ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
        files.rename(place / "files")
        self.save(submission)

    def save(self, submission: Submission) -> None:
        """Store where a submission stands; the files of a rejected one are removed."""
        with replacing(self.place(submission) / "submission.json") as partial:
            partial.write_text(submission.model_dump_json(indent=2), encoding="utf-8")
        self._known[submission.bot, submission.digest] = submission
        if submission.state is State.REJECTED:
            shutil.rmtree(self.place(submission) / "files", ignore_errors=True)

    def usage(self, submission: Submission) -> tuple[float, int]:
        """Return a submission's CPU seconds since it first played, and the most bytes it used at once."""
        try:
            used = json.loads((self.place(submission) / "run" / "usage.json").read_bytes())
        except FileNotFoundError:
            return 0.0, 0
        return float(used["cpu_seconds"]), int(used["peak_memory_bytes"])

    def log_end(self, submission: Submission) -> str:
        """Return the end of what a submission printed last, in its trial or since; "" for nothing."""
        for kind in ("run", "trial"):
            file = self.place(submission) / kind / "log.txt"
            if file.exists():
                return file.read_text(encoding="utf-8", errors="replace")
        return ""
