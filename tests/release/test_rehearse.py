"""The rehearsal of a release: what it finds wrong in a package, and which steps it leaves out."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from tools import ROOT
from tools.release.account import Account, CommandError
from tools.release.contents import Package, find, problems
from tools.release.rehearse import STANDINGS, Rehearsal, RehearsalError, RehearsalStep, table

pytestmark = pytest.mark.level(1)

WHEEL = Package(
    language="python",
    file="a-{v}.whl",
    holds=(r"/LICENSE$",),
    says={r"/METADATA$": "\nVersion: {v}\n"},
)


def packed(folder: Path, *names: str) -> Path:
    path = folder / "a-1.2.3.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "Name: a\nVersion: 1.2.3\n")
    return path


def test_a_package_is_searched_for_what_it_lacks_and_has_too_much(tmp_path: Path) -> None:
    path = packed(tmp_path, "a/LICENSE", "a/METADATA", "a/templates/tests/bot.rs.in")
    assert find(WHEEL, tmp_path, "1.2.3") == path
    assert find(WHEEL, tmp_path, "1.2.4") is None
    assert list(problems(WHEEL, path, "1.2.3")) == []
    assert list(problems(WHEEL, path, "1.2.4")) == [
        "a-1.2.3.whl: no file like /METADATA$ says Version: 1.2.4"
    ]
    path = packed(tmp_path, "a/METADATA", "a/tests/b.py", "a/b_test.go")
    assert list(problems(WHEEL, path, "1.2.3")) == [
        "a-1.2.3.whl: it has no file like /LICENSE$",
        "a-1.2.3.whl: a/tests/b.py doesn't belong there",
        "a-1.2.3.whl: a/b_test.go doesn't belong there",
    ]


class Three(Rehearsal):
    """A rehearsal of three steps, of which the second one fails."""

    def steps(self) -> Iterable[RehearsalStep]:
        yield RehearsalStep("first", lambda: self.prove("wheel", "first"))
        yield RehearsalStep("second", self.fail, (), ("first",))
        yield RehearsalStep("third", lambda: self.prove("wheel", "third"), (), ("second",))
        yield RehearsalStep("fourth", lambda: self.prove("wheel", "fourth"), ("no-such-tool",))

    def fail(self) -> None:
        raise RehearsalError("two files differ")


def test_a_failed_step_is_one_line_and_what_needs_it_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rehearsal = Three(scratch=tmp_path, version="1.2.3")
    rehearsal.rehearse()
    assert capsys.readouterr().err == "first: done (0 s)\nsecond: two files differ (0 s)\n"
    assert rehearsal.failed == {"second": "two files differ"}
    assert rehearsal.skipped == {"third": "needs second", "fourth": "no-such-tool missing"}
    rehearsal.dist.mkdir()
    (rehearsal.dist / "happycity-1.2.3-py3-none-any.whl").write_bytes(b"1" * 1234)
    header, row, *rest = table(rehearsal).splitlines()
    assert header.split() == ["package", "bytes", "sha256", "proven"]
    assert row.split()[:2] == ["wheel", "1,234"]
    assert row.endswith("  first")
    assert rest == [
        "skipped: third: needs second",
        "skipped: fourth: no-such-tool missing",
        "failed: second: two files differ",
    ]


def test_standings_are_found_without_the_lines_with_speeds() -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [line.split()[1] for line in STANDINGS.findall(shown)] == [
        "rollout",
        "planner",
        "greedy",
        "random",
    ]


def test_a_user_has_nothing_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of it and no command beside its `happycity`; what fails is named by its last line."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/happycity").write_text("")
    for name, value in {
        "PYTHONPATH": "/checkout/game",
        "HAPPYCITY_SERVER": "127.0.0.1:1",
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
    }.items():
        monkeypatch.setenv(name, value)
    user = Account(tmp_path / "home", tmp_path / "dist", "1.2.3")
    variables = user.run("env").splitlines()
    assert f"HOME={tmp_path}/home" in variables
    assert f"PATH={tmp_path}/home/venv/bin:/usr/bin:/bin" in variables
    assert [line for line in variables if line.startswith(("PYTHON", "HAPPYCITY"))] == []
    with pytest.raises(CommandError, match=r"^sh -c 'echo a; echo b; exit 3': status 3: b$"):
        user.run("sh", "-c", "echo a; echo b; exit 3")
    with pytest.raises(CommandError, match="true: it ended and printed nothing"), user.running("true"):
        pass
