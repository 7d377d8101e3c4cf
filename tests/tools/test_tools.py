"""`python -m tools`: each program is listed by what it does, and a wrong name is one line."""

import re

import pytest
from tools import ROOT
from tools.__main__ import listing, main, programs
from tools.lines import area_of


def test_every_program_says_what_it_does() -> None:
    """A line each, in the imperative; what programs share isn't one of them."""
    lines = listing().splitlines()
    assert len(lines) == len(programs()) >= 20
    for line in lines:
        name, summary = line.split(maxsplit=1)
        assert summary[0].isupper(), name
        assert summary.endswith("."), name
    assert not {"harness", "crowds", "models", "learner"} & set(programs())


def test_a_wrong_name_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """It names the nearest program, and the status is 2."""
    with pytest.raises(SystemExit) as ended:
        main(["lnes", "--at", "HEAD"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: there is no program lnes: did you mean lines?\n"


def test_help_needs_no_options(capsys: pytest.CaptureFixture[str]) -> None:
    """A program without options explains itself too, and does nothing."""
    main(["diagrams", "--help"])
    assert capsys.readouterr().out.startswith("Draw the diagrams")


def test_lines_of_examples_are_not_counted() -> None:
    counted = ("clients/envs/happycity_envs/vector.py", "clients/mcp/happycity_mcp/tools.py")
    assert [area_of(path) for path in counted] == ["Python: clients without the SDK"] * 2
    for path in ("clients/envs/examples/ppo.py", "clients/mcp/examples/scripted_agent.py"):
        assert area_of(path) is None


def test_the_contract_is_compared_but_for_folders_that_exist() -> None:
    """An exception in buf.yaml for a package that was removed would hide its return in another form."""
    breaking = (ROOT / "buf.yaml").read_text().partition("\nbreaking:")[2]
    folders = re.findall(r"^    - (proto/\S+)", breaking, re.MULTILINE)
    assert folders
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
