"""The native engine, built from this checkout: tests and programs use it without installing it."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from types import ModuleType

from tools import ROOT

_FOLDER = ROOT / "build" / "engine"
_MODULE = "happycity_engine"


def lacking() -> str:
    """Return what the machine lacks for building the engine; "" if it lacks nothing."""
    return "" if shutil.which("cargo") else "there is no cargo, which builds the native engine"


def load_engine() -> ModuleType:
    """Build the engine's Python package and import it.

    Raises:
        subprocess.CalledProcessError: it can't be built; cargo has printed why.
    """
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "happycity-engine-python"]
    environment = {**os.environ, "PYO3_PYTHON": sys.executable, "CARGO_TARGET_DIR": str(_FOLDER)}
    subprocess.run(command, cwd=ROOT / "engine", env=environment, check=True)
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    prefix = "" if sys.platform == "win32" else "lib"
    # Under the name by which Python finds it; replaced at once, as other processes may load it.
    module = _FOLDER / "python" / f"{_MODULE}.{'pyd' if sys.platform == 'win32' else 'abi3.so'}"
    module.parent.mkdir(parents=True, exist_ok=True)
    copied = module.with_suffix(f".{os.getpid()}")
    shutil.copy2(_FOLDER / "release" / f"{prefix}{_MODULE}.{suffix}", copied)
    copied.replace(module)
    if str(module.parent) not in sys.path:
        sys.path.insert(0, str(module.parent))
    return importlib.import_module(_MODULE)
