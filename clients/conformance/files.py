"""What the scripts of this folder do with the files that they make."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def write_or_check(files: Mapping[Path, str | bytes]) -> None:
    """Write files; with --check compare them instead, and exit with status 1 if one is not current."""
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    current = {path: path.read_bytes() for path in files if path.exists()}
    outdated = {path: content for path, content in contents.items() if content != current.get(path)}
    if sys.argv[1:] != ["--check"]:
        for path, content in outdated.items():
            path.write_bytes(content)
    elif outdated:
        sys.exit(f"not current: {', '.join(map(str, outdated))}; run {sys.argv[0]}")
