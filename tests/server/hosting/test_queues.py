"""No owner keeps others from submitting, or from having their bots tried."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from tests.server.harness import settings
from tests.server.hosting.test_server_faults import TEMPLATE, Guests
from tests.waiting import LIMIT

from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity_runtime.tokens import Role, new_token
from happycity_server.access.roles import Principal
from happycity_server.errors import ApiError
from happycity_server.hosting import hosting, service, trial_queue
from happycity_server.hosting.hosting import Hosting
from happycity_server.hosting.service import HostingService
from happycity_server.hosting.trial_queue import TrialQueue
from happycity_server.process.programs import Programs
from happycity_tournament.hosted.submissions import HostedBot, Submission, Submissions, SubmissionState


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 12, tzinfo=UTC)

    def wall(self) -> datetime:
        return self.now

    def steady(self) -> float:
        return self.now.timestamp()


def submission(owner: str, bot: str, digest: str = "") -> Submission:
    now = datetime.now(UTC)
    return Submission(bot=HostedBot(name=bot), owner=owner, digest=digest, created_at=now, files=1, bytes=1)


async def tried(queue: TrialQueue, clock: Clock, seconds: Callable[[str], float], count: int) -> list[str]:
    """Try what waits; return the bots in the order in which they had their turns."""
    found = []
    for _ in range(count):
        async with queue.turn() as one:
            found.append(one.bot.name)
            clock.now += timedelta(seconds=seconds(one.owner))
    return found


async def test_owners_take_turns() -> None:
    """However many bots of an owner wait, another one's comes as soon as that has taken less time."""
    clock = Clock()
    queue = TrialQueue(clock.wall, clock.steady)
    for number in range(1, 5):
        queue.put(submission("Team 7", f"slow{number}"))
    queue.put(submission("Team 8", "quick1"))
    queue.put(submission("Team 8", "quick2"))
    order = await tried(queue, clock, lambda owner: 100 if owner == "Team 7" else 40, 6)
    assert order == ["slow1", "quick1", "quick2", "slow2", "slow3", "slow4"]


async def test_newer_submission_waits_in_place_of_the_older() -> None:
    clock = Clock()
    queue = TrialQueue(clock.wall, clock.steady)
    assert queue.put(submission("Team 7", "alice", "1")) is None
    older = queue.put(submission("Team 7", "alice", "2"))
    assert older is not None
    assert older.digest == "1"
    async with queue.turn() as one:
        assert one.digest == "2"


async def test_trials_of_an_owner_have_a_budget_of_time() -> None:
    """It counts also where a trial fails, and begins again each day."""
    clock = Clock()
    queue = TrialQueue(clock.wall, clock.steady)
    queue.put(submission("Team 7", "alice"))
    queue.check("Team 7")
    with suppress(ArithmeticError):
        async with queue.turn():
            clock.now += timedelta(seconds=trial_queue.SECONDS_PER_DAY)
            raise ArithmeticError
    queue.check("Team 8")
    with pytest.raises(ApiError) as refused:
        queue.check("Team 7")
    assert refused.value.reason.name == "RATE_LIMITED"
    assert refused.value.details.retry_seconds == 11 * 3600
    clock.now += timedelta(hours=11)
    queue.check("Team 7")


class Stream:
    """The messages of an author, who waits before the last until the test lets it go on."""

    def __init__(self, bot: str, *, sends: bool = True) -> None:
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()
        self._bot = pb.HostedBot(name=bot, command="python bot.py")
        self._sends = sends

    async def messages(self) -> AsyncIterator[pb.SubmissionPart]:
        if self._sends:
            yield pb.SubmissionPart(bot=self._bot)
            yield pb.SubmissionPart(file=pb.HostedFile(path="bot.py"))
        self.begun.set()
        await self.goes_on.wait()
        yield pb.SubmissionPart(content=self._bot.name.encode())


class Authors:
    """A service, and what its callers submit."""

    def __init__(self, served: HostingService) -> None:
        self.served = served

    async def submit(self, owner: str, stream: Stream) -> pb.Submission:
        bot = stream._bot.name
        _, token = new_token(Role.BOT, bot, created=datetime.now(UTC), owner=owner)
        caller = Principal(f"token {token.id}", frozenset({Role.BOT}), token)
        return await self.served.Submit(caller, stream.messages())

    async def refusal(self, owner: str, stream: Stream) -> str:
        """Return the reason for which a submission is refused; "" if it is not."""
        try:
            await self.submit(owner, stream)
        except ApiError as error:
            return error.reason.name
        return ""


