"""Hosted bots in the browser: an author submits a folder of files, and reads what became of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity_server.access.roles import principal
from happycity_server.errors import ApiError, Reason, invalid
from happycity_web.query import Query
from happycity_web.render import NoSuchPageError, Page
from happycity_web.watch import Feeds

_LINE_BYTES = 1024 * 1024
"""The longest line that tells of all files of a submission."""
_SHOWN = 20


async def hosted_page(feeds: Feeds, request: Request, _: Query) -> Page:
    """Show the latest submissions of the caller's owner, to an organiser those of all, and the newest log."""
    principal().require_token("the page of submitted bots")
    arena = feeds.arena
    if arena.hosting is None:
        raise NoSuchPageError
    submissions = list((await arena.call(arena.hosting.ListSubmissions, page_size=_SHOWN)).submissions)
    if submissions:
        bot, digest = submissions[0].bot.name, submissions[0].digest
        submissions[0] = await arena.call(arena.hosting.GetSubmission, bot=bot, digest=digest)
    bot = arena.own_bot()
    before = next((one.bot for one in submissions if one.bot.name == bot), pb.HostedBot())
    return Page("hosted.html", {"submissions": submissions, "bot": bot, "before": before}, ("submissions",))


async def submit(feeds: Feeds, request: Request) -> Response:
    """Submit the files that a script sends for the bot whose token the browser has; the answer is JSON."""
    arena = feeds.arena
    if arena.hosting is None:
        raise NoSuchPageError
    submission = await arena.call(arena.hosting.Submit, _parts(arena.own_bot(), request))
    return JSONResponse({"digest": submission.digest})


async def _parts(bot: str, request: Request) -> AsyncIterator[pb.SubmissionPart]:
    """Yield the parts of a submission: the body is a line of JSON about it, and the contents of its files.

    Browsers don't tell which files may be executed, so all may.
    """
    stream, content = aiter(request.stream()), b""
    try:
        while b"\n" not in content and len(content) <= _LINE_BYTES:
            content += await anext(stream)
        line, _, content = content.partition(b"\n")
        try:
            described = json.loads(line)
            head = pb.HostedBot(name=bot, command=described["command"], language=described["language"])
            files = [
                (pb.HostedFile(path=path, executable=True), int(size)) for path, size in described["files"]
            ]
        except (KeyError, TypeError, ValueError):
            raise invalid("bot", "the browser doesn't say what it submits; load the page again") from None
        yield pb.SubmissionPart(bot=head)
        for file, size in files:
            yield pb.SubmissionPart(file=file)
            while size > 0:
                content = content or await anext(stream)
                yield pb.SubmissionPart(content=content[:size])
                content, size = content[size:], size - len(content)  # noqa: PLW2901 - what is left of it
    except (ClientDisconnect, StopAsyncIteration):
        raise ApiError(Reason.STALLED, "the upload was interrupted") from None
