"""What a release publishes: the file of each package, and what must and must not be in it."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.release.packages import GO_MODULE

_TESTS = r"(^|/)tests?/.*(?<!\.in)$|(^|/)conftest\.py$|(^|/)test_\w+\.py$|_test\.\w+$|\.test\.\w+$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One file of a release; {v} in its texts is the version."""

    language: str
    """What packs it, as `python -m tools packages` names it."""
    file: str
    """Its path among the packed files; one * stands for what a platform is called."""
    holds: tuple[str, ...] = ()
    """Patterns of names, each of which a file in it has."""
    lacks: tuple[str, ...] = (_TESTS,)
    """Patterns of names that no file in it has."""
    says: Mapping[str, str] = field(default_factory=dict)
    """Where it says its version: the pattern of a file's name, and the text in it."""
    is_pure: bool = True
    """Whether it is the same bytes on each machine."""


_WHEEL = (r"/licenses/LICENSE$", r"/licenses/.+/OFL\.txt$", r"_pb2\.pyi$")
PACKAGES = {
    "wheel": Package(
        language="python",
        file="happycity-{v}-py3-none-any.whl",
        holds=(
            *_WHEEL,
            r"/first/conformance/first\.decision$",
            r"happycity_league/docs/rules\.md$",
        ),
        lacks=(_TESTS, r"\.so$", r"__pycache__"),
        says={r"METADATA$": "\nVersion: {v}\n", r"-info/METADATA$": "happycity/blob/v{v}/docs/rules.md)"},
    ),
    "compiled wheel": Package(
        language="compiled",
        file="compiled/happycity-{v}-*.whl",
        holds=(*_WHEEL, r"\.so$", r"\.sums$"),
        says={r"METADATA$": "\nVersion: {v}\n"},
        is_pure=False,
    ),
    "source": Package(
        language="python",
        file="happycity-{v}.tar.gz",
        holds=(r"/LICENSE$", r"/OFL\.txt$", r"/hatch_build\.py$"),
        says={r"PKG-INFO$": "\nVersion: {v}\n"},
    ),
    "engine wheel": Package(
        language="engine",
        file="happycity_engine-{v}-*.whl",
        holds=(r"/licenses/LICENSE$", r"/licenses/NOTICE$", r"\.pyi$", r"/py\.typed$", r"\.cyclonedx\.json$"),
        says={r"METADATA$": "\nVersion: {v}\n"},
        is_pure=False,
    ),
    "Go module": Package(
        language="go",
        file=f"go/{GO_MODULE}/@v/v{{v}}.zip",
        holds=(r"/LICENSE$", r"/NOTICE$", r"/go\.sum$", r"\.pb\.go$", r"/happycity_engine\.wasm$"),
        lacks=(),  # a proxy serves all files of the tag
        says={r"/play\.go$": 'Version = "{v}"'},
    ),
    "npm package": Package(
        language="typescript",
        file="happycity-{v}.tgz",
        holds=(r"/LICENSE$", r"/NOTICE$", r"/index\.d\.ts$", r"/engine-wasm\.js$"),
        says={r"^package/package\.json$": '"version": "{v}"'},
    ),
    "crate": Package(
        language="rust",
        file="happycity-{v}.crate",
        holds=(r"/LICENSE$", r"/src/v1\.rs$"),
        says={r"/Cargo\.toml$": 'version = "{v}"'},
    ),
    "engine crate": Package(
        language="rust",
        file="happycity-engine-{v}.crate",
        holds=(r"/LICENSE$", r"/NOTICE$"),
        says={r"/Cargo\.toml$": 'version = "{v}"'},
    ),
    "jar": Package(
        language="java",
        file="maven/io/github/happycity-arena/happycity/{v}/happycity-{v}.jar",
        holds=(r"/LICENSE$", r"/NOTICE$", r"/v1/Move\.class$", r"/EngineModule\.meta$"),
        lacks=(_TESTS, r"Test\.class$"),
        says={r"pom\.properties$": "version={v}"},
    ),
    "C++ source": Package(
        language="cpp",
        file="happycity-cpp-{v}.tar.gz",
        holds=(r"/LICENSE$", r"/engine/NOTICE$", r"/happycity\.h$", r"/cards\.proto$", r"/catalogue\.json$"),
        says={r"^[^/]+/CMakeLists\.txt$": "VERSION {v} "},
    ),
    "site": Package(
        language="site",
        file="happycity-site-{v}.tar.gz",
        holds=(r"/index\.html$", r"/search/search_index\.json$"),
        lacks=(),
    ),
    "dependencies": Package(
        language="python", file="happycity-{v}.cdx.json", says={"": '"bomFormat": "CycloneDX"'}
    ),
    "dependencies, Go": Package(
        language="go",
        file="happycity-go-{v}.cdx.json",
        says={"": '"pkg:golang/google.golang.org/grpc@'},
    ),
    "dependencies, npm": Package(
        language="typescript",
        file="happycity-typescript-{v}.cdx.json",
        says={"": '"pkg:npm/%40grpc/grpc-js@'},
    ),
    "dependencies, crate": Package(
        language="rust",
        file="happycity-rust-{v}.cdx.json",
        says={"": '"pkg:cargo/tonic@'},
    ),
    "dependencies, jar": Package(
        language="java",
        file="maven/io/github/happycity-arena/happycity/{v}/happycity-{v}-cyclonedx.json",
        says={"": '"pkg:maven/io.grpc/grpc-stub@'},
    ),
    "licences": Package(language="python", file="happycity-{v}.licences.txt", says={"": "grpcio "}),
}


def find(package: Package, dist: Path, version: str) -> Path | None:
    """Return a package's file below a folder of packed files; None without one."""
    return next(iter(sorted(dist.glob(package.file.format(v=version)))), None)


def problems(package: Package, path: Path, version: str) -> Iterator[str]:
    """Yield what is wrong with the content of a package: one line each."""
    files = _read(path)
    for pattern in package.holds:
        if not any(re.search(pattern, name) for name in files):
            yield f"{path.name}: it has no file like {pattern}"
    for pattern in package.lacks:
        for name in files:
            if re.search(pattern, name):
                yield f"{path.name}: {name} doesn't belong there"
    for pattern, text in package.says.items():
        said = text.format(v=version)
        if not any(said.encode() in content for name, content in files.items() if re.search(pattern, name)):
            yield f"{path.name}: no file like {pattern} says {said.strip()}"


def _read(path: Path) -> dict[str, bytes]:
    """Return the files in an archive by their names; a file that is no archive is alone."""
    if path.suffix in (".whl", ".zip", ".jar"):
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    if path.suffix in (".gz", ".tgz", ".crate"):
        with tarfile.open(path) as packed:
            members = ((each.name, packed.extractfile(each)) for each in packed.getmembers())
            return {name: file.read() for name, file in members if file is not None}
    return {"": path.read_bytes()}
