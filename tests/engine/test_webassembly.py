"""The engine's WebAssembly, and what the tests of its bindings compare it with."""

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
    "typescript": ("node", "--test", "dist/test/engine.test.js"),
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
@pytest.mark.parametrize("language", BINDINGS)
@pytest.mark.parametrize("games", [96, pytest.param(2000, marks=pytest.mark.nightly)])
def test_webassembly_plays_as_the_crate(language: str, games: int, tmp_path: Path) -> None:
    """All functions do the same on decisions of games by all movers, in Node and by Go's runtime."""
    command = BINDINGS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    if language == "typescript" and not (CLIENTS / language / command[-1]).exists():
        pytest.skip("`make clients` builds the SDK")
    cases = tmp_path / "engine.jsonl"
    cases.write_text("".join(engine_cases.lines(games, 4)))
    environment = {**os.environ, "HAPPYCITY_ENGINE_CASES": str(cases)}
    subprocess.run(command, cwd=CLIENTS / language, env=environment, check=True)
