"""How the project says that it is installed: from a checkout, from a file, or from an index."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools import ROOT

from happycity_runtime.installation import install_command, own_checkout

PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:]
from happycity_runtime.installation import install_command, own_checkout
print(own_checkout())
print(install_command("web"))
"""


def installed(folder: Path, direct_url: object) -> list[str]:
    """Return what an installation of version 9.9.9 says, with the direct_url.json of its installer."""
    shutil.copytree(ROOT / "runtime/happycity_runtime", folder / "happycity_runtime")
    description = folder / "happycity-9.9.9.dist-info"
    description.mkdir()
    (description / "METADATA").write_text("Metadata-Version: 2.1\nName: happycity\nVersion: 9.9.9\n")
    if direct_url is not None:
        (description / "direct_url.json").write_text(json.dumps(direct_url))
    command = [sys.executable, "-I", "-c", PROGRAM, str(folder), str(ROOT / "game")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def test_a_checkout_is_named_by_its_path() -> None:
    assert own_checkout() == ROOT
    assert install_command("web") == f"pip install '{ROOT}[web]'"


@pytest.mark.level(2)
def test_an_installation_names_where_it_came_from(tmp_path: Path) -> None:
    """A checkout from which it was installed, a wheel, or this version of an index."""
    checkout = {"url": ROOT.as_uri(), "dir_info": {}}
    assert installed(tmp_path / "1", checkout) == [str(ROOT), f"pip install '{ROOT}[web]'"]
    wheel = {"url": "file:///my%20files/happycity.whl", "archive_info": {}}
    assert installed(tmp_path / "2", wheel) == ["None", "pip install '/my files/happycity.whl[web]'"]
    assert installed(tmp_path / "3", None) == ["None", "pip install 'happycity[web]==9.9.9'"]
