"""The engine's WebAssembly and static library, and what the tests of all bindings compare them with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tools import ROOT
from tools.engine import engine_cases, engine_wasm

CLIENTS = ROOT / "clients"
CASES = CLIENTS / "conformance" / "engine.jsonl"
BINDINGS = {
    "go": ("go", "test", "-count=1", "-run", "^TestEngine$", "."),
    "typescript": ("node", "--test", "--test-name-pattern=every position", "dist/test/engine.test.js"),
    "java": (
        *("mvn", "-q", "-B", "-ntp", "-pl", "happycity", "-Dspotless.check.skip"),
        *("-Dtest=PositionTest#likeTheCrate", "-Djunit.jupiter.execution.timeout.mode=disabled", "test"),
    ),
    "cpp": ("build/tests/tests", "--gtest_filter=Position.LikeTheCrate"),
    "rust": ("cargo", "test", "--quiet", "--locked", "--features", "engine", "--test", "engine"),
}
"""What runs the test of a binding, in the SDK's folder; it reads the cases."""


def test_copies() -> None:
    """The hash and the copies in packages are those of the committed file, of at most 100 kB."""
    wasm = engine_wasm.WASM.read_bytes()
    assert len(wasm) <= 100_000
    for path, content in engine_wasm.files(wasm).items():
        assert path.read_bytes() == content, f"{path}: make wasm writes it"


@pytest.mark.level(3)
@pytest.mark.skipif(bool(engine_wasm.lacking()), reason=engine_wasm.lacking())
def test_committed_file_is_what_the_sources_compile_to() -> None:
    """The same bytes come of the sources wherever they are."""
    assert engine_wasm.compiled() == engine_wasm.WASM.read_bytes(), "make wasm compiles it again"


@pytest.mark.usefixtures("engine")
def test_cases_are_what_the_crate_does() -> None:
    """Bindings are compared with the crate as it is."""
    text = "".join(engine_cases.lines())
    assert text == CASES.read_text("utf-8"), "python -m tools engine-cases writes it"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("language", "games"),
    [
        *((language, 96) for language in ("go", "typescript")),
        *(pytest.param(language, 2000, marks=pytest.mark.nightly) for language in BINDINGS),
    ],
)
def test_bindings_play_as_the_crate(language: str, games: int, tmp_path: Path) -> None:
    """All functions do the same on decisions of games by all movers, and whole games come to their ends."""
    command, folder = BINDINGS[language], CLIENTS / language
    is_stale = any(_is_stale(folder / word) for word in command if "/" in word)
    if is_stale or ("/" not in command[0] and shutil.which(command[0]) is None):
        pytest.skip(f"{command[0]}: `make clients` builds what this machine has the tools for")
    cases = tmp_path / "engine.jsonl"
    with cases.open("w") as file:
        file.writelines(engine_cases.lines(games, 4))
    environment = {**os.environ, "HAPPYCITY_ENGINE_CASES": str(cases)}
    subprocess.run(command, cwd=folder, env=environment, check=True)


def _is_stale(built: Path) -> bool:
    """Return whether a binding's program is missing, or older than the committed engine."""
    return not built.exists() or built.stat().st_mtime < engine_wasm.WASM.stat().st_mtime
