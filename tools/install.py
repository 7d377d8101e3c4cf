"""Install what optional tests need, without which they are skipped: Debian packages, as root, and others.

    python -m tools install                      # all of them
    python -m tools install browser postgres     # these
    python -m tools install image && tools/release/build-image
    python -m tools install html grpcurl         # into this checkout, by npm and Go

It needs nothing but Python, so it also runs as root outside of `.venv`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Need(NamedTuple):
    """What a kind of test needs of the system."""

    programs: tuple[str, ...]
    """Any of these shows that the packages are installed."""
    packages: tuple[str, ...]
    command: tuple[str, ...] = ()
    """What installs it into this checkout instead, which takes no root."""


_ROOT = Path(__file__).resolve().parents[1]
READERS = _ROOT / "tests" / "readers"
"""Where the package of the checker of HTML is, with its version in package-lock.json."""
GRPCURL = _ROOT / "build" / "readers" / "grpcurl"
VNU = READERS / "node_modules" / ".bin" / "vnu"

NEEDS = {
    "browser": Need(("chromium", "chromium-browser", "google-chrome"), ("chromium",)),
    "firefox": Need(("firefox-esr", "firefox"), ("firefox-esr",)),
    "postgres": Need(("initdb",), ("postgresql",)),
    "grpc-cpp": Need(
        ("grpc_cpp_plugin",),
        (
            "cmake",
            "g++",
            "libgrpc++-dev",
            "libprotobuf-dev",
            "protobuf-compiler",
            "protobuf-compiler-grpc",
            "libgtest-dev",
        ),
    ),
    "wasm": Need(("wasm-ld",), ("rustc", "libstd-rust-dev-wasm32", "lld")),
    "image": Need(("buildah",), ("buildah", "mmdebstrap")),
    "prometheus": Need(("prometheus",), ("prometheus",)),
    "nginx": Need(("nginx",), ("nginx",)),
    "sandbox": Need(("bwrap",), ("bubblewrap",)),
    "podman": Need(("podman",), ("podman", "crun", "runc")),
    "ruby": Need(("grpc_tools_ruby_protoc",), ("ruby", "ruby-grpc", "ruby-grpc-tools")),
    "html": Need(
        (str(VNU),),
        (),
        ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", str(READERS)),
    ),
    "grpcurl": Need(
        (str(GRPCURL),),
        (),
        (
            *("env", f"GOBIN={GRPCURL.parent}"),
            *("go", "install", "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"),
        ),
    ),
}


def is_installed(need: Need) -> bool:
    """Return whether one of its programs is there; Debian keeps those of PostgreSQL off the path."""
    places = [os.environ.get("PATH", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    return any(shutil.which(program, path=os.pathsep.join(places)) for program in need.programs)


def install(names: list[str]) -> None:
    """Install what is missing of these.

    Raises:
        SystemExit: nothing can be installed here, or what installs failed.
    """
    missing = [name for name in names if not is_installed(NEEDS[name])]
    _install_packages([name for name in missing if NEEDS[name].packages])
    for name in missing:
        if command := NEEDS[name].command:
            program = next(word for word in command if word != "env" and "=" not in word)
            if shutil.which(program) is None:
                sys.exit(f"error: {name}: {program} is not installed, which installs it")
            if status := subprocess.run(command, check=False).returncode:
                sys.exit(status)


def _install_packages(missing: list[str]) -> None:
    packages = [package for name in missing for package in NEEDS[name].packages]
    if not packages:
        return
    if shutil.which("apt-get") is None or os.getuid() != 0:
        sys.exit(f"error: {', '.join(missing)}: as root on Debian, this installs {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = ["apt-get", "--quiet=2", "--yes"]
    for command in ([*quiet, "update"], [*quiet, "--no-install-recommends", "install", *packages]):
        if status := subprocess.run(command, env=environment, check=False).returncode:
            sys.exit(status)


def main() -> None:
    """Install what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NEEDS)}; all by default")
    names = parser.parse_args().names
    if unknown := set(names) - set(NEEDS):
        parser.error(f"{', '.join(sorted(unknown))}: the names are {', '.join(NEEDS)}")
    install(names or list(NEEDS))
