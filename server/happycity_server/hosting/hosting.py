"""Hosted bots as a whole: submissions are tried one after the other, and those that pass are kept running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path

import structlog

from happycity import ConfigError
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity.runtime.child import words_of
from happycity.runtime.tokens import Role
from happycity_server.access.gate import SWEEP_SECONDS, Authenticator
from happycity_server.access.roles import Principal
from happycity_server.config import ServerSettings
from happycity_server.hosting.sandbox import Sandbox
from happycity_server.hosting.submissions import VERSION_DIGITS, Submissions, Upload
from happycity_server.hosting.trial import TrialError, check, play
from happycity_server.process.programs import Programs, bot_program, new_secrets

MOST_WAITING = 64
"""Submissions that may wait for their trial."""
FIXED = "a tournament plays the submission of before; submit the new one when that is over"
_TRIAL_SLOT = 0

_log = structlog.get_logger()


class Hosting:
    """Tries submitted bots, and keeps the newest one of each name running that passed."""

    def __init__(self, settings: ServerSettings, folder: Path, authenticator: Authenticator) -> None:
        """Host the bots of a folder; ConfigError if the folder or the sandbox can't be used here."""
        if authenticator.is_open:
            text = "it needs tokens, which say whose each bot is; create one with: happycity token create"
            raise ConfigError(f"--hosted: {text}")
        self.submissions = Submissions(folder)
        self.sandbox = Sandbox(settings.sandbox, self.submissions.folder, memory=settings.hosted_memory)
        self.is_fixed: Callable[[str], bool] = lambda bot: False
        """Returns whether a tournament that is played has named the submission that plays as a bot."""
        self._settings = settings
        self._authenticator = authenticator
        self._programs = Programs()
        self._address = ""
        self._waiting: asyncio.Queue[pb.Submission] = asyncio.Queue()
        self._tasks: Sequence[asyncio.Task[None]] = ()
        self._running: dict[str, tuple[int, str]] = {}
        """By bot: its slot in the sandbox, and the token that it shows."""

    def start(self, address: str) -> None:
        """Run what plays, and try what waits; `address` is that of the arena's socket, `unix:PATH`."""
        self._address = address
        for submission in reversed([*self.submissions]):
            if submission.state == pb.SUBMISSION_STATE_PLAYING:
                self._run(submission)
            elif submission.state == pb.SUBMISSION_STATE_TRYING:
                self._waiting.put_nowait(submission)
        self._tasks = asyncio.create_task(self._try_all()), asyncio.create_task(self._end_without_token())

    async def stop(self) -> None:
        """End all bots. What was not tried to the end is tried again by the next server."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._programs.stop()

    @property
    def is_full(self) -> bool:
        """Whether no more submissions may wait for a trial."""
        return self._waiting.qsize() >= MOST_WAITING

    async def keep(self, upload: Upload, owner: str, now: datetime) -> pb.Submission:
        """Keep what was uploaded, and try it; errors are those of `Submissions.keep`."""
        submission = await asyncio.to_thread(self.submissions.keep, upload, owner, now)
        if submission is upload.submission:  # else it was there before
            _log.info("bot_submitted", bot=submission.bot.name, digest=submission.digest, owner=owner)
            self._waiting.put_nowait(submission)
        return submission

    async def withdraw(self, submission: pb.Submission) -> None:
        """End a bot that plays; OSError if that can't be stored."""
        submission.state = pb.SUBMISSION_STATE_RETIRED  # first: no tournament begins with it from now on
        await self._end(submission.bot.name)
        await self._note(submission, pb.SUBMISSION_STATE_RETIRED)

    def cost(self, bot: str, version: str) -> pb.Submission | None:
        """Return a version of a bot with what it has used; None if it isn't hosted."""
        submission = self.submissions.find(bot, version) if version else None
        return None if submission is None else self.submissions.shown(submission)

    def rename_owner(self, owner: str, new_owner: str | None) -> None:
        """Give an owner's submissions to another name; without one, remove those that don't play."""
        self.submissions.rename_owner(owner, new_owner)

    def digest_of(self, bot: str) -> str:
        """Return the digest of the submission that plays as a bot; "" without one."""
        playing = self.submissions.playing(bot)
        return "" if playing is None else playing.digest

    def is_hosted(self, bot: str) -> bool:
        """Return whether no program but a submitted one may connect as a bot."""
        return bot in self._running or self.is_fixed(bot)

    async def _try_all(self) -> None:
        """Try what waits, one after the other, so that each has the machine's attention."""
        while True:
            submission = await self._waiting.get()
            try:
                await self._try(submission)
            except Exception:  # noqa: BLE001 - other bots' trials go on
                _log.exception("trial_failed", bot=submission.bot.name, digest=submission.digest)
                result = ("the server failed; its log says why",)
                with suppress(OSError):  # which may be what has failed
                    await self._note(submission, pb.SUBMISSION_STATE_REJECTED, result)

    async def _try(self, submission: pb.Submission) -> None:
        """Try a bot, and let it play in place of the version before if it passes."""
        command, bot = self._command(submission, "trial", _TRIAL_SLOT), submission.bot.name
        try:
            result = await check(command), await play(self._settings, bot, command)
            if self.is_fixed(bot):
                raise TrialError(FIXED)
        except TrialError as error:
            await self._note(submission, pb.SUBMISSION_STATE_REJECTED, error.lines)
            return
        if (playing := self.submissions.playing(bot)) is not None:
            await self.withdraw(playing)
        await self._note(submission, pb.SUBMISSION_STATE_PLAYING, result)
        self._run(submission)

    async def _end_without_token(self) -> None:
        """Withdraw bots that have no valid token any more, as bots that others run leave then."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            without = self._running.keys() - self._authenticator.bots()
            for submission in filter(None, map(self.submissions.playing, without)):
                try:
                    await self.withdraw(submission)
                except OSError:  # the bot has ended, also if that can't be stored now
                    _log.exception("hosted_bot_not_stored", bot=submission.bot.name)

    async def _note(
        self, submission: pb.Submission, state: pb.SubmissionState.ValueType, result: Sequence[str] = ()
    ) -> None:
        """Store where a submission stands now."""
        submission.state = state
        submission.result[:] = result or submission.result
        await asyncio.to_thread(self.submissions.save, submission)
        name = pb.SubmissionState.Name(state)
        _log.info("hosted_bot", bot=submission.bot.name, digest=submission.digest, state=name, result=result)

    def _run(self, submission: pb.Submission) -> None:
        """Keep a bot running, known to the arena by a token of its own."""
        bot, taken = submission.bot.name, {slot for slot, _ in self._running.values()}
        slot = next(slot for slot in count(_TRIAL_SLOT + 1) if slot not in taken)
        secret = new_secrets([bot])[bot]
        version = submission.digest[:VERSION_DIGITS]
        self._authenticator.own[secret] = Principal(
            f"hosted {bot}", frozenset({Role.BOT}), house_bot=bot, hosted_version=version
        )
        self._running[bot] = slot, secret
        command = self._command(submission, "run", slot)
        self._programs.keep(bot_program(bot, command, secret, self._address))

    async def _end(self, bot: str) -> None:
        """End a bot's program, if it runs, and its token."""
        if bot in self._running:
            _, secret = self._running.pop(bot)
            await self._programs.end(bot)
            del self._authenticator.own[secret]

    def _command(self, submission: pb.Submission, kind: str, slot: int) -> Sequence[str]:
        """Return what runs a submission in the sandbox."""
        place, bot = self.submissions.place(submission), submission.bot
        return self.sandbox.command(
            words_of(bot.command) if bot.command else (),
            files=place / "files",
            results=place / kind,
            image=bot.image,
            slot=slot,
        )
