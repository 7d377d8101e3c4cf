"""Hosted bots as a whole: submissions are tried one after the other, and those that pass are kept running."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path

import structlog

from happycity import ConfigError
from happycity.runtime.child import ChildError, words_of
from happycity.runtime.tokens import Role
from happycity_server.access.gate import SWEEP_SECONDS, Authenticator
from happycity_server.access.roles import Principal
from happycity_server.config import ServerSettings
from happycity_server.hosting.sandbox import Confined, Sandbox
from happycity_server.hosting.submissions import State, Submission, Submissions, Upload
from happycity_server.hosting.trial import TrialError, bot_program, check, play
from happycity_server.process.programs import Programs, new_secrets

MOST_WAITING = 64
"""Submissions that may wait for their trial."""
_TRIAL_SLOT = 0

_log = structlog.get_logger()


class Hosting:
    """Tries submitted bots, and keeps the newest one of each name running that passed."""

    def __init__(
        self, settings: ServerSettings, folder: Path, sandbox: str, authenticator: Authenticator
    ) -> None:
        """Host the bots of a folder; ConfigError if the folder or the sandbox can't be used here."""
        if authenticator.is_open:
            text = "it needs tokens, which say whose each bot is; create one with: happycity token create"
            raise ConfigError(f"--hosted: {text}")
        self.submissions = Submissions(folder)
        self.sandbox = Sandbox(sandbox, self.submissions.folder, memory=settings.hosted_memory)
        self._settings = settings
        self._authenticator = authenticator
        self._programs = Programs()
        self._address = ""
        self._waiting: asyncio.Queue[Submission] = asyncio.Queue()
        self._tasks: Sequence[asyncio.Task[None]] = ()
        self._running: dict[str, tuple[int, str]] = {}
        """By bot: its slot in the sandbox, and the token that it shows."""

    def start(self, address: str) -> None:
        """Run what plays, and try what waits; `address` is that of the arena's socket, `unix:PATH`."""
        self._address = address
        for submission in sorted(self.submissions, key=lambda one: one.created):
            if submission.state is State.PLAYING:
                self._run(submission)
            elif submission.state is State.TRYING:
                self._waiting.put_nowait(submission)
        self._tasks = asyncio.create_task(self._try_all()), asyncio.create_task(self._end_without_token())

    async def stop(self) -> None:
        """End all bots. What was not tried to the end is tried again by the next server."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self._programs.stop()

    @property
    def is_full(self) -> bool:
        """Whether no more submissions may wait for a trial."""
        return self._waiting.qsize() >= MOST_WAITING

    async def keep(self, upload: Upload, owner: str, now: datetime) -> Submission:
        """Keep what was uploaded, and try it; errors are those of `Submissions.keep`."""
        submission = await asyncio.to_thread(self.submissions.keep, upload, owner, now)
        if submission.created == now:
            _log.info("bot_submitted", bot=submission.bot, version=submission.version, owner=owner)
            self._waiting.put_nowait(submission)
        return submission

    async def withdraw(self, submission: Submission) -> Submission:
        """End a bot that plays."""
        await self._end(submission.bot)
        return self._note(submission, State.RETIRED)

    def cost(self, bot: str, version: str) -> tuple[float, int] | None:
        """Return CPU seconds and peak memory, in bytes, of a version of a bot; None if it isn't hosted."""
        submission = self.submissions.find(bot, version) if version else None
        return None if submission is None else self.submissions.usage(submission)

    def rename_owner(self, owner: str, new_owner: str | None) -> None:
        """Give an owner's submissions to another name; without one, remove those that don't play."""
        self.submissions.rename_owner(owner, new_owner)

    async def _try_all(self) -> None:
        """Try what waits, one after the other, so that each has the machine's attention."""
        while True:
            submission = await self._waiting.get()
            try:
                result = await self._try(submission)
            except TrialError as error:
                self._note(submission, State.REJECTED, error.lines)
                continue
            except Exception:  # noqa: BLE001 - other bots' trials go on
                _log.exception("trial_failed", bot=submission.bot, version=submission.version)
                self._note(submission, State.REJECTED, ("the server failed; its log says why",))
                continue
            playing = self.submissions.playing(submission.bot)
            await self._end(submission.bot)
            if playing is not None:
                self._note(playing, State.RETIRED)
            self._run(self._note(submission, State.PLAYING, result))

    async def _end_without_token(self) -> None:
        """Withdraw bots that have no valid token any more, as bots that others run leave then."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for bot in self._running.keys() - self._authenticator.bots():
                submission = self.submissions.playing(bot)
                try:
                    await (self._end(bot) if submission is None else self.withdraw(submission))
                except OSError:  # the bot has ended, also if that can't be stored now
                    _log.exception("hosted_bot_not_stored", bot=bot)

    async def _try(self, submission: Submission) -> Sequence[str]:
        """Try a bot; return what was found. TrialError if it failed."""
        launch = partial(self._command, submission, kind="trial", slot=_TRIAL_SLOT)
        passed = await check(launch)
        return passed, await play(self._settings, submission.bot, launch)

    def _note(self, submission: Submission, state: State, result: Sequence[str] | None = None) -> Submission:
        """Store where a submission stands now, and return it."""
        lines = submission.result if result is None else tuple(result)
        noted = submission.model_copy(update={"state": state, "result": lines})
        self.submissions.save(noted)
        _log.info("hosted_bot", bot=noted.bot, version=noted.version, state=state.value, result=list(lines))
        return noted

    def _run(self, submission: Submission) -> None:
        """Keep a bot running, known to the arena by a token of its own."""
        bot, taken = submission.bot, {slot for slot, _ in self._running.values()}
        slot = next(slot for slot in count(_TRIAL_SLOT + 1) if slot not in taken)
        secret = new_secrets([bot])[bot]
        self._authenticator.own[secret] = Principal(
            f"hosted {bot}", frozenset({Role.BOT}), hosted_bot=bot, hosted_version=submission.version
        )
        self._running[bot] = slot, secret
        command = self._command(submission, self._address, kind="run", slot=slot)
        self._programs.keep(bot_program(bot, secret, command))

    async def _end(self, bot: str) -> None:
        """End a bot's program, if it runs, and its token."""
        if bot in self._running:
            _, secret = self._running.pop(bot)
            await self._programs.end(bot)
            del self._authenticator.own[secret]

    def _command(self, submission: Submission, address: str, *, kind: str, slot: int) -> Sequence[str]:
        """Return the launcher's command for a submission; TrialError if its own can't be read."""
        place, program = self.submissions.place(submission), submission.program
        try:
            words = words_of(program.command) if program.command else []
        except ChildError as error:
            raise TrialError(str(error)) from None
        confined = Confined(
            command=words, files=place / "files", address=address, image=program.image, slot=slot
        )
        return self.sandbox.write_run(confined, place / kind)
