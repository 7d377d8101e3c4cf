"""docs/architecture.md and clients/README.md against packages, their imports, and import-linter's rules."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from happycity_tournament.hosted import sandbox

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text("utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
LAYERED: Mapping[str, Any] = {
    container: contract for contract in CONTRACTS for container in contract.get("containers", ())
}
"""The contracts of layers inside a package, by its name."""
NATIVE = "happycity_engine"
"""The native engine, which a search imports where it is installed."""
ENTRY = "happycity_entry"
"""The commands themselves, which are no part of the layers."""
GROUND = {"happycity", "happycity_runtime"}
"""What any package may import."""
ASKS_BOTS_AGAIN = "happycity_tournament/proof/choices.py"


@cache
def folders() -> Mapping[str, Path]:
    """Return the folders of all packages, by their names."""
    found = [*ROOT.glob("*/happycity*/__init__.py"), *ROOT.glob("clients/*/happycity*/__init__.py")]
    packages = {path.parent.name: path.parent for path in found}
    del packages[ENTRY]
    return packages


@cache
def sources() -> list[str]:
    """Return the text of all modules of all packages."""
    return [path.read_text("utf-8") for folder in folders().values() for path in folder.rglob("*.py")]


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Return which other packages each module imports, by its path, those for types too."""
    return {
        path.relative_to(folder.parent).as_posix(): frozenset(
            re.findall(r"^ *(?:from|import) (happycity\w*)", path.read_text("utf-8"), re.MULTILINE)
        )
        - {package, ENTRY, NATIVE}
        for package, folder in folders().items()
        for path in folder.rglob("*.py")
    }


def imported_by(package: str) -> set[str]:
    """Return the packages that a package imports, without those that proofs alone import."""
    own = [
        names
        for module, names in imports().items()
        if module.startswith(f"{package}/") and module != ASKS_BOTS_AGAIN
    ]
    return {name for names in own for name in names}


def named(text: str) -> list[str]:
    """Return the packages that a text names."""
    return re.findall(r"happycity\w*", text)


def test_the_folders_are_those_of_the_packages() -> None:
    rows = re.findall(r"^\| `([\w/]+)/` \| `(happycity\w*)` \|", ARCHITECTURE, re.MULTILINE)
    assert sorted((package, folder) for folder, package in rows) == sorted(
        (package, path.parent.relative_to(ROOT).as_posix()) for package, path in folders().items()
    )
    listed = re.findall(r"^\| (.*) \| ", (ROOT / "clients/README.md").read_text("utf-8"), re.MULTILINE)
    clients = {path.name for path in (ROOT / "clients").iterdir() if path.is_dir() and any(path.iterdir())}
    assert set(re.findall(r"`(\w+)`", " ".join(listed))) == clients


def test_the_drawn_imports_are_those_of_the_sources() -> None:
    """Each line has all packages that a package imports, and no others, besides the common ground."""
    drawn = dict(re.findall(r"^(happycity\w*) +-> +(.*)$", ARCHITECTURE, re.MULTILINE))
    found = {package: imported_by(package) - GROUND for package in folders()}
    plain, _, proofs = drawn["happycity_tournament"].partition("; in proof/choices: ")
    drawn["happycity_tournament"] = plain
    others = found["happycity_tournament"] | GROUND
    assert set(named(proofs)) == imports()[ASKS_BOTS_AGAIN] - others
    assert {package: set(named(line)) for package, line in drawn.items()} == {
        package: names for package, names in found.items() if names
    }


@pytest.mark.parametrize("package", LAYERED)
def test_the_tables_have_each_part_of_a_package(package: str) -> None:
    """They are those of the layers, which have all, as import-linter checks."""
    assert LAYERED[package]["exhaustive"]
    table = ARCHITECTURE.partition(f"\n| `{package}` | contains |\n")[2].partition("\n\n")[0]
    rows = [row.partition(" | ")[0] for row in table.splitlines()[1:]]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    layers = [name for layer in LAYERED[package]["layers"] for name in re.findall(r"\w+", layer)]
    assert sorted(listed) == sorted(layers)


@pytest.mark.parametrize("way", ["A move", "A finished game", "A hosted bot", "A page"])
def test_the_stages_of_a_way_are_names_in_the_code(way: str) -> None:
    """Each is a class, a function or a method; a hosted bot has at most eight."""
    (text,) = re.findall(rf"^- \*\*{way}\*\*.*?\.\n", ARCHITECTURE, re.MULTILINE | re.DOTALL)
    stages = [re.match(r"[\s\w,:*'-]*`(?:(\w+)\.)?(\w+)`", stage) for stage in text.split("->")]
    assert 0 < len(stages) <= (8 if way == "A hosted bot" else 9)
    for stage in stages:
        assert stage is not None, text
        owner, name = stage.groups()
        homes = [source for source in sources() if owner is None or f"\nclass {owner}" in source]
        assert any(re.search(rf"^ *(async )?(def|class) {name}\b", home, re.MULTILINE) for home in homes), (
            name
        )


def test_hosted_bots_can_import_what_the_sdk_imports() -> None:
    """The sandbox shows them the SDK and reference bots with all packages that these are made of."""
    needed = {"happycity_client", "happycity_bots", "happycity_bridge"}
    while more := {name for package in needed for name in imported_by(package)} - needed:
        needed |= more
    assert {*sandbox._SDK} == {*needed, ENTRY}


def test_every_list_of_packages_has_all() -> None:
    """Those of installing, typing, coverage, layers and the image."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    homes = {path.parent.relative_to(ROOT).as_posix() for path in folders().values()}
    tops = {home.partition("/")[0] for home in homes}
    assert {*tools["hatch"]["build"]["targets"]["wheel"]["dev-mode-dirs"]} == homes
    assert {*tools["mypy"]["mypy_path"]} - {"clients/conformance", "engine/python"} == homes
    assert {*tools["mypy"]["files"]} >= tops
    assert {*tools["coverage"]["run"]["source"]} == tops
    assert {*re.findall(r"^COPY (\w+) \./\1$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)} == tops
    assert {*tools["importlinter"]["root_packages"]} == {*folders()}
    ancestors, layers = (
        next(contract[key] for contract in CONTRACTS if contract["type"] == kind)
        for key, kind in (("ancestors", "acyclic_siblings"), ("layers", "layers"))
    )
    assert {*ancestors} == {*named(" ".join(layers))} == {*folders()}
