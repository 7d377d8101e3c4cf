"""What is submitted stays in its folder, and within its limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from happycity import ConfigError
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity.wire.match import duration_message
from happycity_tournament.hosted import submissions as limits
from happycity_tournament.hosted.submissions import HostedBot, Submission, Submissions, SubmissionState, Usage

NOW = datetime(2026, 1, 2, tzinfo=UTC)
BOT = HostedBot(name="alice", command="python bot.py", language="Python")


def submit(store: Submissions, files: Sequence[tuple[str, bytes]], bot: HostedBot = BOT) -> Submission:
    with closing(store.upload(bot)) as upload:
        for path, content in files:
            upload.take(pb.SubmissionPart(file=pb.HostedFile(path=path, executable=path.startswith("bin/"))))
            upload.take(pb.SubmissionPart(content=content))
        return store.keep(upload, "Team 7", NOW)


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "/",
            ".",
            "..",
            "/etc/passwd",
            "//x",
            "a/",
            "a//b",
            "./a",
            "a/.",
            "../a",
            "a/../b",
            "a/../../b",
        ),
        *(
            "..\\a",
            "\\a",
            "C:/a",
            "C:a",
            "a:stream",
            "a\0b",
            "a\nb",
            "a\rb",
            "a\x1b[2Jb",
            "a\u202eb",
            "a\u2028b",
        ),
        *(" a", "a ", "a /b", "a/ b", "x" * 201, "/".join("abcdefghijklm"), "../../../../tmp/x", "a\tb"),
    ],
)
def test_path_that_leads_elsewhere(tmp_path: Path, path: str) -> None:
    """A path that is not plainly below the folder is refused, and nothing of the submission is left."""
    store = Submissions(tmp_path / "hosted")
    before = everything(tmp_path)
    with pytest.raises(ConfigError):
        submit(store, [("bot.py", b"x"), (path, b"y")])
    assert everything(tmp_path) == before


@pytest.mark.level(2)
@pytest.mark.parametrize(
    "files",
    [
        [],
        [("a", b"x"), ("a", b"y")],
        [("a", b"x"), ("a/b", b"y")],
        [("a/b", b"x"), ("a", b"y")],
        [(f"{number}", b"") for number in range(limits.MAX_FILES + 1)],
        [("big", b"x" * (limits.MAX_BYTES // 2)), ("more", b"x" * (limits.MAX_BYTES // 2 + 1))],
    ],
    ids=["none", "twice", "file as folder", "folder as file", "too many", "too large"],
)
def test_files_that_are_refused(tmp_path: Path, files: list[tuple[str, bytes]]) -> None:
    """Files that clash or exceed a limit are refused, and nothing of them is left."""
    store = Submissions(tmp_path / "hosted")
    with pytest.raises(ConfigError):
        submit(store, files)
    assert everything(tmp_path) == {"hosted"}


@pytest.mark.parametrize(
    "part",
    [pb.SubmissionPart(content=b"x"), pb.SubmissionPart(bot=pb.HostedBot(name="alice")), pb.SubmissionPart()],
)
def test_part_out_of_order(tmp_path: Path, part: pb.SubmissionPart) -> None:
    """Content that belongs to no file, and a second head, are refused."""
    with closing(Submissions(tmp_path).upload(BOT)) as upload, pytest.raises(ConfigError):
        upload.take(part)


def test_version_is_the_digest_of_the_content(tmp_path: Path) -> None:
    """The order of the files doesn't matter; each byte, name, right and the command does."""
    store, files = Submissions(tmp_path), [("bot.py", b"x"), ("data/a", b"y")]
    first = submit(store, files)
    assert submit(store, files[::-1]).digest == first.digest
    others = [
        submit(store, [("bot.py", b"z"), ("data/a", b"y")]),
        submit(store, [("bot.py", b"x"), ("data/b", b"y")]),
        submit(store, [("bot.py", b"x"), ("bin/a", b"y")]),
        submit(store, files, HostedBot(name="alice", command="python other.py", language="Python")),
    ]
    assert len({first.digest, *(one.digest for one in others)}) == 5
    place = store.place(first) / "files"
    assert (place / "data/a").read_bytes() == b"y"
    assert not os.access(place / "bot.py", os.X_OK) or os.stat(place / "bot.py").st_mode & 0o111 == 0


