"""Programs for work on this project: `python -m tools` lists them, `python -m tools NAME` runs one."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
"""This checkout."""
