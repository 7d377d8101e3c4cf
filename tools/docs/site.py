"""Build the site of the documentation into build/site; a dead link is an error.

Further arguments are those of `mkdocs build`. While you write, `python -m mkdocs serve` shows the site.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tools import ROOT


def main() -> None:
    """Build the site."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", *sys.argv[1:]]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    sys.exit(subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode)
