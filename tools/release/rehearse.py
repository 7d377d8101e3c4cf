"""Rehearse a release: pack a clean clone of the last commit, and play with the packages alone.

All packages are packed of a clone in a scratch folder. Those that are the same on each machine are packed of
a second clone, too, and have to be the same bytes. A user with an empty home installs them, each by the usual
tool of its language, and does what the README says, without a checkout. The table shows each file with its
size, its SHA-256, and what was seen to work. What lacks a tool here is skipped, and fails with --strict.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import hatch_build
from tools import ROOT
from tools.release.account import Account, CommandError, failure
from tools.release.contents import PACKAGES, find, problems
from tools.release.packages import LANGUAGES
from tools.release.version import version
from tools.release.visitor import play_a_game

IMAGE = "image"
"""The name of the container image in the table, which is no file."""
BOTS = ("python", "go", "typescript", "rust", "java", "cpp", "bridge")
"""The languages of new bots' projects; each plays with the packages of its SDK."""
TOOLS = {
    "cpp": ("cmake", "grpc_cpp_plugin"),
    "bridge": ("jq",),
    "ruby": ("ruby", "grpc_tools_ruby_protoc"),
    "browser": ("chromium",),
    IMAGE: ("buildah", "mmdebstrap"),
}
"""What takes more than the tool that packs the language."""
_PACKAGE_OF = {
    "python": "wheel",
    "go": "Go module",
    "typescript": "npm package",
    "rust": "crate",
    "java": "jar",
    "cpp": "C++ source",
    "bridge": "wheel",
    "ruby": "C++ source",
}
"""What the table shows of each language's bot."""
_PATIENT = ("--connect-seconds", "600", "--decision-seconds", "300")
"""With which a slow machine, where a bot is built once more before it connects, lets no bot be late."""
_COMMANDS = (
    "tournament show",
    "tournament report --out report.html",
    "happycity ask 1",
    "happycity analyse --bot mine",
    "happycity check --bot 'python mybot.py'",
)
"""What else an author does first, after the commands of the README's quick start."""
STANDINGS = re.compile(r"^ *[-\d]+ +\w+ +\d+ +±.*$", re.MULTILINE)
"""The lines of standings, which are the same each time; those below them have speeds."""


class RehearsalError(Exception):
    """Something isn't as a release needs it; one line."""


class RehearsalStep(NamedTuple):
    """A part of the rehearsal."""

    name: str
    run: Callable[[], None]
    tools: tuple[str, ...] = ()
    """The programs without which it is skipped."""
    after: tuple[str, ...] = ()
    """The steps without whose success it can't begin."""


