from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.release.container import Image, mounted_image

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    """Yield the image of this checkout; a build that `make image` has made before takes seconds."""
    if missing := [
        tool for tool in ("buildah", "mmdebstrap", "unshare", "setpriv") if not shutil.which(tool)
    ]:
        pytest.skip(f"{', '.join(missing)} missing; make image installs what builds an image")
    subprocess.run(["release/build-image"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with mounted_image() as built:
        yield built
