"""The modules of the SDK in TypeScript, read as text: its own tests run with Node.js."""

import re
from graphlib import TopologicalSorter

from tools import ROOT

_IMPORT = re.compile(r"""^(?:import|export)[^;]*? from "\./([a-z_-]+)\.js";""", re.MULTILINE)


def test_no_module_imports_itself_by_others() -> None:
    """Types count too: who reads a module may read those that it imports first."""
    folder = ROOT / "clients/typescript/src"
    imports = {path.stem: {*_IMPORT.findall(path.read_text("utf-8"))} for path in folder.glob("*.ts")}
    order = [*TopologicalSorter(imports).static_order()]  # raises CycleError
    assert order[-1] == "index"
    assert imports["session"] >= {"player", "settings"}
