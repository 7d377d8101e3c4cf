"""HostingService: takes bots from their authors, and tells them what became of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from typing import Any

import grpc

from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity.hosting.v1beta1.hosting_service_pb2_grpc import HostingServiceServicer
from happycity.match import one_line
from happycity.runtime.tokens import Role
from happycity_server.access.gate import RateLimits
from happycity_server.access.roles import check_name, principal
from happycity_server.errors import ApiError, Reason, invalid, too_many, within
from happycity_server.hosting.hosting import MOST_WAITING, Hosting
from happycity_server.hosting.submissions import Program, State, Submission, Upload
from happycity_tournament.wire import timestamp

PART_SECONDS = 10.0
"""How long the next part of a submission may take to come."""
MOST_UPLOADS = 4
PER_DAY = 24
"""Submissions of an owner in a day."""
MAX_COMMAND = 1000
"""Characters of a command, or of an image's name."""
_STATES = {state: pb.SubmissionState.Value(f"SUBMISSION_STATE_{state.name}") for state in State}
_Context = grpc.aio.ServicerContext[Any, Any]


class HostingService(HostingServiceServicer):
    """Decodes, asks the hosting, encodes. A call acts for the owner of its token."""

    def __init__(self, hosting: Hosting, *, house: frozenset[str], now: Callable[[], datetime]) -> None:
        """Serve authors, whose bots get no name of the house."""
        self._hosting = hosting
        self._house = house
        self._now = now
        self._uploads = asyncio.Semaphore(MOST_UPLOADS)
        self._rates = RateLimits(
            rate=PER_DAY / 86400,
            burst=PER_DAY,
            clock=lambda: now().timestamp(),
            quota=f"{PER_DAY} submissions a day",
        )

    async def Submit(self, requests: object, context: _Context) -> pb.Submission:
        """Take a program in."""
        caller = principal()
        if caller.token is None:
            raise ApiError(Reason.UNAUTHENTICATED, "the call shows no token of this server's file")
        if self._uploads.locked():
            raise too_many(MOST_UPLOADS, "uploads")
        if self._hosting.is_full:
            raise too_many(MOST_WAITING, "trials")
        async with self._uploads:
            first = await _part(context)
            if first is None or not first.HasField("bot"):
                raise invalid("bot: the first message of a submission says what it is")
            program = self._program(first.bot)
            self._rates.sweep()
            self._rates.take(caller.token.owner)
            uploading = ExitStack()
            try:
                with within("file"):
                    upload = uploading.enter_context(self._hosting.submissions.upload(program))
                    await _receive(upload, context)
                    submission = await self._hosting.keep(upload, caller.token.owner, self._now())
            except OSError as error:
                raise ApiError(Reason.STORE_UNAVAILABLE, f"it can't be kept: {error.strerror}") from None
            finally:
                await asyncio.to_thread(uploading.close)  # which may have many files to remove
        return self._message(submission)

    async def GetSubmission(self, request: pb.GetSubmissionRequest, context: object) -> pb.Submission:
        """Return a submission, with the end of its log."""
        found = self._hosting.submissions.find(request.bot, request.digest)
        if found is None or not _is_own(found):
            raise invalid(f"bot: you have no such submission of {request.bot[:64]!r}")
        return self._message(found, with_log=True)

    async def ListSubmissions(
        self, request: pb.ListSubmissionsRequest, context: object
    ) -> pb.ListSubmissionsResponse:
        """List the submissions that the caller may see."""
        own = [self._message(one) for one in self._hosting.submissions if _is_own(one)]
        return pb.ListSubmissionsResponse(submissions=own)

    async def WithdrawSubmission(
        self, request: pb.WithdrawSubmissionRequest, context: object
    ) -> pb.Submission:
        """End a bot that plays."""
        playing = self._hosting.submissions.playing(request.bot)
        if playing is None or not _is_own(playing):
            raise invalid(f"bot: none of your bots that play here is called {request.bot[:64]!r}")
        return self._message(await self._hosting.withdraw(playing))

    def _program(self, bot: pb.HostedBot) -> Program:
        """Read what is submitted; ApiError if the server can't run it."""
        check_name(bot.name, house=self._house)
        for field in ("command", "language", "image"):
            if len(getattr(bot, field)) > MAX_COMMAND:
                raise invalid(f"bot.{field}: it has more than {MAX_COMMAND} characters")
        if bool(bot.image) != self._hosting.sandbox.takes_images:
            wanted = "an image" if self._hosting.sandbox.takes_images else "files, not an image"
            raise invalid(f"bot.image: this server runs {wanted}")
        if bot.image.startswith("-"):
            raise invalid(f"bot.image: {bot.image[:80]!r} is not the name of an image")
        if not (bot.command or bot.image):
            raise invalid("bot.command: it is missing")
        return Program(
            bot=bot.name, command=bot.command, language=one_line(bot.language), image=one_line(bot.image)
        )

    def _message(self, submission: Submission, *, with_log: bool = False) -> pb.Submission:
        """Write a submission."""
        submissions = self._hosting.submissions
        cpu_seconds, memory = submissions.usage(submission)
        return pb.Submission(
            bot=submission.bot,
            digest=submission.digest,
            owner=submission.owner,
            state=_STATES[submission.state],
            language=submission.program.language,
            image=submission.program.image,
            files=submission.files,
            bytes=submission.size,
            create_time=timestamp(submission.created.timestamp()),
            result=submission.result,
            log_end=submissions.log_end(submission) if with_log else "",
            cpu_seconds=cpu_seconds,
            peak_memory_bytes=memory,
        )


def _is_own(submission: Submission) -> bool:
    """Return whether the caller may see a submission."""
    caller = principal()
    own = caller.token is not None and caller.token.owner == submission.owner
    return own or Role.ORGANISER in caller.roles


async def _part(context: _Context) -> pb.SubmitRequest | None:
    """Return the next part of a submission; None at its end."""
    try:
        part = await asyncio.wait_for(context.read(), PART_SECONDS)
    except TimeoutError:
        text = f"the next part of the submission did not come within {PART_SECONDS:g} s"
        raise ApiError(Reason.STALLED, text) from None
    return part if isinstance(part, pb.SubmitRequest) else None


async def _receive(upload: Upload, context: _Context) -> None:
    """Take all files of a submission in; ConfigError if one can't be taken."""
    while (part := await _part(context)) is not None:
        match part.WhichOneof("part"):
            case "file":
                executable = part.file.executable
                await asyncio.to_thread(upload.begin_file, part.file.path, executable=executable)
            case "content":
                await asyncio.to_thread(upload.add, part.content)
            case _:
                raise invalid("bot: only the first message says what is submitted")
