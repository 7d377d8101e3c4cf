"""Which decisions of a game the fallback settled, in records as servers write them."""

from dataclasses import replace
from typing import Any

import pytest

from happycity import Config, Deal, Ending, FailurePolicy, Game, Incident, IncidentKind
from happycity.match import Fallback
from happycity.records.record import Recorder
from happycity_tournament.config import TournamentConfig
from happycity_tournament.proof.incidents import unanswered

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
