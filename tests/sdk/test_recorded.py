"""Decisions of recorded games, by the file of all SDKs."""

from pathlib import Path

import pytest
from tools import ROOT

from happycity import ConfigError, EventKind, Move
from happycity_client import Bot, Decision, GameStarted, IllegalChoiceError, ask, read_decision

FIRST = ROOT / "clients/conformance/first.decision"


class Fourth(Bot):
    async def choose(self, decision: Decision) -> int:
        return self.start.seat + 2


class Last(Bot):
    def choose(self, decision: Decision) -> int:
        return len(decision.moves)


def fourth(start: GameStarted) -> Bot:
    return Fourth(start)


def test_a_file_has_the_start_of_the_game_and_what_happened() -> None:
    start, decision = read_decision(FIRST)
    assert (start.match_id, start.bots[start.seat], start.seed) == (22, "mine", 2**63)
    assert (decision.decision_id, decision.seat, len(decision.moves)) == (32, 1, 6)
    assert decision.time_left is None
    assert decision.events[0].kind is EventKind.ROUND_STARTED
    assert decision.events[0].round == 1


def test_nothing_hidden_is_in_it() -> None:
    """The position has no order of a deck, and discards are in table order."""
    view = read_decision(FIRST)[1].message.view
    assert [list(type(deck).DESCRIPTOR.fields_by_name) for deck in view.decks] == [["left", "discarded"]] * 3
    assert all(list(deck.discarded) == sorted(deck.discarded) for deck in view.decks)
    assert any(len(deck.discarded) > 1 for deck in view.decks)
    assert not {"seed", "deal"} & set(type(view).DESCRIPTOR.fields_by_name)


def test_a_bot_is_made_for_the_game_and_asked() -> None:
    """It may be asynchronous; what makes bots may be a function."""
    assert ask(Fourth, FIRST) == Move.parse("build spa")
    assert ask(fourth, str(FIRST)).card is not None


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(IllegalChoiceError, match="the bot chose 6, which is not legal"):
        ask(Last, FIRST)
    (tmp_path / "empty").touch()
    for path, problem in {
        tmp_path / "nowhere": "nowhere can't be read: No such file or directory",
        tmp_path
        / "empty": "empty is not a decision as this writes it: happycity ask GAME@DECISION --out FILE",
        FIRST.with_name("catalogue.json"): "catalogue.json is not a decision as",
    }.items():
        with pytest.raises(ConfigError, match=problem):
            ask(Fourth, path)
    with pytest.raises(ConfigError, match="without parentheses after Fourth"):
        ask(Fourth(GameStarted(0, read_decision(FIRST)[0].config, 0, (), 0)), FIRST)  # type: ignore[arg-type]
