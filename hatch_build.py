"""Build the wheel, and compile the hot modules by mypyc: into it, into this checkout or into another tree.

Extension modules lie beside their sources, and Python prefers them. The
sources' checksums go with them: `happycity.compiled` refuses extension modules that are out of date.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any
from zlib import crc32

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
PACKAGES = sorted(
    path.parent.relative_to(ROOT)
    for pattern in ("*/happycity*/__init__.py", "clients/*/happycity*/__init__.py")
    for path in ROOT.glob(pattern)
)
"""The project's packages; their parents are what Python imports from."""
HOT = {
    "game/happycity/rules": "cities determinization effects game moves shuffling",
    "game/happycity/records": "random_games record",
    "game/happycity/wire": "decisions messages",
    "server/happycity_server/play": "match outbox referee session",
    "evaluation/happycity_evaluation": "features outlook quick special_values valuation",
    "clients/bots/happycity_bots": "situation specials",
    "clients/python/happycity_client": "decision player",
    "clients/envs/happycity_envs": "observation_rows",
}
"""The modules that are compiled, by their folders.

Bots' classes are not among them, as a compiled class can't be the base of an author's own; nor are frozen
dataclasses with slots, which can't be pickled then.
"""
MODULES = [Path(folder, f"{name}.py") for folder, names in HOT.items() for name in names.split()]
PAGES = ("league.md", "rules.md", "writing-a-bot.md")
"""The pages of the documentation of which a league makes the brief of its agents."""
COMPILING = (
    "mypy",
    "numpy",
    "protobuf",
    "setuptools",
    "structlog",
    "types-grpcio",
    "types-protobuf",
    "uvloop",
)
"""What compiling takes: mypyc, and what the modules import."""
_IGNORED = ("__pycache__", "*.so", "*.sums")
SUFFIX = EXTENSION_SUFFIXES[0]
LIBRARY = f"happycity__mypyc{SUFFIX}"
"""The code of all modules, which call each other directly; it lies beside the packages."""
CHECKSUMS = f"compiled{SUFFIX}.sums"
ROUNDING = ["-ffp-contract=off"] if os.name == "posix" else []
"""Makes the compiler round each product before it is added, as the interpreter does.

Where the processor can, as on arm64, GCC fuses a product and a sum into one instruction, which rounds once.
An estimate would differ in its last bit, and a compiled bot could decide differently from a pure one. MSVC
doesn't fuse by default.
"""


def is_wanted() -> bool:
    """Return whether a wheel is to have compiled modules."""
    return os.environ.get("HAPPYCITY_COMPILE") == "1"


