"""Projects of agents that do anything to their folder: it can be restored, committed, and read safely."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.server.hosting.conftest import needs_sandbox

from happycity.errors import ConfigError
from happycity_league.config import AgentConfig
from happycity_league.projects import EditError, Project
from happycity_tournament.hosted.submissions import Submissions

pytestmark = [pytest.mark.level(3), needs_sandbox]
AGENTS = Path(__file__).parent / "agents"
BOT_FILE = 'name = "x"\ncommand = "python bot.py"\nfiles = ["bot.py"]\n'
Make = Callable[[str], Project]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes a project whose agent runs some Python."""

    def made(code: str) -> Project:
        start = tmp_path / "start"
        shutil.copytree(AGENTS / "climber", start, dirs_exist_ok=True)
        (start / "edit.py").write_text(code)
        command = shlex.join([sys.executable, "edit.py"])
        agent = AgentConfig(name="ann", project=str(start), command=command, network=False, disk_mb=16)
        project = Project(tmp_path / "league", agent)
        asyncio.run(project.create())
        return project

    return made


def edited(project: Project, tmp_path: Path) -> str:
    """Let the agent edit, commit that, and submit it; return the digest of the content."""
    problem, _, _ = asyncio.run(project.edit(1))
    assert problem == "", project.log.read_text()
    asyncio.run(project.commit(1))
    return project.submit(Submissions(tmp_path / "bots"), "ann-1")[1]


def test_an_edit_is_a_commit_with_a_tag(make: Make, tmp_path: Path) -> None:
    """Versions of equal files have one content, whatever they are called."""
    code = "text = open('bot.py').read()\nopen('bot.py', 'w').write(text.replace('CARE = 0', 'CARE = 1'))\n"
    project = make(code)
    submissions = Submissions(tmp_path / "bots")
    first, content = project.submit(submissions, "ann-0")
    again, same = project.submit(submissions, "ann-7")
    assert (first.digest == again.digest, content == same) == (False, True)
    assert edited(project, tmp_path) != content
    assert asyncio.run(project.commit(1)) == 2
    asyncio.run(project.restore(0))
    assert "CARE = 0" in (project.folder / "bot.py").read_text()


def test_history_can_be_read_and_not_written(make: Make) -> None:
    project = make(
        "import subprocess\n"
        "def git(*words): return subprocess.run(['git', *words], capture_output=True, text=True)\n"
        "print(git('log', '--oneline', '--decorate').stdout)\n"
        "for words in (['tag', 'cycle-9'], ['config', 'core.fsmonitor', 'x'], ['commit', '-am', 'x']):\n"
        "    assert git(*words).returncode, words\n"
    )
    assert asyncio.run(project.edit(1))[0] == ""
    assert "tag: cycle-0" in project.log.read_text()


def test_shared_code_is_all_of_the_project(make: Make, tmp_path: Path) -> None:
    """An agent can't keep a file from those who may read its code."""
    project = make("open('.gitattributes', 'w').write('* export-ignore')")
    edited(project, tmp_path)
    project.prepare({}, [asyncio.run(project.archive(1))])
    with tarfile.open(project.folder / "feedback/ann.tar") as archive:
        assert {*archive.getnames()} == {".gitattributes", "bot.py", "bot.toml", "edit.py"}


def test_an_edit_practises_without_a_network(make: Make, tmp_path: Path) -> None:
    """The command is that of the brief; what it leaves is no part of the project."""
    project = make(
        "import subprocess, sys\n"
        "bot = f'mine={sys.executable} bot.py'\n"
        "command = 'tournament run --bots greedy --seats 2 --rounds 1 --bot'.split()\n"
        "sys.exit(subprocess.run([sys.executable, '-m', 'happycity', *command, bot]).returncode)\n"
    )
    assert asyncio.run(project.edit(1))[0] == "", project.log.read_text()
    assert "greedy" in project.log.read_text()
    assert (project.folder / "runs").exists()
    assert asyncio.run(project.commit(1)) == 0


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (
            "os.remove('bot.py'); os.symlink('/etc/passwd', 'bot.py')",
            "bot.py: it is not a file, or behind a link",
        ),
        ("os.remove('bot.py')", "there is no bot.py; build the bot first"),
        (
            "os.remove('bot.toml'); os.symlink('/etc/passwd', 'bot.toml')",
            "bot.toml: it is not a file of 65536",
        ),
        ("open('bot.toml', 'w').write('x' * 70000)", "bot.toml: it is not a file of 65536 bytes at most"),
        ("open('bot.toml', 'w').write('x')", "bot.toml is not TOML"),
        (
            "open('bot.toml', 'w').write(BOT.replace('bot.py\"]', '../../bea/*\"]'))",
            "there is no ../../bea/*",
        ),
        ("open('bot.toml', 'w').write(BOT + 'image = \"x\"')", "name either command and files, or image"),
        ("open('bot.toml', 'w').write(BOT.replace('python bot.py', ''))", "name either command and files"),
    ],
)
def test_what_can_not_be_submitted_is_named(make: Make, tmp_path: Path, code: str, problem: str) -> None:
    project = make(f"import os\nBOT = {BOT_FILE!r}\n{code}\n")
    (tmp_path / "league/agents/bea").mkdir()
    with pytest.raises(EditError) as raised:
        edited(project, tmp_path)
    assert problem in str(raised.value)
    assert str(tmp_path) not in str(raised.value)


@pytest.mark.parametrize(
    "code",
    [
        "os.mkdir('closed'); open('closed/file', 'w'); os.chmod('closed', 0)",
        "os.mkdir('.git'); open('.git/HEAD', 'w').write('ref: x'); open('.git/config', 'w').write('[x')",
        "subprocess.run(['git', 'init', 'inner'], env={'PATH': os.environ['PATH']}, check=True)",
        "os.remove('bot.py'); os.mkfifo('bot.py')",
        "open('.gitattributes', 'w').write('* filter=x')",
        "[open(f'file {n}', 'w') for n in range(3000)]",
        "os.symlink('/etc', 'feedback'); os.symlink('/etc/motd', 'BRIEF.md'); os.symlink('/x', 'usage.json')",
        "os.rename('bot.py', 'bot\\n\\x1b[2J.py'); open('bot.py', 'w')",
    ],
)
def test_a_folder_is_restored_whatever_is_in_it(make: Make, code: str) -> None:
    """It is committed or not; then the next edit finds the project of before, and its brief and feedback."""
    project = make(f"import os, subprocess\n{code}\n")
    assert asyncio.run(project.edit(1))[0] == "", project.log.read_text()
    with suppress(ConfigError):
        asyncio.run(project.commit(1))
    project.usage()
    project.prepare({"edit.json": "{}"})
    assert (project.folder / "feedback/edit.json").read_text() == "{}"
    assert not (project.folder / "BRIEF.md").is_symlink()
    asyncio.run(project.restore(0))
    own = {path.name for path in project.folder.iterdir()} - {".git"}
    assert own == {"bot.py", "bot.toml", "edit.py"}


@pytest.mark.parametrize(
    ("content", "usage"),
    [
        ('{"tokens": 12, "money": 0.5}', {"tokens": 12.0, "money": 0.5}),
        ('{"tokens": "many"}', {}),
        ("[" * 60_000, {}),
        ('{"a": NaN}', {}),
        ("x" * 70_000, {}),
    ],
)
def test_usage_is_numbers(make: Make, content: str, usage: dict[str, float]) -> None:
    project = make("")
    (project.folder / "usage.json").write_text(content)
    assert project.usage() == usage
