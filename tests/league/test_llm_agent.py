"""The example of an agent that asks a language model, confined as in a league."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.llm.endpoints import Handler, completion, endpoint
from tests.llm.test_llm import llama
from tests.server.hosting.conftest import why_not

from happycity_league.config import AgentConfig
from happycity_league.projects import Project

pytestmark = [
    pytest.mark.level(3),
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "bubblewrap is there"),
]
ROOT = Path(__file__).parents[2]


def made(tmp_path: Path) -> Project:
    """Return a project whose agent is the example, with its brief and feedback."""
    command = shlex.join([sys.executable, str(ROOT / "league/examples/llm_agent.py"), "tiny", "16"])
    agent = AgentConfig(name="ann", project=str(ROOT / "tests/league/agents/climber"), command=command)
    project = Project(tmp_path / "league", agent)
    asyncio.run(project.create())
    project.prepare({"edit.json": '{"outcome": "unchanged"}'})
    return project


def test_a_model_that_answers_with_files_edits_the_bot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads brief, feedback and bot; an answer that can't be used is shown to it once more."""
    asked: list[Any] = []
    answers = ["Sure!", "FILE bot.py\n```python\nbroken(\n```", "FILE bot.py\n```python\nprint('new')\n```\n"]

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        asked.append(body["messages"])
        handler.send(200, completion(answers[len(asked) - 1]))

    project = made(tmp_path)
    with endpoint(answer) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        problem, _, _ = asyncio.run(project.edit(1))
    assert problem == "", project.log.read_text()
    assert (project.folder / "bot.py").read_text() == "print('new')\n"
    assert "# The rules" in asked[0][0]["content"]
    assert all(text in asked[0][1]["content"] for text in ("CARE = 0", '"outcome": "unchanged"', "bot.toml"))
    assert asked[1][-1]["content"].startswith("There was no file in the answer.")
    assert "SyntaxError" in asked[2][-1]["content"]
    assert project.usage()["tokens"] > 0


def test_the_garbage_of_a_tiny_model_fails_the_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real llama.cpp server with random weights."""
    project = made(tmp_path)
    for name in ("BRIEF.md", "feedback/edit.json", "bot.py", "edit.py"):
        (project.folder / name).write_text("x")  # its context is short
    with llama(tmp_path) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        problem, _, _ = asyncio.run(project.edit(1))
    assert problem == "it ended with status 1"
    assert (project.folder / "bot.py").read_text() == "x"
