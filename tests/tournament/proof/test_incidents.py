"""Which decisions of a game the fallback settled, in records as servers write them."""

from dataclasses import replace
from typing import Any

import pytest

from happycity import Config, Deal, Ending, FailurePolicy, Game, Incident, IncidentKind, Move
from happycity.errors import RecordError
from happycity.match import Fallback
from happycity.records.record import Recorder
from happycity_evaluation.evaluator import Evaluator
from happycity_tournament.config import TournamentConfig
from happycity_tournament.luck_adjusted import luck_of
from happycity_tournament.proof.incidents import unanswered
from happycity_tournament.proof.publication import replayed
from happycity_tournament.recorded_games import luck_in

CONFIG = TournamentConfig(bots=("ann", "bob"), game=Config(players=2), seed=1)
LATE, FORFEITED = 7, 20


def record_of(config: TournamentConfig) -> tuple[dict[str, Any], set[int]]:
    """Play a game in which seat 0 is late once, and leaves; return what the fallback decided too."""
    deal = Deal.shuffle(config.game, seed=5)
    game, number, found = Game(deal), 0, set[int]()
    recorder, incidents = Recorder(deal), list[Incident]()
    while game.outcome is None:
        number += 1
        move = game.legal_moves[-1]
        if game.seat == 0 and number >= LATE and (not found or number >= FORFEITED):
            if not found:
                incidents.append(Incident(number, 0, IncidentKind.TIMEOUT, "late"))
            found.add(number)
            move = config.policy.fallback.move(game, deal.seed, number)
        if number == FORFEITED:
            incidents.append(Incident(number, 0, IncidentKind.FORFEIT, "gone"))
        recorder.add(game, move)
        game.apply(move)
    endings = (Ending.DISCONNECTED, Ending.FINISHED)
    record = recorder.record(game, endings=endings, reasons=("gone", ""), incidents=incidents)
    return {**record, "bots": ["ann", "bob"]}, found


@pytest.mark.parametrize("fallback", Fallback)
def test_a_late_answer_is_one_decision_and_a_forfeit_all_that_follow(fallback: Fallback) -> None:
    config = replace(CONFIG, policy=FailurePolicy(fallback=fallback))
    record, found = record_of(config)
    assert len(found) > 5
    assert unanswered(record, config) == found
    assert unanswered({**record, "incidents": [], "endings": ["finished"] * 2}, config) == set()


@pytest.mark.level(1)
def test_a_game_is_played_once_whatever_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fallback's moves and the luck are checked on the way; luck takes an open game besides."""
    record, found = record_of(CONFIG)
    evaluator = Evaluator()
    luck = {"evaluator": evaluator.digest, "places": list(luck_of(record, evaluator))}
    lucky = {**record, "luck": luck}
    with pytest.raises(RecordError, match=r"by evaluator '0123', and this version has \w{12}: "):
        replayed({**record, "luck": luck | {"evaluator": "0123"}}, CONFIG, unanswered)
    applied, apply = list[Move](), Game.apply

    def counted(game: Game, move: Move) -> None:
        applied.append(move)
        apply(game, move)

    monkeypatch.setattr(Game, "apply", counted)
    for checked, times in ((record, 1), (lucky, 2)):
        applied.clear()
        assert replayed(checked, CONFIG, unanswered).recorded_luck == luck_in(checked)
        assert len(applied) == times * len(record["moves"])
    assert found