@dataclass(kw_only=True)
class Rehearsal:
    """A rehearsal in a scratch folder, which is empty at first."""

    scratch: Path
    version: str
    proofs: dict[str, list[str]] = field(default_factory=dict)
    """What was seen to work, by the names of packages."""
    skipped: dict[str, str] = field(default_factory=dict)
    """The missing tool, by the names of steps."""
    failed: dict[str, str] = field(default_factory=dict)
    """What is wrong, by the names of steps: one line each."""
    image: tuple[str, str] | None = None
    """The image's size and digest, once it is built."""

    @property
    def dist(self) -> Path:
        """The folder with all that was packed."""
        return self.scratch / "dist"

    def __post_init__(self) -> None:
        """Make the user, who finds in registries what is in `dist` by then."""
        self.user = Account(self.scratch / "home", self.dist, self.version)

    def steps(self) -> Iterable[RehearsalStep]:
        """Yield all steps in their order."""
        yield RehearsalStep("clone", self.clone, ("git",))
        for language, (tool, _) in LANGUAGES.items():
            yield RehearsalStep(f"pack {language}", partial(self.pack, language), (tool,), ("clone",))
        yield RehearsalStep("pack compiled", self.pack_compiled, ("cc",), ("clone",))
        yield RehearsalStep("contents", self.check_contents, (), ("clone",))
        yield RehearsalStep("twice", self.compare_with_second_clone, (), ("clone",))
        yield RehearsalStep("install", self.install, (), ("pack python", "pack engine"))
        yield RehearsalStep("help", self.read_help, (), ("install",))
        yield RehearsalStep("quick start", self.quick_start, (), ("install",))
        yield RehearsalStep("install compiled", self.install_compiled, (), ("pack compiled", "quick start"))
        for language in BOTS:
            packed = [f"pack {language}"] if language in LANGUAGES else []
            make = partial(self.make_bot, language)
            yield RehearsalStep(f"bot in {language}", make, TOOLS.get(language, ()), ("install", *packed))
        yield RehearsalStep("bot in ruby", self.make_bare_bot, TOOLS["ruby"], ("pack cpp",))
        yield RehearsalStep("server", self.serve, (), ("install", "bot in python"))
        yield RehearsalStep("browser", self.play_in_browser, TOOLS["browser"], ("install",))
        yield RehearsalStep(IMAGE, self.play_in_image, TOOLS[IMAGE], ("clone",))

    def rehearse(self) -> None:
        """Do all steps that can be done, and say on standard error how long each took."""
        for step in self.steps():
            if missing := [tool for tool in step.tools if shutil.which(tool) is None]:
                self.skipped[step.name] = f"{', '.join(missing)} missing"
            elif broken := [name for name in step.after if name in self.failed or name in self.skipped]:
                self.skipped[step.name] = f"needs {', '.join(broken)}"
            else:
                self._do(step)

    def _do(self, step: RehearsalStep) -> None:
        sys.stderr.write(f"{step.name}: ")
        sys.stderr.flush()
        began = time.monotonic()
        try:
            step.run()
        except (CommandError, RehearsalError, OSError) as error:
            self.failed[step.name] = str(error)
        outcome = (self.failed | self.skipped).get(step.name, "done")
        sys.stderr.write(f"{outcome} ({time.monotonic() - began:.0f} s)\n")

    def prove(self, package: str, *proofs: str) -> None:
        """Note what was seen of a package to work."""
        self.proofs.setdefault(package, []).extend(proofs)

    def clone(self) -> None:
        """Clone the last commit twice; what isn't committed is no part of a release."""
        for name in ("source", "second"):
            self.user.run("git", "clone", "--quiet", ROOT, self.scratch / name)

    def pack(self, language: str, source: str = "source", out: str = "dist") -> None:
        """Pack one language, by the program of the clone."""
        self._in_clone(
            source, sys.executable, "-m", "tools", "packages", language, "--out", self.scratch / out
        )

    def pack_compiled(self) -> None:
        """Build a wheel whose hot modules are compiled for this machine, as the image does."""
        uv = Path(sys.executable).with_name("uv")
        out = self.dist / "compiled"
        self._in_clone("source", uv, "build", "--quiet", "--wheel", "--out-dir", out, HAPPYCITY_COMPILE="1")

    def _in_clone(self, source: str, *command: str | Path, **variables: str) -> str:
        """Run a command in a clone, on its packages, with the caches of this machine; return its output."""
        folder = self.scratch / source
        packages = os.pathsep.join(sorted({str(folder / package.parent) for package in hatch_build.PACKAGES}))
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": packages, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RehearsalError(failure(done))
        return done.stdout

    def check_contents(self) -> None:
        """Look into each packed file."""
        found = []
        for name, package in PACKAGES.items():
            if path := find(package, self.dist, self.version):
                wrong = list(problems(package, path, self.version))
                found += wrong
                if not wrong:
                    self.prove(name, "content")
        if found:
            raise RehearsalError("; ".join(found))

    def compare_with_second_clone(self) -> None:
        """Pack what is the same on each machine again, and compare the bytes."""
        different = []
        pure = {name: package for name, package in PACKAGES.items() if package.is_pure}
        packed = {name: path for name in pure if (path := find(pure[name], self.dist, self.version))}
        for language in dict.fromkeys(pure[name].language for name in packed):
            self.pack(language, "second", "again")
        for name, path in packed.items():
            second = self.scratch / "again" / path.relative_to(self.dist)
            if second.read_bytes() == path.read_bytes():
                self.prove(name, "same bytes twice")
            else:
                different.append(path.name)
        for name, package in PACKAGES.items():
            if not package.is_pure:
                self.prove(name, "compiled for this machine, so packed once")
        if different:
            raise RehearsalError(f"packed twice, these differ: {', '.join(different)}")

    def install(self) -> None:
        """Install the commands, the pages and the engine by their names, as from an index."""
        self.user.install_python(f"happycity[web,engine]=={self.version}")
        said = self.user.run("happycity", "--version")
        if not said.startswith(f"{self.version} "):
            raise RehearsalError(f"happycity --version says {said.strip()}")
        self.user.run("python", "-c", "import happycity_engine")
        self.prove("wheel", "installed")
        self.prove("engine wheel", "installed")

    def read_help(self) -> None:
        """Print the help of every command."""
        count = sum(self._help_of(program) for program in ("happycity", "tournament"))
        self.prove("wheel", f"help of {count} commands")

    def _help_of(self, *command: str) -> int:
        """Print the help of a command and of all below it; return how many there are."""
        text = self.user.run(*command, "--help")
        groups = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
        listed = "".join(group for group in groups if not group.startswith(("Usage:", "Options:")))
        if "COMMAND" not in text.partition("\n")[0]:
            return 1
        return 1 + sum(
            self._help_of(*command, name) for name in re.findall(r"^  ([a-z][\w-]*) ", listed, re.M)
        )

    def quick_start(self) -> None:
        """Write the bot that the README shows, and run its commands and others that it names."""
        bot, run, lines = self._readme()
        (self.user.home / "mybot.py").write_text(bot)
        self.standings = STANDINGS.findall(self.user.run(*run))
        for line in lines:
            # In a game of one's own, the first move until it is over.
            self.user.run(*line, typed="1\n" * 1000 if line[1] == "play" else "")
        for text in _COMMANDS:
            self.user.run(*shlex.split(text))
        self.prove("wheel", "quick start")

    def _readme(self) -> tuple[str, list[str], list[list[str]]]:
        """Return the README's bot, its tournament, and the other commands about both."""
        text = (self.scratch / "source/README.md").read_text(encoding="utf-8")
        after = text.partition("<!-- example bot -->\n")[2]
        bot, lines = re.findall(r"^```(?:python|sh)\n(.*?)^```$", after, re.DOTALL | re.MULTILINE)[:2]
        run, *others = map(shlex.split, lines.splitlines())
        return bot, run, others

    def install_compiled(self) -> None:
        """Install the compiled wheel into another environment; its tournament has to be the same."""
        path = find(PACKAGES["compiled wheel"], self.dist, self.version)
        self.user.install_python(f"{path}[arena]", environment="compiled")
        said = self.user.run(self.user.home / "compiled/bin/happycity", "--version")
        if "compiled" not in said:
            raise RehearsalError(
                f"{path}: happycity --version says {said.strip()}, and not that it is compiled"
            )
        _, (program, *words), _ = self._readme()
        printed = self.user.run(self.user.home / "compiled/bin" / program, *words)
        if (standings := STANDINGS.findall(printed)) != self.standings:
            raise RehearsalError(f"the compiled wheel's standings are others: {standings}")
        self.prove("compiled wheel", "installed", "the same standings")

    def make_bot(self, language: str) -> None:
        """Make a project of a new bot; build, test, check and play it; test one that searches, too."""
        self.user.serve(language)
        project, searcher = self._project(language), self._project(f"{language}-search")
        self.user.run("happycity", "new-bot", project, "--language", language)
        for target in ("test", "check", "play"):
            printed = self.user.run("make", target, folder=project)
        if "60 of 60 games" not in printed:
            raise RehearsalError(f"make play in {project}: not all games were played")
        self.prove(_PACKAGE_OF[language], f"bot in {language}")
        self.user.run("happycity", "new-bot", searcher, "--language", language, "--search")
        self.user.run("make", "test", folder=searcher)
        self.prove(_PACKAGE_OF[language], f"search in {language}")

    def make_bare_bot(self) -> None:
        """Generate Ruby's stubs of the contract that the sources in C++ have, for the bot of the tests."""
        project = self._project("ruby")
        project.mkdir()
        archive = self.dist / f"happycity-cpp-{self.version}.tar.gz"
        self.user.run("tar", "-xf", archive, "--strip-components=1", folder=project)
        contract = sorted(project.glob("proto/happycity/v1/*.proto"))
        stubs = (f"--proto_path={project}/proto", "--ruby_out=.", "--grpc_out=.")
        self.user.run("grpc_tools_ruby_protoc", *stubs, *contract, folder=project)
        shutil.copy(self.scratch / "source/tests/readers/bot.rb", project)
        (project / "Makefile").write_text("start:\n\texec ruby -I . bot.rb\n")

    def _project(self, language: str) -> Path:
        """Return the folder of a language's project; ~/go would be Go's own."""
        return self.user.home / f"bot-{language}"

    def serve(self) -> None:
        """Let the bots of all languages play on a server that runs by itself."""
        with ExitStack() as running:
            line = running.enter_context(self.user.running("happycity", "serve", "--listen", "127.0.0.1:0"))
            address = json.loads(line)["listening"]
            missing = {*self.failed, *self.skipped}
            bots = [name for name in (*BOTS, "ruby") if f"bot in {name}" not in missing]
            for name in bots:
                variables = {"HAPPYCITY_SERVER": address, "HAPPYCITY_NAME": name}
                running.enter_context(
                    self.user.running("make", "start", folder=self._project(name), **variables)
                )
            joined = [word for name in bots for word in ("--join", name)]
            server = ("--server", f"grpc://{address}")
            run = ("tournament", "run", *server, *joined, "--rounds", "5", "--fail-on-forfeit")
            self.user.run(*run, *_PATIENT)
            listed = self.user.run("happycity", "status", address, "--json")
        if lost := [name for name in bots if f'"{name}"' not in listed]:
            raise RehearsalError(f"happycity status doesn't list {', '.join(lost)}")
        for name in bots:
            self.prove(_PACKAGE_OF[name], f"{name} on a server")

    def play_in_browser(self) -> None:
        """Play a game in a browser, as a person does."""
        play = ("happycity", "play", "--web", "--no-open")
        browser = shutil.which("chromium")
        assert browser is not None
        with self.user.running(*play) as line:
            play_a_game(line.removeprefix("play: ").strip(), browser)
        self.prove("wheel", "a game in a browser")

    def play_in_image(self) -> None:
        """Build the image, and play a tournament in it."""
        if os.geteuid():
            self.skipped[IMAGE] = "only root builds it"
            return
        self._in_clone("source", "tools/release/build-image")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "happycity-image"
        storage = ("--root", str(cache / "storage"), "--runroot", str(cache / "run"))
        buildah = ("buildah", *storage, "--storage-driver", "overlay")
        name = "localhost/happycity"
        (described,) = json.loads(self._in_clone("source", *buildah, "images", "--json", name))
        self.image = described["size"], described["id"]
        container = self._in_clone("source", *buildah, "from", name).strip()
        try:
            run = (*buildah, "run", "--isolation", "chroot", container, "--", "tournament", "run")
            printed = self._in_clone("source", *run, "--rounds", "2")
        finally:
            self._in_clone("source", *buildah, "rm", container)
        if "8 of 8 games" not in printed:
            raise RehearsalError("the image's tournament didn't play all games")
        self.prove(IMAGE, "a tournament")

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each package that was packed: name, file, bytes, SHA-256, and what was proven."""
        rows = []
        for name, package in PACKAGES.items():
            if path := find(package, self.dist, self.version):
                content = path.read_bytes()
                digest = hashlib.sha256(content).hexdigest()
                file = path.relative_to(self.dist).as_posix()
                rows.append(_row(name, file, len(content), digest, self.proofs.get(name, [])))
        if self.image is not None:
            size, digest = self.image
            rows.append(_row(IMAGE, "localhost/happycity", size, digest, self.proofs.get(IMAGE, [])))
        return rows


def _row(name: str, file: str, size: int | str, digest: str, proven: list[str]) -> dict[str, object]:
    return {"package": name, "file": file, "bytes": size, "sha256": digest, "proven": proven}


def table(rehearsal: Rehearsal) -> str:
    """Return the table of a rehearsal, with what was skipped and what failed below it."""
    lines = [("package", "bytes", "sha256", "proven")]
    for row in rehearsal.rows():
        size = f"{row['bytes']:,}" if isinstance(row["bytes"], int) else str(row["bytes"])
        proven = row["proven"]
        assert isinstance(proven, list)
        lines.append((str(row["package"]), size, str(row["sha256"])[:12], ", ".join(proven)))
    wide = [max(len(line[column]) for line in lines) for column in range(3)]
    texts = [
        f"{name:{wide[0]}}  {size:>{wide[1]}}  {digest:{wide[2]}}  {text}"
        for name, size, digest, text in lines
    ]
    texts += [f"skipped: {name}: {why}" for name, why in rehearsal.skipped.items()]
    texts += [f"failed: {name}: {why}" for name, why in rehearsal.failed.items()]
    return "".join(f"{text.rstrip()}\n" for text in texts)


def main() -> None:
    """Rehearse a release; exit with 1 if anything is wrong, or skipped with --strict."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--strict", action="store_true", help="fail if anything was skipped")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folder, and print its path")
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="rehearsal-"))
    try:
        rehearsal = Rehearsal(scratch=scratch, version=version())
        rehearsal.rehearse()
        if arguments.json:
            result = {"packages": rehearsal.rows(), "skipped": rehearsal.skipped, "failed": rehearsal.failed}
            sys.stdout.write(json.dumps(result, indent=2) + "\n")
        else:
            sys.stdout.write(table(rehearsal))
    finally:
        if arguments.keep:
            sys.stderr.write(f"kept: {scratch}\n")
        else:
            shutil.rmtree(scratch)
    sys.exit(bool(rehearsal.failed or (arguments.strict and rehearsal.skipped)))
