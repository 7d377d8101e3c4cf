import json
from pathlib import Path

import pytest
from google.protobuf.json_format import ParseDict
from tests.bots.matches import choose, mean_place_difference, play, seat_bot

from happycity import Config, Game, Mode, Move, Scoring
from happycity.v1 import play_service_pb2 as pb
from happycity.wire.messages import move_message
from happycity_bots import BOTS, GreedyBot, PlannerBot, RandomBot, RolloutBot
from happycity_client import Decision
from happycity_evaluation.quick import play_out

TABLES = [
    Config(players=players, mode=mode, scoring=scoring)
    for mode in Mode
    for players in (2, 3, 4, 5)
    for scoring in Scoring
]
GREEDY = Path(__file__).parents[2] / "clients/conformance/greedy.jsonl"
FEW_TABLES = TABLES[::5]
"""One for each number of seats, two in each mode and of each scoring."""
SLOW_BOTS = ("search", "champion")
each_bot = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.level(2)) if name in SLOW_BOTS else name for name in BOTS]
)


def table_id(config: Config) -> str:
    return f"{config.mode.value}-{config.players}-{config.scoring.value}"


@pytest.mark.level(1)
@each_bot
def test_every_bot_plays_legal_moves_to_the_end(name: str) -> None:
    for config in TABLES if name in ("random", "greedy") else FEW_TABLES:
        game = Game.deal(config, seed=11)
        for decision, move in play(game, [BOTS[name]] * config.players):
            assert move in decision.moves
        assert game.outcome is not None


@pytest.mark.level(1)
@pytest.mark.parametrize("mode", Mode)
@each_bot
def test_a_repeated_match_repeats_every_move(name: str, mode: Mode) -> None:
    config, bots = Config(players=2, mode=mode), [BOTS[name], PlannerBot]
    first, second = ([move for _, move in play(Game.deal(config, seed=5), bots)] for _ in range(2))
    assert first == second


@pytest.mark.level(1)
def test_the_seed_is_used_by_random_alone() -> None:
    # Greedy and planner play the same game whatever seed they are given.
    for name in ["greedy", "planner"]:
        for mode in Mode:
            first, second = (
                [move for _, move in play(Game.deal(Config(mode=mode), seed=5), [BOTS[name]] * 4, seed=seed)]
                for seed in (1, 2)
            )
            assert first == second

    # Two seeds make two different games.
    first, second = (
        [move for _, move in play(Game.deal(Config(), seed=5), [RandomBot] * 4, seed=seed)] for seed in (1, 2)
    )
    assert first != second


def test_random_asks_for_nothing_but_the_moves() -> None:
    game = Game.deal(Config(), seed=3)
    bot = seat_bot(RandomBot, game, 0)
    decision = Decision(pb.Decision(moves=map(move_message, game.legal_moves)))
    assert {choose(bot, decision) for _ in range(200)} == set(game.legal_moves)
    assert (decision._view, decision._events) == (None, None)


@pytest.mark.level(1)
def test_greedy_answers_the_decisions_that_all_sdks_are_tested_with() -> None:
    for number, line in enumerate(GREEDY.read_text("utf-8").splitlines(), start=1):
        kept = json.loads(line)
        decision = Decision(ParseDict(kept["decision"], pb.Decision()))
        bot = seat_bot(GreedyBot, Game.deal(decision.view.config, seed=1), decision.seat)
        assert decision.moves.index(choose(bot, decision)) == kept["move"], f"line {number}"


@pytest.mark.level(2)
@pytest.mark.parametrize("config", TABLES, ids=table_id)
def test_the_ladder_holds(config: Config) -> None:
    assert mean_place_difference(GreedyBot, RandomBot, deals=4, config=config) > 0.2
    assert mean_place_difference(PlannerBot, GreedyBot, deals=4, config=config) > 0.2


@pytest.mark.level(2)
@pytest.mark.parametrize("mode", Mode)
def test_rollout_holds_its_own_against_the_planner(mode: Mode) -> None:
    assert mean_place_difference(RolloutBot, PlannerBot, deals=2, config=Config(mode=mode)) > -0.2


@pytest.mark.parametrize("mode", Mode)
def test_rollout_stays_within_its_simulations(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    played = 0

    def counted(game: Game, move: Move, fast: tuple[bool, ...]) -> float:
        nonlocal played
        played += 1
        return play_out(game, move, fast)

    monkeypatch.setattr("happycity_bots.sampled.Worlds", None)
    monkeypatch.setattr("happycity_bots.sampled.play_out", counted)
    most = 0
    for _ in play(Game.deal(Config(mode=mode), seed=5), [RolloutBot] * 4):
        most, played = max(most, played), 0
    assert 0 < most <= RolloutBot.simulations
