"""The project of an agent: its folder, its history in git, what the agent finds there, and what it submits.

Files of a project may be anything, links too. So all that is written replaces what has its name, all that is
read is a plain file, and git runs as confined as edits.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path

from pydantic import FiniteFloat, ValidationError

from happycity.errors import ConfigError, HappyCityError
from happycity.match import one_line
from happycity_league.config import AgentConfig
from happycity_league.confined import Confinement
from happycity_runtime.child import MODEL_KEYS, split_command
from happycity_runtime.installation import own_checkout
from happycity_terminal.submitting import BOT_FILE, BotFile
from happycity_tournament.client.run_folder import RUNS
from happycity_tournament.hosted.submissions import HostedBot, Submission, Submissions, digest_of, parts_of
from happycity_tournament.plain_json import adapter

BRIEF_FILE, FEEDBACK, USAGE_FILE = "BRIEF.md", "feedback", "usage.json"
PAGES = ("league.md", "rules.md", "writing-a-bot.md")
"""The pages of the documentation in the brief of agents: what they are asked is a part of the first one."""
_TASK = "What an agent is asked"
"""The chapter of docs/league.md with which a brief begins."""
MAX_FILE = 65_536
"""Bytes of `bot.toml` and `usage.json`."""
MAX_REASON = 300
"""Characters of a reason."""
_GIT = "git -c user.name=league -c user.email=league@localhost -c core.hooksPath=/dev/null -c gc.auto=0"
_CHANGED = re.compile(r"(\d+) (?:insertion|deletion)")


class EditError(ConfigError):
    """An edit can't be taken; the text says why."""


