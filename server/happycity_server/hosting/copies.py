"""The hosted bots of a server next to a worker: copied by their digests, and played in the sandbox."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import grpc
import structlog

from happycity import ConfigError, HappyCityError
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity.match import one_line
from happycity_server.config import ServerSettings
from happycity_server.hosting.running_submissions import RunningSubmissions
from happycity_server.places.protocol import ServerLink
from happycity_server.process.private_arena import PrivateArena
from happycity_tournament.hosted.sandbox import Sandbox
from happycity_tournament.hosted.submissions import Submissions

REPORT_SECONDS = 5.0
"""How often the server gets what the bots have used, and is asked again for programs that didn't come."""
ReadSubmission = Callable[[pb.ReadSubmissionRequest], AsyncIterable[pb.SubmissionPart]]

_log = structlog.get_logger()


@dataclass(eq=False, repr=False)
class CopiedBots:
    """Plays in a worker's arena the hosted bots that its server asks for."""

    settings: ServerSettings
    arena: PrivateArena
    link: ServerLink
    read: ReadSubmission
    """Reads the program of a submission from the server."""
    _refused: set[str] = field(default_factory=set, init=False)
    """Digests of programs that can't be played here."""
    _reported: dict[str, float] = field(default_factory=lambda: defaultdict(float), init=False)
    """CPU seconds by digest."""

    async def play(self) -> None:
        """Play what the server asks for, and tell it in one line what can't be played here.

        The copies are next to the arena's socket, and are removed as that is.
        """
        await self.link.hosted_changed.wait()
        arena = self.arena
        folder = Path(arena.address.removeprefix("unix:")).with_name("hosted")
        try:
            self._submissions = Submissions(folder)
            setting, memory = self.settings.sandbox, self.settings.hosted_memory
            sandbox = await asyncio.to_thread(Sandbox, setting, folder, memory=memory)
        except (ConfigError, OSError) as error:
            self._tell(f"it plays no hosted bots: {error}")
            return
        self._running = RunningSubmissions(self._submissions, sandbox, arena.programs, arena.server)
        self.link.digests = self._running.digests
        while True:
            self.link.hosted_changed.clear()
            await self._follow()
            await self._report_usage()
            with suppress(TimeoutError):
                async with asyncio.timeout(REPORT_SECONDS):
                    await self.link.hosted_changed.wait()

    def _tell(self, text: str) -> None:
        _log.warning("hosted_bot_refused", text=text)
        self.link.tell_user(text)

    async def _follow(self) -> None:
        """End what is not wanted any more, and begin what is."""
        wanted, running = self.link.hosted, self._running
        for submission in list(self._submissions):
            if wanted.get(submission.bot.name) != submission.digest:
                await running.end(submission.bot.name)
                await self._report_usage()
                self._reported.pop(submission.digest, None)
                await asyncio.to_thread(self._submissions.remove, submission)
        for bot, digest in wanted.items():
            if bot in running.digests or digest in self._refused:
                continue
            try:
                parts = [part async for part in self.read(pb.ReadSubmissionRequest(bot=bot, digest=digest))]
                running.run(await asyncio.to_thread(self._submissions.copy, bot, digest, iter(parts)))
            except (HappyCityError, OSError) as error:
                self._refused.add(digest)
                self._tell(f"it doesn't play {error}")
            except grpc.aio.AioRpcError as error:  # such as too many calls; it is read the next time
                _log.warning("hosted_bot_not_read", bot=bot, text=one_line(error.details() or ""))

    async def _report_usage(self) -> None:
        """Report what the bots have used since the last report."""
        for one in self._submissions:
            usage = await asyncio.to_thread(self._submissions.usage, one)
            if usage.cpu_seconds > (reported := self._reported[one.digest]):
                self._reported[one.digest] = usage.cpu_seconds
                more = replace(usage, cpu_seconds=usage.cpu_seconds - reported)
                self.link.note_used(one.message(more))
