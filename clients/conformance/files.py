"""What the scripts of this folder do with the files that they make."""

from __future__ import annotations

import sys
from pathlib import Path


def write_or_check(files: dict[Path, str]) -> None:
    """Write files; with --check compare them instead, and exit with status 1 if one is not current."""
    current = {path: path.read_text("utf-8") for path in files if path.exists()}
    outdated = {path: text for path, text in files.items() if text != current.get(path)}
    if sys.argv[1:] != ["--check"]:
        for path, text in outdated.items():
            path.write_text(text, encoding="utf-8")
    elif outdated:
        sys.exit(f"not current: {', '.join(map(str, outdated))}; run {sys.argv[0]}")
