"""HostingService: takes bots from their authors, and tells them what became of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial

from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity.match import one_line
from happycity_runtime.child import ChildError, split_command
from happycity_runtime.tokens import Role
from happycity_server.access.gate import RateLimits
from happycity_server.access.roles import Principal
from happycity_server.api.paging import ListRequest
from happycity_server.errors import ApiError, Reason, invalid, too_many, within
from happycity_server.hosting.hosting import PINNED, Hosting
from happycity_tournament.hosted.submissions import HostedBot, Submission

UPLOAD_SECONDS = 300.0
"""How long a submission may take to come."""
MOST_UPLOADS = 4
"""Submissions that come at once, each of another owner; more of them wait for their turn."""
PER_DAY = 24
"""Submissions of an owner in a day."""
MAX_COMMAND = 1000
"""Characters of a command, or of an image's name."""
_Parts = AsyncIterator[pb.SubmissionPart]


class HostingService:
    """Decodes, asks the hosting, encodes. A call acts for the owner of its token."""

    def __init__(self, hosting: Hosting, *, house: frozenset[str], now: Callable[[], datetime]) -> None:
        """Serve authors, whose bots get no name of the house."""
        self.hosting = hosting
        self._house = house
        self._now = now
        self._turns = asyncio.Semaphore(MOST_UPLOADS)
        self._uploading: set[str] = set()
        """The owners who upload, or wait for their turn."""
        self._rates = RateLimits(
            rate=PER_DAY / 86400,
            burst=PER_DAY,
            clock=lambda: now().timestamp(),
            quota=f"{PER_DAY} submissions a day",
        )

    async def Submit(self, caller: Principal, requests: _Parts) -> pb.Submission:
        """Take a program."""
        if caller.token is None:
            raise ApiError(Reason.UNAUTHENTICATED, "the call shows no token of this server's file")
        owner = caller.token.owner
        if owner in self._uploading:
            raise too_many(1, "uploads of yours")
        self.hosting.trial_queue.check(owner)
        self._rates.take(owner)
        self._uploading.add(owner)
        try:
            async with self._turns, asyncio.timeout(UPLOAD_SECONDS) as deadline:
                first = await anext(requests, None)
                if first is None or not first.HasField("bot"):
                    raise invalid("bot", "the first message of a submission says what it is")
                caller.check_name(first.bot.name, house=self._house)
                bot = self._checked(first.bot)
                if self.hosting.is_pinned(bot.name):
                    raise ApiError(Reason.TOURNAMENT_RUNNING, PINNED)
                with _storing():
                    submission = await self._receive(bot, requests, owner, deadline)
        except TimeoutError:
            text = f"the submission did not come within {UPLOAD_SECONDS:g} s"
            raise ApiError(Reason.STALLED, text) from None
        finally:
            self._uploading.remove(owner)
        return await asyncio.to_thread(self._message, submission)

    async def GetSubmission(self, caller: Principal, request: pb.GetSubmissionRequest) -> pb.Submission:
        """Return a submission, with the end of its log."""
        found = self.hosting.submissions.find(request.bot, request.digest)
        if found is None or not _is_own(caller, found):
            raise _no_such(request.bot)
        return await asyncio.to_thread(self._message, found, with_log=True)

    async def ReadSubmission(
        self, caller: Principal, request: pb.ReadSubmissionRequest
    ) -> AsyncIterator[pb.SubmissionPart]:
        """Yield a submission part by part."""
        submissions = self.hosting.submissions
        found = submissions.find(request.bot, request.digest)
        if found is None or found.digest != request.digest or not _is_own(caller, found):
            raise _no_such(request.bot)
        with _storing():
            parts = submissions.parts(found)
            while (part := await asyncio.to_thread(next, parts, None)) is not None:
                yield part

    async def ListSubmissions(
        self, caller: Principal, request: pb.ListSubmissionsRequest
    ) -> pb.ListSubmissionsResponse:
        """List the submissions that the caller may see."""
        own = filter(partial(_is_own, caller), self.hosting.submissions)
        page, token = ListRequest(request).sorted_by(_newest_first, own)
        messages = await asyncio.to_thread(list, map(self._message, page))
        return pb.ListSubmissionsResponse(submissions=messages, next_page_token=token)

    async def WithdrawSubmission(
        self, caller: Principal, request: pb.WithdrawSubmissionRequest
    ) -> pb.Submission:
        """End a bot that plays."""
        playing = self.hosting.submissions.playing(request.bot)
        if playing is None or not _is_own(caller, playing):
            raise invalid("bot", f"none of your bots that play here is called {request.bot[:64]!r}")
        with _storing():
            retired = await self.hosting.withdraw(playing)
        return await asyncio.to_thread(self._message, retired)

    async def _receive(
        self, bot: HostedBot, requests: _Parts, owner: str, deadline: asyncio.Timeout
    ) -> Submission:
        """Take the files of a bot until a deadline, and keep it."""
        with within("file"):
            upload = self.hosting.submissions.upload(bot)
            try:
                async for part in requests:
                    await asyncio.to_thread(upload.take, part)
                deadline.reschedule(None)  # else it might be kept, but not tried
                return await self.hosting.keep(upload, owner, self._now())
            finally:
                await asyncio.to_thread(upload.close)

    def _checked(self, bot: pb.HostedBot) -> HostedBot:
        """Return what is submitted, with lines of the texts that people read; ApiError if it can't be run."""
        for field in ("command", "language", "image"):
            if len(getattr(bot, field)) > MAX_COMMAND:
                raise invalid(f"bot.{field}", f"it has more than {MAX_COMMAND} characters")
        if bool(bot.image) != self.hosting.sandbox.takes_images:
            wanted = "an image" if self.hosting.sandbox.takes_images else "files, not an image"
            raise invalid("bot.image", f"this server runs {wanted}")
        if bot.image.startswith("-"):
            raise invalid("bot.image", f"{bot.image[:80]!r} is not the name of an image")
        if bot.command or not bot.image:
            try:
                split_command(bot.command)
            except ChildError as error:
                raise invalid("bot.command", f"{error}") from None
        language, image = one_line(bot.language), one_line(bot.image)
        return HostedBot(name=bot.name, command=bot.command, language=language, image=image)

    def _message(self, submission: Submission, *, with_log: bool = False) -> pb.Submission:
        """Write a submission with what it has used, and with the end of its log if that is wanted."""
        submissions = self.hosting.submissions
        log_end = submissions.log_end(submission) if with_log else ""
        return submission.message(submissions.usage(submission), log_end)


def _is_own(caller: Principal, submission: Submission) -> bool:
    """Return whether the caller may see a submission."""
    own = caller.token is not None and caller.token.owner == submission.owner
    return own or not caller.roles.isdisjoint((Role.ORGANISER, Role.WORKER))


def _newest_first(submission: Submission) -> tuple[float, str]:
    """Return where a submission stands in lists, as a key to sort by."""
    return -submission.created_at.timestamp(), f"{submission.bot.name} {submission.digest}"


def _no_such(bot: str) -> ApiError:
    return invalid("bot", f"you have no such submission of {bot[:64]!r}")


@contextmanager
def _storing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        text = f"the folder of hosted bots can't be used: {error.strerror}"
        raise ApiError(Reason.STORE_UNAVAILABLE, text) from None