class Wheel(BuildHookInterface[BuilderConfig]):
    """Puts the packages into a wheel, and the compiled modules if HAPPYCITY_COMPILE=1 is set."""

    def dependencies(self) -> list[str]:
        """Return what compiling takes, as pyproject.toml requires it elsewhere."""
        if not is_wanted():
            return []
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
        project = settings["project"]
        listed = [*project["dependencies"], *project["optional-dependencies"]["arena"]]
        listed += settings["dependency-groups"]["dev"]
        return [one for one in listed if re.split("[>=; ]", one)[0] in COMPILING]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to the wheel; an editable install uses those of the checkout, and stays pure."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        files = {str(file): path for path, file in sources().items()}
        if is_wanted():
            files |= {str(file): path for path, file in compiled(Path(self._folder.name)).items()}
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
        build_data["force_include"].update(files)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled."""
        if version != "editable":
            self._folder.cleanup()


def sources() -> dict[str, Path]:
    """Return the files of all packages by their paths in a wheel, without what was compiled in the checkout.

    `happycity new-bot` begins a project with an example of an SDK, and with a decision to test it, and a
    league briefs its agents by pages of the documentation, so the wheel has these too.
    """
    languages = (ROOT / "clients/new_bot/happycity_new_bot/languages.py").read_text("utf-8")
    named = (*re.findall(r'"([\w/.-]+/[\w.-]+)"', languages), "conformance/first.decision")
    copied = {f"happycity_new_bot/first/{name}": ROOT / "clients" / name for name in named}
    copied |= {f"happycity_league/docs/{name}": ROOT / "docs" / name for name in PAGES}
    return {name: file for name, file in copied.items() if file.is_file()} | {
        file.relative_to((ROOT / package).parent).as_posix(): file
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*"))
        if file.is_file() and not any(path.match(one) for path in (file, file.parent) for one in _IGNORED)
    }


def compiled(folder: Path) -> dict[str, Path]:
    """Compile all modules in a folder; return the files to install, by their paths beside the packages."""
    from mypyc.build import mypycify  # noqa: PLC0415 - missing where nothing is compiled
    from setuptools import Distribution  # noqa: PLC0415
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415

    _check_compiler()
    os.chdir(ROOT)  # paths in pyproject.toml start there
    extensions = mypycify(
        ["--config-file", "pyproject.toml", *map(str, MODULES)],
        group_name=LIBRARY.partition("__")[0],
        multi_file=True,
        opt_level="2",
        debug_level="0",
        target_dir=str(folder / "c"),
    )
    for extension in extensions:
        extension.extra_compile_args = [*extension.extra_compile_args, *ROUNDING]
    build = build_ext(Distribution({"name": "happycity", "ext_modules": extensions}))
    build.build_lib, build.build_temp = str(folder / "lib"), str(folder / "o")
    build.parallel = os.cpu_count()
    build.ensure_finalized()
    build.run()
    for path, text in checksums().items():
        (folder / "lib" / path).write_text(text)
    # The checksums first: half an installation is refused, too.
    files = sorted((folder / "lib").rglob(f"*{SUFFIX}*"), key=lambda file: file.name != CHECKSUMS)
    return {str(file.relative_to(folder / "lib")): file for file in files}


def checksums() -> dict[str, str]:
    """Return the sources' checksums as one text for each package, by its path beside the packages."""
    lists: dict[str, str] = {}
    for module in MODULES:
        package = next(package for package in PACKAGES if module.is_relative_to(package))
        path = f"{package.name}/{CHECKSUMS}"
        line = f"{crc32((ROOT / module).read_bytes())} {module.relative_to(package).as_posix()}\n"
        lists[path] = lists.get(path, "") + line
    return lists


def _check_compiler() -> None:
    """Refuse to begin without what compiles C."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "").split()
    if compiler and shutil.which(compiler[0]) is None:
        sys.exit(f"no C compiler: {compiler[0]} is missing (on Debian: apt install build-essential)")
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        sys.exit(f"no headers of Python: {header} is missing (on Debian: apt install python3-dev)")


def _install(tree: Path | None) -> None:
    """Compile, unless nothing has changed: into the checkout, or into a tree with copies of the packages."""
    homes = {package.name: tree or ROOT / package.parent for package in PACKAGES}
    homes[LIBRARY] = homes["happycity"]
    if tree is not None:
        for package in PACKAGES:
            target = tree / package.name
            _remove_stale(target, ROOT / package)
            ignored = shutil.ignore_patterns(*_IGNORED)
            shutil.copytree(ROOT / package, target, ignore=ignored, dirs_exist_ok=True)
    if all(_holds(homes[Path(path).parts[0]] / path, text) for path, text in checksums().items()):
        return
    with tempfile.TemporaryDirectory() as folder:
        for path, file in compiled(Path(folder)).items():
            installed = homes[Path(path).parts[0]] / path
            installed.unlink(missing_ok=True)  # a process that runs it keeps the old file
            shutil.copyfile(file, installed)


def _remove_stale(target: Path, package: Path) -> None:
    """Remove the copies of modules that the package has no longer: an old folder hides a new module."""
    for copy in target.rglob("*.py"):
        if not (package / copy.relative_to(target)).exists():
            copy.unlink()


def _holds(file: Path, text: str) -> bool:
    return file.exists() and file.read_text() == text


def _remove() -> None:
    """Remove what was compiled into the checkout; the checksums last, as they guard the rest."""
    for pattern in ("*.so", "*.sums"):
        for package in PACKAGES:
            for file in [*(ROOT / package).parent.glob(pattern), *(ROOT / package).rglob(pattern)]:
                file.unlink()


def main() -> None:
    """Compile into this checkout or into a tree of packages, or remove what was compiled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("compile", "remove"))
    parser.add_argument("--tree", type=Path, help="copy the packages there, and compile for these copies")
    arguments = parser.parse_args()
    if arguments.action == "compile":
        _install(arguments.tree)
    else:
        _remove()


if __name__ == "__main__":
    main()
