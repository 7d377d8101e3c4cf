import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.release.container import Image, mounted_image

ROOT = Path(__file__).parents[2]
CANNOT = 3
"""The status of tools/release/build-image where the machine lacks something."""


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    """Yield the image of this checkout; a build with the layers of an earlier one takes seconds."""
    if missing := [
        tool for tool in ("buildah", "mmdebstrap", "unshare", "setpriv") if not shutil.which(tool)
    ]:
        pytest.skip(f"{', '.join(missing)} missing: python -m tools install image")
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("this machine gives no right to containers")
    built = subprocess.run(["tools/release/build-image"], cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    if built.returncode == CANNOT:
        pytest.skip("no image can be built on this machine")
    built.check_returncode()
    with mounted_image() as image:
        yield image
