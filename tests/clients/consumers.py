"""Projects outside of the checkout that use the packed SDKs, as their users' projects do.

Each function makes a project in a folder, of the first bot of its language and what was packed. It builds
the project and returns the command that starts the bot. Other packages come from the local caches, if they
are there. No packed one is left in a cache, where it would hide the next one of the same version.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Template

from tools import ROOT
from tools.release.packages import GO_MODULE
from tools.release.version import version

CLIENTS = ROOT / "clients"
POM = Path(__file__).with_name("consumer_pom.xml")
UV = Path(sys.executable).with_name("uv")


def python(project: Path, packed: Path) -> str:
    """Install the wheel alone, as a bot does without the extras."""
    shutil.copy(CLIENTS / "python/examples/first.py", project)
    _run(UV, "venv", "--quiet", "--python", sys.executable, "venv", folder=project)
    (wheel,) = packed.glob("*.whl")
    _run(UV, "pip", "install", "--quiet", "--python", "venv", wheel, folder=project)
    return shlex.join([f"{project}/venv/bin/python", f"{project}/first.py"])


def go(project: Path, packed: Path) -> str:
    shutil.copy(CLIENTS / "go/examples/first/main.go", project)
    settings = _output("go", "env", "GOPROXY", "GOMODCACHE").splitlines()
    environment = {
        "GOPROXY": f"file://{packed}/go,file://{settings[1]}/cache/download,{settings[0]}",
        "GOMODCACHE": f"{project}/modules",
        "GOFLAGS": "-mod=mod -modcacherw -trimpath",
        "GOSUMDB": "off",
    }
    _run("go", "mod", "init", "consumer", folder=project, environment=environment)
    _run("go", "get", f"{GO_MODULE}@v{version()}", folder=project, environment=environment)
    _run("go", "build", "-o", "first", ".", folder=project, environment=environment)
    return shlex.quote(f"{project}/first")


def typescript(project: Path, packed: Path) -> str:
    """Install the npm package; packing it has compiled the first bot too."""
    shutil.copy(CLIENTS / "typescript/dist/examples/first.js", project / "first.mjs")
    (project / "package.json").write_text('{"private": true}')
    package = packed / f"happycity-{version()}.tgz"
    _run("npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--silent", package, folder=project)
    return shlex.join(["node", f"{project}/first.mjs"])


def rust(project: Path, packed: Path) -> str:
    """Build by the checkout's lock file, and in its folder, for what is compiled there already."""
    engine = f"happycity-engine-{version()}"
    _extract(packed / f"happycity-{version()}.crate", project)
    _extract(packed / f"{engine}.crate", project)
    (project / "src").mkdir()
    shutil.copy(CLIENTS / "rust/examples/searcher.rs", project / "src/main.rs")
    shutil.copy(CLIENTS / "rust/Cargo.lock", project)
    (project / "Cargo.toml").write_text(
        '[package]\nname = "consumer"\nversion = "1.0.0"\nedition = "2024"\n'
        f'[dependencies]\nhappycity = {{ path = "happycity-{version()}", features = ["engine"] }}\n'
        f'[patch.crates-io]\nhappycity-engine = {{ path = "{engine}" }}\n'
        "[profile.dev]\ndebug = false\n[profile.dev.package.happycity-engine]\nopt-level = 3\n"
    )
    target = CLIENTS / "rust/target"
    _run("cargo", "build", "--quiet", "--target-dir", target, folder=project)
    shutil.copy(target / "debug/consumer", project / "first")
    return shlex.quote(f"{project}/first")


def java(project: Path, packed: Path) -> str:
    sources = project / "src/main/java"
    sources.mkdir(parents=True)
    shutil.copy(CLIENTS / "java/examples/src/main/java/First.java", sources)
    (project / "pom.xml").write_text(
        Template(POM.read_text()).substitute(packed=packed, home=Path.home(), version=version())
    )
    maven = ("mvn", "-q", "-B", "-ntp", f"-Dmaven.repo.local={project}/repository")
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies"
    _run(*maven, "compile", plugin, folder=project)
    return shlex.join(["java", "-cp", f"{project}/target/classes:{project}/target/dependency/*", "First"])


def cpp(project: Path, packed: Path) -> str:
    _extract(packed / f"happycity-cpp-{version()}.tar.gz", project)
    shutil.copy(CLIENTS / "cpp/examples/first.cpp", project)
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(first LANGUAGES CXX)\n"
        f"find_package(happycity {version()} REQUIRED)\nadd_executable(first first.cpp)\n"
        "target_link_libraries(first PRIVATE happycity::happycity)\n"
    )
    library = ("-DHAPPYCITY_TESTS=OFF", "-DHAPPYCITY_EXAMPLES=OFF", "-DCMAKE_UNITY_BUILD=ON")
    _run("cmake", "-S", f"happycity-cpp-{version()}", "-B", "library", *library, folder=project)
    _run("cmake", "--build", "library", "--parallel", "2", folder=project)
    _run("cmake", "--install", "library", "--prefix", "installed", folder=project)
    _run("cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={project}/installed", folder=project)
    _run("cmake", "--build", "build", folder=project)
    return shlex.quote(f"{project}/build/first")


CONSUMERS: dict[str, tuple[str, Callable[[Path, Path], str]]] = {
    "python": ("git", python),
    "go": ("go", go),
    "typescript": ("npm", typescript),
    "rust": ("cargo", rust),
    "java": ("mvn", java),
    "cpp": ("grpc_cpp_plugin", cpp),
}
"""What builds a project in each language, and the tool that it needs."""


def _extract(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")


def _run(*command: str | Path, folder: Path, environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
