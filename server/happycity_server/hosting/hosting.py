"""Hosted bots as a whole: submissions are tried one by one, and those that pass are kept running."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from structlog.contextvars import bound_contextvars

from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity_runtime.event_loop import end_tasks
from happycity_server.access.gate import SWEEP_SECONDS
from happycity_server.config import ServerSettings
from happycity_server.hosting.running_submissions import RunningSubmissions
from happycity_server.hosting.trial import TrialError, run_trial
from happycity_server.hosting.trial_queue import TrialQueue
from happycity_server.process.listening import BotServer
from happycity_server.process.programs import Programs
from happycity_tournament.hosted.sandbox import Sandbox
from happycity_tournament.hosted.submissions import Submission, Submissions, SubmissionState, Upload

UNTRIED = ("the server could not try it, which is no fault of the bot; it tries again when it starts next",)
REPLACED = ("a newer submission of the bot came before it was tried",)
PINNED = "a tournament plays the submission of before; submit the new one when that is over"

_log = structlog.get_logger()


@dataclass(eq=False, repr=False)
class Hosting:
    """Tries submitted bots, and keeps the newest one of each name running that passed."""

    settings: ServerSettings
    submissions: Submissions
    server: BotServer
    is_pinned: Callable[[str], bool] = lambda bot: False
    """Returns whether a tournament that is played has named the submission that plays as a bot."""
    on_change: Callable[[Mapping[str, str]], None] = lambda digests: None
    """Called with the digests of the bots that run, by their names, when these are others."""
    usage_reports: list[pb.Submission] = field(default_factory=list, init=False)
    """What workers have reported, and is not stored yet."""
    _tasks: Sequence[asyncio.Task[None]] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Prepare the sandbox; ConfigError if it can't be used here."""
        folder, memory = self.submissions.folder, self.settings.hosted_memory
        self.sandbox = Sandbox(self.settings.sandbox, folder, memory=memory)
        self.trial_queue = TrialQueue(self.server.gate.authenticator.now, time.monotonic)

    async def start(self, programs: Programs) -> None:
        """Run what plays, and try what waits."""
        self._bots = RunningSubmissions(self.submissions, self.sandbox, programs, self.server)
        for submission in reversed([*self.submissions]):
            if submission.state is SubmissionState.PLAYING:
                self._bots.run(submission)
            elif submission.state is SubmissionState.TRYING:  # the result: that a server could not try it
                await self._enqueue(self.submissions.change(submission, result=()))
        self.on_change(self._bots.digests)
        self._tasks = asyncio.create_task(self._try_all()), asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        """Begin and try nothing more. What was not tried to the end is tried again by the next server."""
        await end_tasks(*self._tasks)
        await self._store_usage()

    async def keep(self, upload: Upload, owner: str, now: datetime) -> Submission:
        """Keep what was uploaded, and try it; errors are those of `Submissions.keep`."""
        submission = await asyncio.to_thread(self.submissions.keep, upload, owner, now)
        if upload.kept is not None:  # else it was there before
            _log.info("bot_submitted", bot=submission.bot.name, digest=submission.digest, owner=owner)
            await self._enqueue(submission)
        return submission

    async def _enqueue(self, submission: Submission) -> None:
        """Let a submission wait for its trial, in place of an older one of the same bot."""
        if (older := self.trial_queue.put(submission)) is not None:
            with suppress(OSError):  # of a full disk; it is replaced again when the server starts next
                await self._note(older, SubmissionState.REJECTED, REPLACED)

    async def withdraw(self, submission: Submission) -> Submission:
        """End a bot that plays; return how it stands now. OSError if that can't be stored."""
        # First, as no tournament may begin with it from now on.
        self.submissions.change(submission, state=SubmissionState.RETIRED)
        await self._bots.end(submission.bot.name)
        self.on_change(self._bots.digests)
        return await self._note(submission, SubmissionState.RETIRED)

    async def _try_all(self) -> None:
        """Try what waits, one by one, so that each has the machine's attention."""
        while True:
            async with self.trial_queue.turn() as submission:
                try:
                    await self._try(submission)
                except Exception:  # noqa: BLE001 - other bots' trials go on
                    _log.exception("trial_failed", bot=submission.bot.name, digest=submission.digest)
                    with suppress(OSError):  # which may be what has failed
                        await self._note(submission, SubmissionState.TRYING, UNTRIED)

    async def _try(self, submission: Submission) -> None:
        """Try a bot, and let it play in place of the version before if it passes."""
        bot, place = submission.bot.name, self.submissions.place(submission)
        command = self.sandbox.command(submission.bot, place, "trial")
        try:
            with bound_contextvars(trial=bot):  # else the log would seem to say who is connected here
                result = await run_trial(self.settings, bot, command)
            if self.is_pinned(bot):
                raise TrialError(PINNED)
        except TrialError as error:
            await asyncio.to_thread(self.sandbox.check)  # else the bot is not at fault
            await self._note(submission, SubmissionState.REJECTED, error.lines)
            return
        if (playing := self.submissions.playing(bot)) is not None:
            await self.withdraw(playing)
        await self._note(submission, SubmissionState.PLAYING, result)
        self._bots.run(submission)
        self.on_change(self._bots.digests)

    async def _sweep(self) -> None:
        """Withdraw bots that have no valid token any more, as others leave then; store what was used."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            without = self._bots.digests.keys() - self.server.gate.authenticator.bots()
            for submission in filter(None, map(self.submissions.playing, without)):
                try:
                    await self.withdraw(submission)
                except OSError:  # the bot has ended, also if that can't be stored now
                    _log.exception("hosted_bot_not_stored", bot=submission.bot.name)
            await self._store_usage()

    async def _store_usage(self) -> None:
        reports, self.usage_reports[:] = [*self.usage_reports], []
        try:
            await asyncio.to_thread(self.submissions.add_usage, reports)
        except OSError:
            _log.exception("usage_not_stored")

    async def _note(
        self, submission: Submission, state: SubmissionState, result: tuple[str, ...] = ()
    ) -> Submission:
        """Store where a submission stands now, and the result of its trial if that is new."""
        changed = self.submissions.change(submission, state=state, result=result or submission.result)
        await asyncio.to_thread(self.submissions.save, changed)
        name = f"SUBMISSION_STATE_{state.name}"
        _log.info("hosted_bot", bot=submission.bot.name, digest=submission.digest, state=name, result=result)
        return changed