@asynccontextmanager
async def authors(folder: Path) -> AsyncIterator[Authors]:
    """Serve authors, whose bots are never tried."""
    submissions = Submissions(folder / "bots")
    hosted = Hosting(settings(folder, sandbox=TEMPLATE), submissions, cast("Any", Guests()))
    forever = asyncio.Event()

    async def run_trial(*_: object) -> tuple[str, ...]:
        await forever.wait()
        return ()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hosting, "run_trial", run_trial)
        await hosted.start(Programs())
        yield Authors(HostingService(hosted, house=frozenset(), now=lambda: datetime.now(UTC)))
        await hosted.stop()


def going_on(stream: Stream) -> Stream:
    stream.goes_on.set()
    return stream


async def test_uploads_of_an_owner_come_one_by_one(tmp_path: Path) -> None:
    """A second one is refused while the first comes; another owner waits until one of those has come."""
    async with authors(tmp_path) as them, asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
        streams = [Stream(f"bot{number}") for number in range(service.MOST_UPLOADS + 1)]
        uploads = [
            group.create_task(them.refusal(f"Team {number}", stream)) for number, stream in enumerate(streams)
        ]
        for stream in streams[:-1]:
            await stream.begun.wait()
        assert not streams[-1].begun.is_set()
        assert await them.refusal("Team 0", going_on(Stream("other"))) == "TOO_MANY_OPEN"
        streams[0].goes_on.set()
        assert await uploads[0] == ""
        await streams[-1].begun.wait()  # while all others still come
        uploads.append(group.create_task(them.refusal("Team 0", going_on(Stream("other")))))
        for stream in streams:
            stream.goes_on.set()
        assert [await upload for upload in uploads] == [""] * len(uploads)


async def test_submissions_are_listed_in_pages(tmp_path: Path) -> None:
    """The newest come first, and one that comes meanwhile changes no later page."""
    async with authors(tmp_path) as them:
        submitted = [await them.submit("Team 7", going_on(Stream(f"bot{number}"))) for number in range(3)]
        caller = Principal("organiser", frozenset({Role.ORGANISER}))
        first = await them.served.ListSubmissions(caller, pb.ListSubmissionsRequest(page_size=2))
        await them.submit("Team 8", going_on(Stream("late")))
        following = pb.ListSubmissionsRequest(page_size=2, page_token=first.next_page_token)
        second = await them.served.ListSubmissions(caller, following)
        listed = [*first.submissions, *second.submissions]
        assert [one.bot.name for one in listed] == [one.bot.name for one in reversed(submitted)]
        assert not second.next_page_token


async def test_uploads_have_a_deadline_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An author whose parts come slowly, but each in time, is not waited for; nothing is left of it."""
    monkeypatch.setattr(service, "UPLOAD_SECONDS", 0.0)
    async with authors(tmp_path) as them, asyncio.timeout(LIMIT):
        with pytest.raises(ApiError, match="the submission did not come within 0 s") as refused:
            await them.submit("Team 7", Stream("alice"))
        assert refused.value.reason.name == "STALLED"
        monkeypatch.setattr(service, "UPLOAD_SECONDS", LIMIT)
        assert await them.refusal("Team 7", going_on(Stream("alice"))) == ""
        assert not [*them.served.hosting.submissions.folder.glob("incoming-*")]


async def test_streams_that_send_nothing_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "UPLOAD_SECONDS", 0.0)
    async with authors(tmp_path) as them, asyncio.timeout(LIMIT):
        for _ in range(service.PER_DAY):
            assert await them.refusal("Team 7", Stream("alice", sends=False)) == "STALLED"
        assert await them.refusal("Team 7", Stream("alice", sends=False)) == "RATE_LIMITED"
        assert await them.refusal("Team 8", Stream("bea", sends=False)) == "STALLED"


async def test_replaced_submission_is_rejected_and_its_files_go(tmp_path: Path) -> None:
    """While one bot is tried, others wait: the author of one that a newer replaces reads so."""
    async with authors(tmp_path) as them, asyncio.timeout(LIMIT):
        await them.submit("Team 7", going_on(Stream("first")))  # it is tried
        older = await them.submit("Team 8", going_on(Stream("alice")))
        stream = going_on(Stream("alice"))
        stream._bot.command = "python other.py"
        newer = await them.submit("Team 8", stream)
        store = them.served.hosting.submissions
        found = {one.digest: one for one in store if one.bot.name == "alice"}
        assert found[newer.digest].state is SubmissionState.TRYING
        assert found[older.digest].state is SubmissionState.REJECTED
        assert [*found[older.digest].result] == [*hosting.REPLACED]
        assert not (store.place(found[older.digest]) / "files").exists()
