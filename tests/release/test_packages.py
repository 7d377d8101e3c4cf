"""Packages: what is in them, and that the Python one is built alike twice and needs no installation."""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import hatch_build
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.programs import run
from tools import ROOT
from tools.release.components import COMPONENTS, bill
from tools.release.licences import UNKNOWN, licences
from tools.release.packages import LANGUAGES, pack
from tools.release.version import PLACES, VersionError, read_versions, set_version, version

from happycity_league.projects import PAGES

SDKS = [language for language in LANGUAGES if language not in ("python", "engine", "site")]


def test_every_sdk_has_licence_changelog_and_readme() -> None:
    """They are in its own folder, as that is what is packed; the licence is the repository's."""
    for language in SDKS:
        folder = ROOT / "clients" / language
        assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
        assert "## [" in (folder / "CHANGELOG.md").read_text()
        assert (folder / "README.md").is_file()


def test_every_package_is_typed_and_has_its_licences() -> None:
    """Type checkers take types of a package that has `py.typed`; the engine's wheel names its licences."""
    assert [package for package in hatch_build.PACKAGES if not (ROOT / package / "py.typed").is_file()] == []
    engine = tomllib.loads((ROOT / "engine/python/pyproject.toml").read_text())
    assert engine["project"]["license-files"] == ["LICENSE", "NOTICE"]
    for name in ("LICENSE", "NOTICE"):
        assert (ROOT / "engine/python" / name).read_bytes() == (ROOT / "engine" / name).read_bytes()


def test_the_wheel_has_the_pages_by_which_a_league_briefs_its_agents() -> None:
    """The sources from which it and the image are built have them too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for page in PAGES:
        assert f"happycity_league/docs/{page}" in hatch_build.sources()
        assert f"/docs/{page}" in included
        assert f"docs/{page} " in (ROOT / "Dockerfile").read_text()


def test_image_is_built_of_sources_alone() -> None:
    """Else whatever a build leaves in the checkout is part of it, and lets the whole image be built again."""
    left_out = (ROOT / ".dockerignore").read_text().splitlines()
    for file in (ROOT / ".gitignore", *sorted((ROOT / "clients").glob("**/.gitignore"))):
        if "node_modules" in file.parts:
            continue
        for line in file.read_text().splitlines():
            name, folder = line.strip("/"), file.parent.relative_to(ROOT)
            # Lines of the top that begin so are of the top alone, which isn't copied as a whole.
            if folder == Path() and line.startswith(("/", "#", ".")):
                continue
            assert {f"**/{name}", (folder / name).as_posix()} & {*left_out}, (file, line)


def test_dependencies_have_licences() -> None:
    lines = licences(["rich", "grpcio", "colorama-of-another-system"]).splitlines()
    assert [line.split()[0] for line in lines] == ["grpcio", "rich"]
    assert "Apache" in lines[0]
    assert "MIT" in lines[1]


@pytest.mark.parametrize("language", COMPONENTS)
@pytest.mark.level(3)
def test_sdks_list_what_they_depend_on_with_licences(language: str) -> None:
    """The list has gRPC, and no licence is unknown."""
    if not shutil.which(LANGUAGES[language][0]):
        pytest.skip("its tools are not installed")
    document = json.loads(bill(language, "1.2.3"))
    listed = {each["purl"]: each["licenses"] for each in document["components"]}
    assert any("grpc" in purl or "tonic" in purl for purl in listed)
    assert [purl for purl, licence in listed.items() if licence == [{"expression": UNKNOWN}]] == []


def test_compiling_installs_what_the_modules_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it succeeds in the project's own environment only, and no wheel or image has compiled code."""
    monkeypatch.setenv("HAPPYCITY_COMPILE", "1")
    hook = hatch_build.Wheel(str(ROOT), {}, None, None, "", "wheel")  # type: ignore[arg-type]
    installed = {canonicalize_name(Requirement(one).name) for one in hook.dependencies()}
    assert len(installed) == len(hatch_build.COMPILING)
    known = sys.stdlib_module_names | {package.name for package in hatch_build.PACKAGES}
    known |= {"happycity_engine"}  # named for its types alone, and compiled as Any without it
    for module in hatch_build.MODULES:
        for name in _imported(ROOT / module) - known:
            distributions = {canonicalize_name(one) for one in packages_distributions()[name]}
            assert installed & (distributions | {f"types-{one}" for one in distributions}), (module, name)


def _imported(module: Path) -> set[str]:
    names = set[str]()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.nightly