def test_copy_is_what_its_digest_says(tmp_path: Path) -> None:
    """A copy has the files and rights of the original; nothing is kept of other bytes, names or commands."""
    store, copies = Submissions(tmp_path / "hosted"), Submissions(tmp_path / "copies")
    original = submit(store, [("bin/run", b"x" * 300_000), ("empty", b""), ("data/a", b"y")])
    copy = copies.copy("alice", original.digest, store.parts(original))
    assert (copy.bot, copy.digest, copy.files) == (BOT, original.digest, 3)
    assert os.access(copies.place(copy) / "files/bin/run", os.X_OK)
    copies.remove(copy)
    parts = list(store.parts(original))
    for name, changed in (
        ("ben", parts),
        ("alice", []),
        ("alice", parts[:-1]),
        ("alice", [*parts, pb.SubmissionPart(content=b"z")]),
        ("alice", [pb.SubmissionPart(bot=pb.HostedBot(name="alice", command="sh")), *parts[1:]]),
        ("alice", [*parts[:1], pb.SubmissionPart(file=pb.HostedFile(path="../x")), *parts[1:]]),
    ):
        with pytest.raises(ConfigError):
            copies.copy(name, original.digest, iter(changed))
    assert not everything(tmp_path / "copies") - {"bot.alice"}


def test_restart_knows_all(tmp_path: Path) -> None:
    """A new server finds what was submitted and what became of it; files of rejected bots are gone."""
    store = Submissions(tmp_path)
    plays, rejected = submit(store, [("a", b"1")]), submit(store, [("a", b"2")])
    plays = store.change(
        plays, state=SubmissionState.PLAYING, usage=Usage(cpu_seconds=1.5, peak_memory_bytes=7)
    )
    rejected = store.change(rejected, state=SubmissionState.REJECTED, result=("no",))
    store.save(plays)
    store.save(rejected)
    (tmp_path / "incoming-left").mkdir()
    again = Submissions(tmp_path)
    assert again.playing("alice") == plays
    assert again.find("alice", rejected.digest) == rejected
    assert not (again.place(rejected) / "files").exists()
    assert not (tmp_path / "incoming-left").exists()


@pytest.mark.parametrize("bot", [".", ".."])
def test_names_are_no_paths(tmp_path: Path, bot: str) -> None:
    """A bot may be called like a folder above; its files are in the folder all the same."""
    store = Submissions(tmp_path / "hosted")
    kept = submit(store, [("a", b"1")], HostedBot(name=bot, command="x"))
    assert store.place(kept).resolve().parent.parent == (tmp_path / "hosted").resolve()


def test_submissions_get_a_new_owner_or_go(tmp_path: Path) -> None:
    """Those of others stay, and what plays goes when it has ended."""
    store = Submissions(tmp_path)
    mine, other = (submit(store, [("bot.py", text)]) for text in (b"1", b"2"))
    store.save(store.change(mine, state=SubmissionState.PLAYING))
    store.save(store.change(other, owner="Team 8"))
    store.rename_owner("Team 7", "Team 9")
    assert {one.digest: one.owner for one in Submissions(tmp_path)} == {
        mine.digest: "Team 9",
        other.digest: "Team 8",
    }
    store.rename_owner("Team 9", None)
    playing = store.playing("alice")
    assert playing is not None
    store.save(store.change(playing, state=SubmissionState.RETIRED))
    store.rename_owner("Team 9", None)
    assert [one.owner for one in Submissions(tmp_path)] == ["Team 8"]
    assert not store.place(mine).exists()


def test_changes_of_one_submission_do_not_undo_each_other(tmp_path: Path) -> None:
    """Who changes it may have read it before another change: each changes only what it names."""
    store = Submissions(tmp_path)
    read = submit(store, [("a", b"1")])
    used = pb.Submission(bot=pb.HostedBot(name="alice"), digest=read.digest, cpu_time=duration_message(2.0))
    store.add_usage([used, used])
    store.save(store.change(read, state=SubmissionState.PLAYING))
    store.save(store.change(read, owner="Team 8"))
    (again,) = Submissions(tmp_path)
    assert (again.state, again.owner, again.usage.cpu_seconds) == (SubmissionState.PLAYING, "Team 8", 4.0)


def test_folder_of_an_earlier_server_is_read(tmp_path: Path) -> None:
    """A submission is stored as the contract's message, as servers did that had no class of their own."""
    folder = tmp_path / "bot.alice" / ("ab" * 32)
    folder.mkdir(parents=True)
    (folder / "submission.json").write_text(
        '{"bot": {"name": "alice", "command": "python bot.py"}, "digest": "' + "ab" * 32 + '",'
        ' "owner": "Team 7", "state": "SUBMISSION_STATE_PLAYING", "files": 1, "bytes": "300",'
        ' "createTime": "2026-01-02T00:00:00.123456Z", "result": ["fine"], "cpuTime": "1.500s",'
        ' "peakMemoryBytes": "70"}'
    )
    (stored,) = Submissions(tmp_path)
    assert stored == Submission(
        bot=HostedBot(name="alice", command="python bot.py"),
        digest="ab" * 32,
        owner="Team 7",
        state=SubmissionState.PLAYING,
        files=1,
        bytes=300,
        created_at=NOW.replace(microsecond=123456),
        result=("fine",),
        usage=Usage(cpu_seconds=1.5, peak_memory_bytes=70),
    )
    assert Submission.of(stored.message()) == stored
