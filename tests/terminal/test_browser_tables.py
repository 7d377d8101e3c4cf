"""`happycity play --web`: one command that leads to a table in the browser."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.waiting import LIMIT

from happycity import Mode
from happycity_terminal.browser_tables import form_fields
from happycity_terminal.play import GamePlan


def plan(**fields: object) -> GamePlan:
    values = {
        "name": "Eva",
        "against": "random",
        "commands": (),
        "mode": Mode.EXPERT,
        "seats": None,
        "seed": 1,
    }
    return GamePlan(**{**values, **fields})  # type: ignore[arg-type]  # the table has the fields' types


def test_form_has_the_planned_game() -> None:
    fields = form_fields(plan(), ("greedy", "planner"))
    assert (fields["name"], fields["mode"], fields["clock"]) == ("Eva", "expert", "none")
    assert sorted(fields[f"seat{number}"] for number in (1, 2, 3)) == ["greedy", "me", "planner"]


@pytest.mark.level(2)
def test_one_command_leads_to_a_table(tmp_path: Path) -> None:
    """The printed link opens the form, the form a table, and Ctrl-C ends all in good order."""
    command = [sys.executable, "-m", "happycity", "play", "--web", "--no-open", "--against", "random"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().removeprefix("play: ").strip()
            with httpx.Client(base_url=link.partition("/play")[0], timeout=LIMIT) as browser:
                assert browser.get("/play").status_code == 401
                assert "url=/play?name=you" in browser.get(link).text
                form = {"name": "you", "seat1": "me", "seat2": "random"}
                seated = browser.post("/play", data=form)
                assert seated.status_code == 303
                assert "Your table" in browser.get(seated.headers["location"]).text
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert not list((tmp_path / "runs").iterdir()), "nothing is left of a server without a game"