@dataclass(frozen=True, slots=True)
class Project:
    """The project of one agent."""

    league: Path
    """The folder of the league."""
    agent: AgentConfig

    @property
    def folder(self) -> Path:
        """Where the agent works."""
        return self.league / "agents" / self.agent.name

    @property
    def history(self) -> Path:
        """The git repository, outside of the folder, so that an agent can't change what was before."""
        return self.league / "history" / f"{self.agent.name}.git"

    @property
    def log(self) -> Path:
        """The beginning and the end of what the edit printed."""
        return self.league / "edits" / f"{self.agent.name}.log"

    async def create(self) -> None:
        """Make the first project as cycle 0; what is left of an attempt that was killed is replaced."""
        for path in (self.folder, self.history):
            _remove(path)
        shutil.copytree(self.agent.project, self.folder, symlinks=True)
        _remove(self.folder / ".git")
        (self.history / "info").mkdir(parents=True)
        excluded = f"/{BRIEF_FILE}\n/{FEEDBACK}\n/{USAGE_FILE}\n/{RUNS}\n"
        (self.history / "info" / "exclude").write_text(excluded, encoding="utf-8")
        # Or a project might hide files from those whom its code is shown.
        (self.history / "info" / "attributes").write_text("* -export-ignore -export-subst\n")
        await self._git("init --quiet --initial-branch=main")
        await self.commit(0)

    async def commit(self, cycle: int) -> int:
        """Commit and tag a cycle; return how many lines were added and removed."""
        printed = await self._git(
            "add --all",
            f"commit --quiet --allow-empty --message 'Cycle {cycle}'",
            f"tag --force cycle-{cycle}",
            f"diff --shortstat cycle-{max(0, cycle - 1)} cycle-{cycle}",
        )
        return sum(map(int, _CHANGED.findall(printed)))

    async def restore(self, cycle: int) -> None:
        """Make the project what it was at the end of a cycle."""
        await self._git(f"reset --quiet --hard cycle-{cycle}", "clean --quiet -ffdx")

    async def edit(self, cycle: int) -> tuple[str, float, float]:
        """Run the agent's command; see `Confinement.run`."""
        keys = {name: os.environ[name] for name in MODEL_KEYS if name in os.environ}
        variables = {**self._variables, **keys, "HAPPYCITY_CYCLE": str(cycle)}
        self.log.unlink(missing_ok=True)
        confinement = self._confinement(self.agent, writes_history=False)
        return await confinement.run(split_command(self.agent.command), self.log, variables)

    def usage(self) -> dict[str, float]:
        """Return the numbers that the agent reports in `usage.json`; none if it has others, or none."""
        try:
            content = _read(self.folder / USAGE_FILE)
            return {} if content is None else adapter(dict[str, FiniteFloat]).validate_json(content)
        except ValidationError:
            return {}

    def submit(self, submissions: Submissions, name: str) -> tuple[Submission, str]:
        """Keep what would be submitted now under the name of a version; EditError if nothing can be.

        The digest of its content comes too, which is the same for versions of equal files.
        """
        try:
            if _read(self.folder / BOT_FILE) is None:
                raise ConfigError(f"{BOT_FILE}: it is not a file of {MAX_FILE} bytes at most")
            own = BotFile.read(self.folder)
            split_command(own.command)
            bot = HostedBot(name=name, command=own.command, language=own.language)
            paths = own.paths(self.folder)
            with closing(submissions.upload(bot)) as upload:
                for part in islice(parts_of(bot, self.folder, paths), 1, None):
                    upload.take(part)
                submission = submissions.keep(upload, self.agent.name, datetime.now(UTC))
        except (HappyCityError, OSError) as error:
            text = one_line(str(error).replace(f"{self.folder}/", ""))
            raise EditError(f"it can't be submitted: {text[:MAX_REASON]}") from None
        nameless = HostedBot(command=bot.command, language=bot.language)
        return submission, digest_of(nameless, submissions.place(submission) / "files")

    async def archive(self, cycle: int) -> Path:
        """Return the files of a cycle as a tar archive, NAME.tar."""
        path = self.history / f"{self.agent.name}.tar"
        await self._git(f"archive --format=tar --output={shlex.quote(str(path))} cycle-{cycle}")
        return path

    def prepare(self, feedback: Mapping[str, str], archives: Iterable[Path] = ()) -> None:
        """Write the brief, from the docs, and the feedback: texts by the names of files, and archives."""
        league, *others_docs = map(_page, PAGES)
        task = league.read_text("utf-8").partition(f"\n## {_TASK}")[2].partition("\n## ")[0]
        brief = "\n".join([f"# {_TASK}{task}", *(path.read_text("utf-8") for path in others_docs)])
        for name in (USAGE_FILE, BRIEF_FILE, FEEDBACK):
            _remove(self.folder / name)
        (self.folder / FEEDBACK).mkdir()
        for name, text in {f"../{BRIEF_FILE}": brief, **feedback}.items():
            (self.folder / FEEDBACK / name).write_text(text, encoding="utf-8")
        for archive in archives:
            shutil.copyfile(archive, self.folder / FEEDBACK / archive.name)

    @property
    def _variables(self) -> dict[str, str]:
        git = {"GIT_DIR": str(self.history), "GIT_WORK_TREE": str(self.folder)}
        return {**git, "XDG_CACHE_HOME": "/tmp/cache"}  # noqa: S108 - of the sandbox

    def _confinement(self, limits: AgentConfig, *, writes_history: bool) -> Confinement:
        self.log.parent.mkdir(exist_ok=True)
        return Confinement(self.league, self.folder, self.history, limits, writes_history=writes_history)

    async def _git(self, *commands: str) -> str:
        """Run git, once all files can be read, and return what it prints; ConfigError if it fails."""
        limits, log = AgentConfig(name="git", project="-", disk_mb=1 << 30), self.log.with_suffix(".git.log")
        log.unlink(missing_ok=True)
        script = " && ".join(["chmod -R u+rwX .", *(f"{_GIT} {command}" for command in commands)])
        confinement = self._confinement(limits, writes_history=True)
        problem, _, _ = await confinement.run(("sh", "-c", script), log, self._variables)
        printed = log.read_text("utf-8", errors="replace") if log.exists() else ""
        if problem:
            raise ConfigError(f"{self.agent.name}: git: {problem}: {one_line(printed)[-MAX_REASON:]}")
        return printed


def _page(name: str) -> Traversable:
    """Return a page of the documentation, which a wheel has among its own files."""
    root = own_checkout()
    return (files("happycity_league") if root is None else root) / "docs" / name


def _read(path: Path) -> bytes | None:
    """Return the content of a plain file, not of a link; None if it isn't one, or too large."""
    state = path.lstat() if path.is_file() else None
    return path.read_bytes() if state and stat.S_ISREG(state.st_mode) and state.st_size <= MAX_FILE else None


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
