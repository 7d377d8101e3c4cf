"""Record the contract with which `make lint` compares later ones; to be made for a release."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tools import ROOT

BASELINE = "proto/baseline.binpb"


def main() -> None:
    """Record the contract, unless it breaks the one that is recorded."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    buf = Path(sys.executable).with_name("buf")
    for command in (
        ["breaking", "--against", BASELINE],
        ["build", "--exclude-source-info", "--output", BASELINE],
    ):
        if status := subprocess.run([buf, *command], cwd=ROOT, check=False).returncode:
            sys.exit(status)