def test_python_package_is_built_alike_twice(tmp_path: Path) -> None:
    """Wheel, source distribution and lists are the same bytes, whenever built, and the wheel plays."""
    sums = []
    for number in (1, 2):
        pack(["python"], tmp_path / str(number))
        files = sorted(path for path in (tmp_path / str(number)).iterdir() if not path.name.startswith("."))
        sums.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert len(sums[0]) == 4
    assert sums[0] == sums[1]
    wheel = next((tmp_path / "1").glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        (description,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        links = re.findall(r"\]\((?!#)(.+?)\)", archive.read(description).decode())
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []  # PyPI shows the README alone
    _play_without_installation(wheel, tmp_path)
    licence_list = (tmp_path / "1" / f"happycity-{version()}.licences.txt").read_text()
    assert UNKNOWN not in licence_list
    sbom = json.loads((tmp_path / "1" / f"happycity-{version()}.cdx.json").read_text())
    assert {"grpcio", "protobuf", "sqlalchemy"} < {component["name"] for component in sbom["components"]}


def _play_without_installation(wheel: Path, folder: Path) -> None:
    """`uvx` and `pipx` get the commands from the wheel in an environment that they make."""
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run(
        [uv, "tool", "run", "--quiet", "--from", f"{wheel}[arena]", "tournament", "run", "--rounds", "1"],
        cwd=folder,
        env={**os.environ, "UV_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "4 of 4 games" in done.stdout


LACKING = Path(__file__).parent / "as_windows"


def test_a_tournament_needs_nothing_that_windows_lacks(tmp_path: Path) -> None:
    """Server and bots do without uvloop, locks of files by fcntl, process groups and most signals."""
    done = run(
        *("run", "--rounds", 2, "--bots", "random,greedy", "--seats", 2),
        module="happycity_tournament",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(LACKING)},
    )
    assert done.returncode == 0, done.stderr
    assert "4 of 4 games" in done.stdout
    (log,) = tmp_path.glob("runs/*/server.log")
    assert "Traceback" not in log.read_text()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with copies of the files that have the version."""
    for name in PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_files_have_one_version() -> None:
    # Packages of all languages, the image and the citation are of the same version.
    assert set(read_versions().values()) == {version()}
    (in_image,) = re.findall(r"^ARG UV=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert f'name = "uv"\nversion = "{in_image}"\n' in (ROOT / "uv.lock").read_text()


def test_version_is_set_everywhere(copy: Path) -> None:
    old = version()
    set_version("12.3.45", copy)
    assert set(read_versions(copy).values()) == {"12.3.45"}
    assert '"happycity-engine==12.3.45"' in (copy / "pyproject.toml").read_text()
    set_version(old, copy)
    for name in PLACES:
        assert (copy / name).read_bytes() == (ROOT / name).read_bytes(), name


def test_files_that_differ_are_named(copy: Path) -> None:
    place = copy / "clients/rust/Cargo.toml"
    place.write_text(place.read_text().replace(f'version = "{version()}"', 'version = "9.9.9"'))
    with pytest.raises(VersionError, match=re.escape("but clients/rust/Cargo.toml has 9.9.9")):
        version(copy)
    place.write_text("[package]\n")
    with pytest.raises(VersionError, match=r"clients/rust/Cargo\.toml: there should be one version"):
        version(copy)
    with pytest.raises(VersionError, match="a version is three numbers"):
        set_version("0.2", copy)


def imports_of(path: Path) -> set[str]:
    """Return the modules that a module imports, for type checkers too; each name as if it were a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found


@pytest.mark.level(1)
def test_compiling_takes_what_is_listed() -> None:
    """All imports of the hot modules are followed, and a new environment has nothing but that list."""
    folders = {path.name: path.parent for name in hatch_build.PACKAGES for path in [ROOT / name]}
    waiting, seen, others = [ROOT / path for path in hatch_build.MODULES], set[Path](), set[str]()
    while waiting:
        if (path := waiting.pop()) in seen or not path.exists():
            continue
        seen.add(path)
        for module in imports_of(path):
            top, _, _ = module.partition(".")
            if top in folders:
                file = folders[top] / module.replace(".", "/")
                waiting += [file.with_suffix(".py"), file / "__init__.py"]
            elif top not in sys.stdlib_module_names:
                others.add(top)
    brought = {"google": "protobuf", "grpc": "types-grpcio"}
    skipped = {"happycity_engine"}
    assert len(seen) > 40
    assert {brought.get(name, name) for name in others - skipped} <= {*hatch_build.COMPILING}
