"""The golden boards: positions of the golden games as text.

`python -m tests.game.rules.boards` makes them again.
"""

from collections.abc import Iterator

from tests.game.rules.test_golden import GAMES, GOLDEN

from happycity.records.playback import Playback, Step
from happycity.text.board import board_lines, options_lines, plain
from happycity.text.words import events_in_words

NAMES = ("players_2", "players_3", "players_4", "players_5", "expert_2", "expert_3", "expert_4", "expert_5")
BOTS = ("greedy", "planner", "a-bot-with-a-name-that-is-too-long-for-its-column", "mine", "Ω")


def boards(name: str, *, width: int = 80) -> str:
    """Return the last position of each phase of a golden game, and its end."""
    playback = Playback.of_record(GAMES[name].record, bots=BOTS)
    last = {step.view.phase: step for step in playback.steps}
    return "".join(text for phase in sorted(last) for text in _board(last[phase], width))


def _board(step: Step, width: int) -> Iterator[str]:
    yield f"=== decision {step.decision_id}, {step.view.phase}\n\n"
    yield "".join(f"{sentence}\n" for sentence in events_in_words(step.events, BOTS)) + "\n"
    yield plain(board_lines(step.view, bots=BOTS, width=width)) + "\n"
    if step.options:
        yield plain(options_lines(step.view, step.options, bots=BOTS, chosen=step.move)) + "\n"


if __name__ == "__main__":
    for golden in NAMES:
        (GOLDEN / f"{golden}.txt").write_text(boards(golden), encoding="utf-8")
