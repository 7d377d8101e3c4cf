"""The bot on the bare stubs of docs/protocol.md."""

import re
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def code() -> str:
    section = _PAGE.read_text(encoding="utf-8").partition("\n### A whole bot\n")[2].partition("\n### ")[0]
    (program,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
    assert isinstance(program, str)
    return program
