"""Programs: variables that lie in files, and errors of those without a command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from happycity.errors import ConfigError
from happycity.runtime.program import read_variables_from_files


def test_bad_input_costs_one_line() -> None:
    """A name that is wrong ends the program with status 2 and says what is wrong."""
    done = subprocess.run(
        [sys.executable, "-m", "happycity_bots", "ann=gredy"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "error: 'gredy' is not a reference bot; did you mean greedy?\n"


def test_variables_may_lie_in_files(tmp_path: Path) -> None:
    """The file's text replaces the variable that names it, without the line break at its end; others stay."""
    secret = tmp_path / "token"
    secret.write_text("hc_secret\n")
    environ = {
        "HAPPYCITY_TOKEN": "hc_other",
        "HAPPYCITY_TOKEN_FILE": str(secret),
        "HAPPYCITY_SERVE_STORE_FILE": "",
        "OTHER_FILE": "x",
    }
    read_variables_from_files(environ)
    assert environ == {"HAPPYCITY_TOKEN": "hc_secret", "OTHER_FILE": "x"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "can't be read: No such file or directory"),
        (b"hc_secret\xff\n", "is not text in UTF-8"),
        (b"hc_\0secret\n", "is not text in UTF-8"),
    ],
)
def test_files_of_variables_that_cannot_be_used_are_refused(
    content: bytes | None, problem: str, tmp_path: Path
) -> None:
    """One line names the variable and says what is wrong, without the secret."""
    secret = tmp_path / "file"
    if content is not None:
        secret.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_variables_from_files({"HAPPYCITY_TOKEN_FILE": str(secret)})
    assert str(caught.value) == f"HAPPYCITY_TOKEN_FILE: {secret} {problem}"
