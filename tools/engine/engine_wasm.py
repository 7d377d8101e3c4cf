"""Compile the engine to WebAssembly, and copy it to where packages take it from.

    make wasm                                # writes the files
    python -m tools engine-wasm --check      # fails if they aren't what the sources compile to

The same sources give the same bytes with the compiler that is named here, wherever the checkout lies. Debian
12 has it: `python3 -m tools install wasm`, as root, downloads 112 MB and takes 545 MB.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Final

from tools import ROOT

ENGINE: Final = ROOT / "engine"
NAME: Final = "happycity_engine.wasm"
WASM: Final = ENGINE / "c" / NAME
HASH: Final = ENGINE / "c" / f"{NAME}.sha256"
GO: Final = ROOT / "clients" / "go" / NAME
"""A copy, as Go embeds files of a module's own folder alone."""
TYPESCRIPT: Final = ROOT / "clients" / "typescript" / "src" / "engine-wasm.ts"
"""The same as text, which Node, browsers and bundlers all load in one way."""
NOTICE: Final = ENGINE / "NOTICE"
"""Whose code is compiled in, and its licences."""
NOTICES: Final = tuple(
    ROOT / package / NOTICE.name
    for package in ("clients/go", "clients/typescript", "clients/java", "engine/python")
)
"""Its copies in packages that have the engine in compiled form."""
COMPILER: Final = "rustc 1.63.0"
STACK: Final = 64 * 1024
"""Bytes for the deepest call: the engine has no recursion, and a position is less than 1 kB."""
_TARGET: Final = "--target=wasm32-unknown-unknown"
_RUSTC: Final = os.environ.get("RUSTC", "/usr/bin/rustc")


def lacking() -> str:
    """Return what is missing to compile; "" if nothing is."""
    try:
        version = _output(_RUSTC, "--version")
        folder = _output(_RUSTC, "--print=target-libdir", _TARGET)
    except (OSError, subprocess.CalledProcessError):
        return f"there is no {_RUSTC}, of Debian's package rustc"
    if not f"{version} ".startswith(f"{COMPILER} "):
        return f"{_RUSTC} is {version}, but {COMPILER} is needed"
    if not Path(folder).is_dir():
        return "there is no standard library for WebAssembly, of Debian's package libstd-rust-dev-wasm32"
    return ""


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def compiled() -> bytes:
    """Return what the sources compile to.

    Raises:
        subprocess.CalledProcessError: they can't be compiled; the compiler has printed why.
    """
    with tempfile.TemporaryDirectory() as folder:
        common = [_RUSTC, "--edition=2021", _TARGET, f"--out-dir={folder}"]
        common += [
            "-Copt-level=3",
            "-Ccodegen-units=1",
            "-Cpanic=abort",
            f"--remap-path-prefix={ENGINE}=engine",
        ]
        crate = ["--crate-type=rlib", "--crate-name=happycity_engine", "src/lib.rs"]
        interface = ["--crate-type=cdylib", "--crate-name=happycity_engine_c", "c/src/lib.rs"]
        interface += [f"--extern=engine={folder}/libhappycity_engine.rlib", "-Clto", "-Cstrip=symbols"]
        interface += ["-Clinker=wasm-ld", f"-Clink-arg=-zstack-size={STACK}"]
        for arguments in (crate, interface):
            subprocess.run([*common, *arguments], cwd=ENGINE, check=True)
        return Path(folder, "happycity_engine_c.wasm").read_bytes()


def hash_line(wasm: bytes) -> str:
    """Return the line that `sha256sum --check` reads."""
    return f"{hashlib.sha256(wasm).hexdigest()}  {NAME}\n"


def files(wasm: bytes) -> dict[Path, bytes]:
    """Return what packages take, by path."""
    packed = b64encode(wasm).decode()
    text = f'/** The native engine; `make wasm` writes it. */\nexport const WASM =\n  "{packed}";\n'
    notices = dict.fromkeys(NOTICES, NOTICE.read_bytes())
    return {WASM: wasm, HASH: hash_line(wasm).encode(), GO: wasm, TYPESCRIPT: text.encode(), **notices}


def main() -> None:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    if lacking():
        sys.exit(f"error: {lacking()}; python3 -m tools install wasm")
    for path, content in files(compiled()).items():
        if not check:
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            sys.exit(f"error: {path} is not what the sources compile to; run: make wasm")


if __name__ == "__main__":
    main()
