"""A user of a release, who has its packages and nothing else of this project.

The home is an empty folder, and the package managers of all languages find the packed files where they look
for any package: in a registry, as a folder or on this machine, before the usual ones.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_OWN = ("HAPPYCITY_", "PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS")
"""The beginnings of variables that belong to this process and its checkout."""
_USUAL_GO_PROXY = "https://proxy.golang.org,direct"
_USUAL_NPM_REGISTRY = "https://registry.npmjs.org"
_MAVEN_SETTINGS = """\
<settings>
  <profiles>
    <profile>
      <id>release</id>
      <repositories>
        <repository>
          <id>release</id>
          <url>{url}</url>
        </repository>
      </repositories>
    </profile>
  </profiles>
  <activeProfiles>
    <activeProfile>release</activeProfile>
  </activeProfiles>
</settings>
"""


class CommandError(Exception):
    """A command of the user failed; one line with the command and the last line that it printed."""


class Account:
    """A user's home, environment and commands.

    Args:
        home: an empty folder.
        dist: the folder with all that was packed.
        version: that of the packages.
    """

    def __init__(self, home: Path, dist: Path, version: str) -> None:
        self.home = home
        self._dist, self._version = dist, version
        home.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        folders = kept["PATH"].split(os.pathsep)
        without = [folder for folder in folders if not Path(folder, "happycity").exists()]
        links = f"{dist} {kept.get('PIP_FIND_LINKS', '')}".strip()
        self.environment = {
            **kept,
            "HOME": str(home),
            "PATH": os.pathsep.join([f"{home}/venv/bin", *without]),
            "PIP_FIND_LINKS": links,
            "RUSTUP_HOME": kept.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
            "CARGO_HOME": str(home / ".cargo"),
            # Java takes the home from the system's list of users.
            "MAVEN_OPTS": f"-Duser.home={home}",
            "GOPROXY": f"file://{dist}/go,{kept.get('GOPROXY', _USUAL_GO_PROXY)}",
            "GONOSUMDB": "github.com/happycity-arena/*",
            "GOFLAGS": "-modcacherw",
            "CMAKE_PREFIX_PATH": str(home / "installed"),
        }

    def run(self, *command: str | Path, folder: Path | None = None, typed: str = "", **variables: str) -> str:
        """Run a command to its end, by default in the home, and type something; return what it printed.

        Raises:
            CommandError: its exit status is not 0.
        """
        done = subprocess.run(
            command,
            cwd=folder or self.home,
            env={**self.environment, **variables},
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CommandError(failure(done))
        return done.stdout

    @contextmanager
    def running(self, *command: str | Path, folder: Path | None = None, **variables: str) -> Iterator[str]:
        """Run a program while the context lasts; yield the first line that it prints.

        Raises:
            CommandError: it ends before.
        """
        with subprocess.Popen(
            command,
            cwd=folder or self.home,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                line = process.stdout.readline()
                if not line:
                    raise CommandError(f"{shlex.join(map(str, command))}: it ended and printed nothing")
                yield line
            finally:
                process.terminate()

    def install_python(self, *requirements: str, environment: str = "venv") -> None:
        """Make an environment, and install packages into it."""
        self.run(sys.executable, "-m", "venv", self.home / environment)
        pip = self.home / environment / "bin/pip"
        self.run(pip, "install", "--quiet", "--disable-pip-version-check", *requirements)

    def serve(self, language: str) -> None:
        """Let the tool of a language find what was packed; variables do for Python and Go.

        Raises:
            CommandError: the library in C++ can't be built or installed.
        """
        if language == "typescript":
            self._serve_npm()
        elif language == "rust":
            self._serve_crates()
        elif language == "java":
            self._serve_maven()
        elif language == "cpp":
            self._install_cpp()

    def _serve_crates(self) -> None:
        """Let cargo take the crates of this project from the packed ones, as if crates.io had them."""
        crates = self.home / "crates"
        settings = ""
        for name in ("happycity", "happycity-engine"):
            _extract(self._dist / f"{name}-{self._version}.crate", crates)
            settings += f'[patch.crates-io.{name}]\npath = "{crates}/{name}-{self._version}"\n'
        (self.home / ".cargo").mkdir()
        (self.home / ".cargo/config.toml").write_text(settings)

    def _serve_maven(self) -> None:
        """Let Maven look into the packed repository, too."""
        (self.home / ".m2").mkdir()
        settings = _MAVEN_SETTINGS.format(url=(self._dist / "maven").as_uri())
        (self.home / ".m2/settings.xml").write_text(settings)

    def _install_cpp(self) -> None:
        """Build the library of the packed sources, and install it where CMake looks for libraries."""
        name = f"happycity-cpp-{self._version}"
        _extract(self._dist / f"{name}.tar.gz", self.home)
        options = ("-DHAPPYCITY_TESTS=OFF", "-DHAPPYCITY_EXAMPLES=OFF", "-DCMAKE_UNITY_BUILD=ON")
        self.run("cmake", "-S", name, "-B", f"{name}/build", "-DCMAKE_BUILD_TYPE=Release", *options)
        self.run("cmake", "--build", f"{name}/build", "--parallel", "2")
        self.run("cmake", "--install", f"{name}/build", "--prefix", self.environment["CMAKE_PREFIX_PATH"])

    def _serve_npm(self) -> None:
        """Serve an npm registry with the packed package; it sends callers to the usual one for all others."""
        file = self._dist / f"happycity-{self._version}.tgz"
        server = ThreadingHTTPServer(("127.0.0.1", 0), _npm_handler(file, self._version))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.environment["npm_config_registry"] = f"http://127.0.0.1:{server.server_port}/"


def failure(done: subprocess.CompletedProcess[str]) -> str:
    """Return one line on a command that failed, with the last line that it printed and that is not make's."""
    lines = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("make")]
    last = lines[-1].strip() if lines else "it printed nothing"
    return f"{shlex.join(map(str, done.args))}: status {done.returncode}: {last}"


def _npm_handler(file: Path, version: str) -> type[BaseHTTPRequestHandler]:
    """Return what answers like an npm registry: `/happycity` describes the package of a file."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/happycity":
                self._send(json.dumps(self._description()).encode())
            elif self.path == "/happycity.tgz":
                self._send(file.read_bytes())
            else:
                self.send_response(http.client.TEMPORARY_REDIRECT)
                self.send_header("Location", _USUAL_NPM_REGISTRY + self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def _description(self) -> dict[str, object]:
            with tarfile.open(file) as archive:
                described = archive.extractfile("package/package.json")
                assert described is not None
                package = json.load(described)
            package["dist"] = {"tarball": f"http://{self.headers['Host']}/happycity.tgz"}
            return {"name": "happycity", "dist-tags": {"latest": version}, "versions": {version: package}}

        def _send(self, content: bytes) -> None:
            self.send_response(http.client.OK)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: the rehearsal's own lines are the progress."""

    return Handler


def _extract(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
