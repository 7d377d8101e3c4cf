"""What a decision costs on its way through the server and a bot, without streams."""

from functools import partial

import pytest
from tests.server.play.test_lobby import calls_of
from tools.benchmarks.speed import Core


@pytest.mark.level(1)
async def test_a_decision_takes_few_calls_of_functions() -> None:
    """Calls are counted, which no busy machine disturbs: from one answer to the next they were 80."""
    await Core().play(4)  # fills caches
    core = Core()
    calls = await calls_of(partial(core.play, 4))
    assert calls < 82 * core.decisions
