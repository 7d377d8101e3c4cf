"""What participants have submitted, in a folder: each program by the digest of its content, with its result.

No archive is ever unpacked. Files come one by one, so there are no links, devices or compressed bytes among
them, and each is created by a path that was checked, in a new folder that has nothing but such files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

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
    """A program while its files come."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.program = program
        self.files = folder
        self._count = self._size = 0
        self._current: IO[bytes] | None = None

    def begin_file(self, text: str, *, executable: bool) -> None:
        """Begin a file; ConfigError if the path can't be used, or there are too many files."""
        target = self.files / checked_path(text)
        self.end_file()
        self._count += 1
        if self._count > MAX_FILES:
            raise ConfigError(f"there are more than {MAX_FILES} files")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._current = target.open("xb")
            target.chmod(0o755 if executable else 0o644)
        except OSError as error:  # such as two files of one path, or a file that is a folder too
            raise ConfigError(f"{text!r} can't be created: {error.strerror}") from None

    def add(self, content: bytes) -> None:
        """Write the next bytes of the file that began last; ConfigError if that is too much, or none did."""
        if self._current is None:
            raise ConfigError("content comes before a file")
        self._size += len(content)
        if self._size > MAX_BYTES:
            raise ConfigError(f"the files have more than {MAX_BYTES >> 20} MB")
        self._current.write(content)

    def submission(self, owner: str, now: datetime) -> Submission:
        """Return the whole program, with its digest, to be tried; ConfigError if it has no files."""
        self.end_file()
        if not self._count and not self.program.image:
            raise ConfigError("there are no files")
        whole = hashlib.sha256(self.program.model_dump_json().encode())
        for path in sorted(path for path in self.files.rglob("*") if path.is_file()):
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            right = "x" if os.access(path, os.X_OK) else "-"
            whole.update(f"\n{path.relative_to(self.files).as_posix()}\0{right}\0{content}".encode())
        return Submission(
            program=self.program,
            owner=owner,
            digest=whole.hexdigest(),
            files=self._count,
            size=self._size,
            created=now,
        )

    def end_file(self) -> None:
        """Close the file that began last."""
        if self._current is not None:
            self._current.close()
            self._current = None


class Submissions:
    """All that was submitted to a server, in its folder, which it creates."""

    def __init__(self, folder: Path) -> None:
        """Read the folder; ConfigError if it can't be used."""
        self.folder = folder.resolve()
        self._known: defaultdict[str, dict[str, Submission]] = defaultdict(dict)
        """By bot and digest."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(f"{_INCOMING}*"):
                shutil.rmtree(left)
            for file in self.folder.glob("bot.*/*/submission.json"):
                submission = Submission.model_validate_json(file.read_bytes())
                self._known[submission.bot][submission.digest] = submission
        except (OSError, ValidationError) as error:
            raise ConfigError(f"--hosted: {folder} can't be used: {one_line(str(error))}") from None

    def __iter__(self) -> Iterator[Submission]:
        """Yield all, newest first."""
        every = chain.from_iterable(map(self.of, list(self._known)))
        yield from sorted(every, key=lambda one: one.created, reverse=True)

    def of(self, bot: str) -> list[Submission]:
        """Return the submissions of a bot; a copy, as threads keep new ones."""
        return list(self._known.get(bot, {}).values())

    def find(self, bot: str, digest: str = "") -> Submission | None:
        """Return a bot's newest submission whose digest begins so."""
        found = (one for one in self.of(bot) if one.digest.startswith(digest))
        return max(found, key=lambda one: one.created, default=None)

    def playing(self, bot: str) -> Submission | None:
        """Return the submission of a bot that plays."""
        return next((one for one in self.of(bot) if one.state is State.PLAYING), None)

    def place(self, submission: Submission) -> Path:
        """Return the folder of a submission: `files`, and `run` and `trial` with what the launcher stores."""
        return self.folder / f"bot.{submission.bot}" / submission.digest

    @contextmanager
    def upload(self, program: Program) -> Iterator[Upload]:
        """Yield what takes a program in, and remove in the end what was not kept.

        ConfigError if the disk or the bot has no room for it.
        """
        if shutil.disk_usage(self.folder).free < FREE_BYTES + MAX_BYTES:
            raise ConfigError("the server's disk is full; tell the organiser")
        if sum(one.state is not State.REJECTED for one in self.of(program.bot)) >= MAX_VERSIONS:
            raise ConfigError(f"{MAX_VERSIONS} versions of {program.bot} are kept, and no more are taken")
        with TemporaryDirectory(prefix=_INCOMING, dir=self.folder, ignore_cleanup_errors=True) as folder:
            files = Path(folder) / "files"
            files.mkdir()
            upload = Upload(files, program)
            try:
                yield upload
            finally:
                upload.end_file()

    def keep(self, upload: Upload, owner: str, now: datetime) -> Submission:
        """Keep a whole program to be tried; return the submission of before if that plays or is being tried.

        Raises:
            ConfigError: it has no files.
            OSError: it can't be written.
        """
        submission = upload.submission(owner, now)
        known = self.find(submission.bot, submission.digest)
        if known is not None and known.state in (State.PLAYING, State.TRYING):
            return known
        files = self.place(submission) / "files"
        shutil.rmtree(files, ignore_errors=True)
        files.parent.mkdir(parents=True, exist_ok=True)
        upload.files.rename(files)
        self.save(submission)
        return submission

    def save(self, submission: Submission) -> None:
        """Store where a submission stands; the files of a rejected one are removed."""
        with replacing(self.place(submission) / "submission.json") as partial:
            partial.write_text(submission.model_dump_json(indent=2), encoding="utf-8")
        self._known[submission.bot][submission.digest] = submission
        if submission.state is State.REJECTED:
            shutil.rmtree(self.place(submission) / "files", ignore_errors=True)

    def rename_owner(self, owner: str, new_owner: str | None) -> None:
        """Give an owner's submissions to another name; without one, remove those that don't play."""
        for one in [one for one in self if one.owner == owner]:
            if new_owner is not None:
                self.save(one.model_copy(update={"owner": new_owner}))
            elif one.state in (State.REJECTED, State.RETIRED):
                shutil.rmtree(self.place(one))
                del self._known[one.bot][one.digest]

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
