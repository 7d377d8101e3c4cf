"""What `make setup` installs into an environment that has more than it began with."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("installed", "kept"),
    [
        ((), []),
        (("ray",), ["--group", "envs"]),
        (("happycity_engine",), ["--extra", "engine"]),
        (("ray", "happycity_engine"), ["--group", "envs", "--extra", "engine"]),
    ],
)
def test_setting_up_again_keeps_what_other_targets_installed(
    tmp_path: Path, installed: tuple[str, ...], kept: list[str]
) -> None:
    """Packages that uv.lock no longer names are removed nevertheless, as the synchronisation is exact."""
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in installed:
        (tmp_path / ".venv/lib/python3.11/site-packages" / name).mkdir(parents=True)
    environment = {"PATH": os.environ["PATH"]}  # without what a make above this test says
    recipe = subprocess.run(
        ["make", "--dry-run", "setup"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (sync,) = [line.split() for line in recipe.splitlines() if "uv sync" in line]
    assert sync[1:] == ["sync", "--frozen", *kept, "--compile-bytecode", "--quiet"]
