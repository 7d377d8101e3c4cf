"""What is the server's own fault is said when it starts, and never charged to a guest's bot."""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import structlog
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs
from tests.server.harness import settings
from tests.server.hosting.conftest import why_not
from tests.waiting import LIMIT

from happycity import ConfigError, HappyCityError
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity_server.hosting import hosting, trial
from happycity_server.hosting.hosting import Hosting
from happycity_server.hosting.trial import TrialError
from happycity_server.process.programs import Programs
from happycity_tournament.hosted import sandbox
from happycity_tournament.hosted.sandbox import BWRAP, MEMORY_BYTES, Sandbox
from happycity_tournament.hosted.submissions import HostedBot, Submission, Submissions, SubmissionState

TEMPLATE = "true {socket} {folder} {command}"
"""A sandbox that needs nothing of this machine."""


class Guests:
    """Stands for a server and its tokens: one bot has one."""

    is_open = False

    def __init__(self) -> None:
        self.gate = self.authenticator = self

    def now(self) -> datetime:
        return datetime.now(UTC)

    def bots(self) -> set[str]:
        return {"alice"}


async def tried(folder: Path, tries: Callable[[], str], sandbox_check: Callable[[], None]) -> Submission:
    """Submit a bot, whose trial ends in a way; return what became of it."""
    submissions = Submissions(folder / "bots")
    hosted = Hosting(settings(folder, sandbox=TEMPLATE), submissions, cast("Any", Guests()))
    over, loop, save = asyncio.Event(), asyncio.get_running_loop(), hosted.submissions.save

    def saved(submission: Submission) -> None:
        save(submission)
        if submission.result:
            loop.call_soon_threadsafe(over.set)

    async def run_trial(*_: object) -> tuple[str, ...]:
        return (tries(),)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hosted.submissions, "save", saved)
        patch.setattr(hosted.sandbox, "check", sandbox_check)
        patch.setattr(hosting, "run_trial", run_trial)
        await hosted.start(Programs())
        with closing(hosted.submissions.upload(HostedBot(name="alice", command="python x"))) as upload:
            upload.take(pb.SubmissionPart(file=pb.HostedFile(path="x")))
            upload.take(pb.SubmissionPart(content=b"x"))
            await hosted.keep(upload, "Team 7", datetime.now(UTC))
        async with asyncio.timeout(LIMIT):
            await over.wait()
        await hosted.stop()
    (submission,) = hosted.submissions
    return submission


def fails(error: Exception) -> Callable[[], Any]:
    def fail() -> None:
        raise error

    return fail


def has_files(folder: Path) -> bool:
    return any(folder.glob("bots/**/files/x"))


WRONG_BOT = TrialError("conformance: the bot did not connect; its process ended with status 127")


@pytest.mark.parametrize(
    ("tries", "check", "state"),
    [
        (fails(WRONG_BOT), lambda: None, SubmissionState.REJECTED),
        (
            fails(WRONG_BOT),
            fails(ConfigError("bwrap makes no namespaces")),
            SubmissionState.TRYING,
        ),
        (fails(OSError(28, "No space left on device")), lambda: None, SubmissionState.TRYING),
        (fails(RuntimeError()), lambda: None, SubmissionState.TRYING),
    ],
    ids=["the bot's command", "no sandbox any more", "a full disk", "a defect of the server"],
)
async def test_only_a_bots_own_fault_rejects_it(
    tmp_path: Path, tries: Callable[[], str], check: Callable[[], None], state: SubmissionState
) -> None:
    """The others are tried again by the next server."""
    submission = await tried(tmp_path, tries, check)
    assert submission.state is state
    assert ("no fault of the bot" in submission.result[0]) == (state is SubmissionState.TRYING)
    assert has_files(tmp_path) == (state is SubmissionState.TRYING)


@pytest.mark.level(2)
async def test_suite_that_fails_itself_rejects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "STEPS", ("no-such-step",))
    with pytest.raises(HappyCityError, match="there is no step 'no-such-step'") as failed:
        await trial.check_conformance(("true",))
    assert not isinstance(failed.value, TrialError)


def make_python(place: Path, sdk: str) -> None:
    """Make a virtual environment with a module `sdk_of_this_test`."""
    (place / "bin").mkdir()
    for name in ("python", "python3"):
        (place / "bin" / name).symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    (place / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
    packages = place / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "sdk_of_this_test.py").write_text(sdk)
    sys.path.insert(0, str(packages))


@pytest.mark.level(3)
@pytest.mark.parametrize("below", ["/tmp", "/dev/shm", "/run", "/var/tmp"])
def test_python_may_be_below_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    """The sandbox has folders of its own there, which don't hide Python."""
    if reason := why_not():
        pytest.skip(reason)
    if not Path(below).is_dir():
        pytest.skip(f"there is no {below}")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sandbox, "_SDK", ("sdk_of_this_test",))
    try:
        made = tempfile.TemporaryDirectory(dir=below)
    except PermissionError:
        pytest.skip(f"{below} can't be written to")
    with made as name:
        Path(name).chmod(0o755)
        make_python(Path(name), "")
        monkeypatch.setattr(sys, "prefix", name)
        Sandbox(BWRAP, tmp_path, memory=MEMORY_BYTES)


@pytest.mark.level(3)
def test_a_server_whose_bots_could_not_import_the_sdk_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := why_not():
        pytest.skip(reason)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sandbox, "_SDK", ("sdk_of_this_test",))
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        make_python(Path(name), "import nothing_like_it")
        monkeypatch.setattr(sys, "prefix", name)
        with pytest.raises(ConfigError, match=r"bwrap doesn't run .*No module named 'nothing_like_it'"):
            Sandbox(BWRAP, tmp_path, memory=MEMORY_BYTES)


def test_a_server_without_bubblewrap_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="there is no program 'bwrap' on this machine"):
        Sandbox(BWRAP, tmp_path, memory=MEMORY_BYTES)


async def test_lines_of_a_trial_name_its_bot(tmp_path: Path) -> None:
    """It has an arena of its own, where bots have names that others have at the server."""

    def connects() -> str:
        structlog.get_logger().info("bot_connected", bot="random")
        raise WRONG_BOT

    with capture_logs([merge_contextvars]) as lines:
        await tried(tmp_path, connects, lambda: None)
    assert [line.get("trial") for line in lines if line["event"] == "bot_connected"] == ["alice"]
    assert not any("trial" in line for line in lines if line["event"] != "bot_connected")
