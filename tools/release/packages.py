"""Pack everything that a release publishes, each as its registry takes it, into dist/.

`python -m tools packages` packs all languages whose tools are installed and the site, or the languages that
it names. Twice packed, the files are the same: times in them are that of the last commit.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tools import ROOT
from tools.release.components import COMPONENTS, bill
from tools.release.licences import licences
from tools.release.version import version

GO_MODULE = "github.com/happycity-arena/happycity/clients/go"
_UV = Path(sys.executable).with_name("uv")
_EXTRAS = ("--extra", "web", "--extra", "postgresql")
_OF_EVERY_SDK = ("Makefile", "tests/", "test/")
"""What of an SDK's folder is for those who work on it, not for those who use it."""


def pack_python(out: Path) -> None:
    """Build the source distribution, and the wheel from it; list what they depend on, with licences."""
    _run(_UV, "build", "--quiet", "--out-dir", out)
    components = _run(_UV, "export", "--frozen", "--quiet", "--no-dev", "--format", "cyclonedx1.5", *_EXTRAS)
    sbom = json.loads(components)
    # Both are new in each export, and say nothing of what is in it.
    del sbom["serialNumber"], sbom["metadata"]["timestamp"]
    (out / f"happycity-{version()}.cdx.json").write_text(json.dumps(sbom, indent=2) + "\n")
    names = [component["name"] for component in sbom["components"]]
    (out / f"happycity-{version()}.licences.txt").write_text(licences(names))


def pack_engine(out: Path) -> None:
    """Build the wheel of the native engine for this platform, for Python 3.11 and newer."""
    _run(_UV, "build", "--quiet", "--wheel", "--out-dir", out, ROOT / "engine/python")


def pack_go(out: Path) -> None:
    """Lay the module out as the Go proxy serves it; `GOPROXY=file://...` reads it."""
    folder = out / "go" / GO_MODULE / "@v"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"v{version()}"
    (folder / "list").write_text(f"{name}\n")
    (folder / f"{name}.info").write_text(json.dumps({"Version": name, "Time": _time().strftime("%FT%TZ")}))
    shutil.copyfile(ROOT / "clients/go/go.mod", folder / f"{name}.mod")
    with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files("clients/go"):
            entry = zipfile.ZipInfo(f"{GO_MODULE}@{name}/{path}", _time().timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (ROOT / "clients/go" / path).read_bytes())


def pack_typescript(out: Path) -> None:
    """Compile the package, and pack it as npm does."""
    folder = ROOT / "clients/typescript"
    _run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", folder=folder)
    _run("npm", "pack", "--loglevel=error", "--pack-destination", out, folder=folder)


def pack_rust(out: Path) -> None:
    """Pack the crate and that of the engine; they are compiled by their users.

    There is no lock file in them: cargo makes one by the registry, which has no engine yet.
    """
    target = ROOT / "clients/rust/target"
    for name, folder in (("happycity-engine", "engine"), ("happycity", "clients/rust")):
        _run(
            *("cargo", "package", "--quiet", "--exclude-lockfile", "--allow-dirty", "--no-verify"),
            *("--package", name, "--target-dir", target),
            folder=ROOT / folder,
        )
        shutil.copy(target / f"package/{name}-{version()}.crate", out)


def pack_java(out: Path) -> None:
    """Put library, sources and documentation into a Maven repository that is a folder."""
    _run(
        *("mvn", "-q", "-B", "-ntp", "-Prelease", "-Dmaven.test.skip", "-Dspotless.check.skip"),
        # Not into the local repository, where it would hide the next one of this version.
        *("-pl", "happycity", "-am", "-Dmaven.install.skip=true"),
        *(f"-DaltDeploymentRepository=local::file:{out}/maven", "deploy"),
        folder=ROOT / "clients/java",
    )


def pack_cpp(out: Path) -> None:
    """Pack the sources with contract, table of cards and engine, so that the archive alone can be built."""
    top = f"happycity-cpp-{version()}"
    files = {path: ROOT / "clients/cpp" / path for path in _files("clients/cpp", *_OF_EVERY_SDK)}
    files |= {f"proto/{path}": ROOT / "proto" / path for path in _files("proto") if "/v1/" in path}
    engine = (
        path
        for path in _files("engine", "python/", "tests/")
        if path.endswith((".rs", ".h", "LICENSE", "NOTICE"))
    )
    files |= {f"engine/{path}": ROOT / "engine" / path for path in engine}
    files["clients/conformance/catalogue.json"] = ROOT / "clients/conformance/catalogue.json"
    _pack_folder(out, top, files)


def pack_site(out: Path) -> None:
    """Build the site of the documentation and pack it, so that pages can be searched without a build."""
    with tempfile.TemporaryDirectory() as folder:
        _run(sys.executable, "-m", "tools", "site", "--quiet", "--site-dir", folder)
        files = {str(path.relative_to(folder)): path for path in Path(folder).rglob("*") if path.is_file()}
        _pack_folder(out, f"happycity-site-{version()}", files)


def _pack_folder(out: Path, top: str, files: Mapping[str, Path]) -> None:
    """Write `top`.tar.gz, with files by their paths in the folder `top`."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, path in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime = path.stat().st_size, int(_time().timestamp())
            with path.open("rb") as file:
                archive.addfile(entry, file)
    (out / f"{top}.tar.gz").write_bytes(gzip.compress(content.getvalue(), mtime=0))


LANGUAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "python": ("git", pack_python),
    "engine": ("cargo", pack_engine),
    "go": ("go", pack_go),
    "typescript": ("npm", pack_typescript),
    "rust": ("cargo", pack_rust),
    "java": ("mvn", pack_java),
    "cpp": ("git", pack_cpp),
    "site": ("git", pack_site),
}
"""What packs each language, and the site, and the tool that it needs."""


def pack(languages: list[str], out: Path) -> None:
    """Pack some languages into a folder.

    Raises:
        VersionError: the packages don't have one version.
        subprocess.CalledProcessError: a tool fails.
    """
    out.mkdir(parents=True, exist_ok=True)
    version()
    for language in languages:
        LANGUAGES[language][1](out.resolve())
        if language in COMPONENTS:
            (out / f"happycity-{language}-{version()}.cdx.json").write_text(bill(language, version()))


def _time() -> datetime:
    """Return the time of the last commit, or the one that the environment sets."""
    text = os.environ.get("SOURCE_DATE_EPOCH") or _run("git", "log", "-1", "--format=%ct")
    return datetime.fromtimestamp(int(text), UTC)


def _files(folder: str, *without: str) -> Iterator[str]:
    """Yield the files of a folder that git keeps, in their order."""
    for path in _run("git", "ls-files", "-z", folder=ROOT / folder).split("\0"):
        if path and not path.startswith(without):
            yield path


def _run(*command: str | Path, folder: Path = ROOT) -> str:
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Pack what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=f"any of {', '.join(LANGUAGES)}")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    if unknown := set(arguments.languages) - set(LANGUAGES):
        parser.error(f"{', '.join(sorted(unknown))}: the languages are {', '.join(LANGUAGES)}")
    chosen = arguments.languages or [name for name, (tool, _) in LANGUAGES.items() if shutil.which(tool)]
    missing = [name for name in LANGUAGES if name not in chosen]
    pack(chosen, arguments.out)
    for path in sorted(arguments.out.iterdir()):
        sys.stdout.write(f"{path}\n")
    if missing and not arguments.languages:
        sys.stdout.write(f"not packed, as their tools are missing: {', '.join(missing)}\n")
