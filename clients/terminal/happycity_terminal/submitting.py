"""What `happycity submit` does: sends a bot to a server that hosts bots, and tells its author the result.

Raises ConfigError if the folder can't be submitted, and ServerError if the server can't be reached or refuses
it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import typer

from happycity.errors import ConfigError
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity.match import check_bot_name
from happycity.text.words import plural
from happycity.wire.enums import enum_word
from happycity.wire.match import seconds_of
from happycity_runtime.commands import remark
from happycity_runtime.settings import CommandSettings, load
from happycity_tournament.cli.json import write_json
from happycity_tournament.cli.tables import moment_text
from happycity_tournament.client.connection import Connection, call_server
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.hosted.submissions import HostedBot, parts_of

BOT_FILE = "bot.toml"
POLL_SECONDS = 1.0


SubmitAction = Literal["submit", "show", "withdraw"]
"""What is done with the bot of a folder."""


class BotFile(CommandSettings):
    """The file bot.toml."""

    name: str
    """The bot's name, which its token has too."""
    command: str = ""
    """What starts the bot, in its folder."""
    language: str = ""
    """The programming language, for people."""
    files: tuple[str, ...] = ()
    """What is submitted: files, or patterns such as data/**."""
    image: str = ""
    """An OCI image in place of files."""

    @classmethod
    def read(cls, folder: Path) -> BotFile:
        """Read the file of a folder."""
        file = folder / BOT_FILE
        if not file.is_file():
            raise ConfigError(f"FOLDER: there is no file {file}, which says what is submitted")
        own = load(cls, {}, file=file, environ={})
        check_bot_name(own.name)
        if bool(own.files) == bool(own.image) or not (own.command or own.image):
            raise ConfigError(f"{file}: name either command and files, or image")
        return own

    @property
    def hosted_bot(self) -> HostedBot:
        """What is submitted, without its files."""
        return HostedBot(**self.model_dump(exclude={"files"}))

    def paths(self, folder: Path) -> list[Path]:
        """Return the files that are submitted, each once; ConfigError if one is not a plain file inside."""
        found: dict[Path, None] = {}
        for pattern in self.files:
            try:
                # As in Python 3.13, where two stars at the end name files too.
                whole = f"{pattern}/*" if pattern.endswith("**") else pattern
                matching = sorted(path for path in folder.glob(whole) if not path.is_dir())
            except (NotImplementedError, ValueError):
                raise ConfigError(f"{BOT_FILE}: files: {pattern!r} is not a path below the folder") from None
            if not matching:
                raise ConfigError(f"{BOT_FILE}: files: there is no {pattern}; build the bot first")
            for path in matching:
                if path.resolve() != folder.resolve() / path.relative_to(folder) or not path.is_file():
                    raise ConfigError(f"{path}: it is not a file, or behind a link, and can't be submitted")
            found |= dict.fromkeys(matching)
        return list(found)


def submit_bot(server: str | None, folder: Path, act: SubmitAction, *, wait: bool, as_json: bool) -> None:
    """Submit the bot of a folder, show the newest submission, or withdraw it; print where it stands.

    The result of its trial is waited for if `wait`.
    """
    bot = BotFile.read(folder)
    paths = bot.paths(folder) if act == "submit" else []

    async def call(at: Connection) -> pb.Submission:
        named = pb.GetSubmissionRequest(bot=bot.name)
        if act == "withdraw":
            return await at.call(at.hosting.WithdrawSubmission, pb.WithdrawSubmissionRequest(bot=bot.name))
        if act == "submit":
            sent = await at.call(at.hosting.Submit, parts_of(bot.hosted_bot, folder, paths))
            size = f"{plural(sent.files, 'file')}, {sent.bytes:,} bytes"
            remark(f"{bot.name} {sent.digest[:12]}: submitted {size}")
            named.digest = sent.digest
            if wait:
                return await when_tried(at, named)
        found: pb.Submission = await at.call(at.hosting.GetSubmission, named)
        return found

    submission = call_server(RemoteServer.at(server, bot=bot.name), call)
    has_failed = submission.state in (pb.SUBMISSION_STATE_REJECTED, pb.SUBMISSION_STATE_TRYING)
    is_rejected = act == "submit" and has_failed and bool(submission.result)
    if as_json:
        write_json(submission)
    else:
        typer.echo("\n  ".join([_line(submission), *submission.result]))
        if submission.log_end and (is_rejected or act == "show"):
            typer.echo("the end of its output:")
            for line in submission.log_end.splitlines()[-30:]:
                # What a program prints must not move the cursor of whose terminal shows it.
                typer.echo("  | " + "".join(c if c.isprintable() else " " for c in line))
    raise typer.Exit(int(is_rejected))


async def when_tried(at: Connection, named: pb.GetSubmissionRequest) -> pb.Submission:
    """Return a submission when it was tried, or the server could not try it, which its result says then."""
    while True:
        found: pb.Submission = await at.call(at.hosting.GetSubmission, named)
        if found.result or found.state != pb.SUBMISSION_STATE_TRYING:
            return found
        await asyncio.sleep(POLL_SECONDS)


def list_submissions(server: str | None, *, as_json: bool) -> None:
    """Print all submissions of the owner, for organisers those of all owners, newest first."""
    found = call_server(RemoteServer.at(server), Connection.submissions)
    if as_json:
        write_json(found)
        return
    for one in found:
        typer.echo(f"{moment_text(one.create_time)} UTC  {one.owner}: {_line(one)}")


def _line(submission: pb.Submission) -> str:
    """Return where a submission stands, and what it has cost."""
    state = enum_word(pb.SubmissionState, submission.state)
    line = f"{submission.bot.name} {submission.digest[:12]}: {state}"
    if not submission.peak_memory_bytes:
        return line
    memory = f"{submission.peak_memory_bytes / 1e6:,.0f} MB"
    return f"{line}; {seconds_of(submission.cpu_time):,.1f} CPU seconds, {memory}"
