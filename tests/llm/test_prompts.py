"""What a model reads, and which move its answer means."""

import random
from pathlib import Path

import pytest
from tools import ROOT

from happycity import Config, ConfigError, Game, Mode, Move, Phase, Scoring
from happycity_client import Decision, GameStarted
from happycity_llm.answers import NoMove, move_in
from happycity_llm.prompts import Prompts


def positions(config: Config, *, seed: int = 3) -> list[tuple[Decision, GameStarted]]:
    game, rng, found = Game.deal(config, seed=seed), random.Random(seed), []
    bots = tuple(f"bot{seat}" for seat in range(config.players))
    while game.phase is not Phase.OVER:
        start = GameStarted(match_id=1, config=config, seat=game.seat, bots=bots, seed=1)
        found.append((Decision.of(game), start))
        game.apply(rng.choice(game.legal_moves))
    return found


@pytest.mark.parametrize("mode", Mode)
def test_each_decision_shows_the_position_and_the_legal_moves(mode: Mode) -> None:
    """Every move is listed as it is to be written, and what each special does is said in full."""
    for decision, start in positions(Config(players=3, mode=mode)):
        text = Prompts().turn(decision, start, ["keep (round 1)"])
        listed = [line[2:].split(":")[0] for line in text.split("Your legal moves:")[1].splitlines()[1:-1]]
        assert listed == [str(move) for move in decision.moves]
        assert "Your moves so far: keep (round 1)." in text
        if mode is Mode.EXPERT:
            assert all(card.effect_text in text for card in decision.view.specials)


def test_a_blind_model_is_shown_no_legal_move() -> None:
    prompts = Prompts(blind=True)
    for decision, start in positions(Config(players=2)):
        texts = prompts.question(decision, start.bots) + prompts.retry("x", "y", decision, start.bots)
        assert "legal moves" not in texts
        assert not any(str(move) in texts.split() for move in decision.moves)


def test_the_rules_are_those_of_the_table() -> None:
    for config, said in [
        (Config(players=5), "inhabitants times its hearts"),
        (Config(players=2, scoring=Scoring.SUM), "inhabitants plus its hearts"),
        (Config(mode=Mode.EXPERT), "Happy Market of a chosen colour"),
        (Config(), "Each player begins with 2 coins"),
        (Config(), "Deck 1 costs\n   1 to 3 coins, deck 2 4 to 5, deck 3 6 to 9"),
        (Config(), "after round 30 at the latest"),
    ]:
        _, start = positions(config)[0]
        assert said in Prompts().system(start)


def test_short_prompts_say_what_a_seat_has_and_may_do() -> None:
    folder = ROOT / "clients/envs/examples/short_prompts"
    decision, start = positions(Config(players=4))[0]
    assert Prompts(folder).turn(decision, start, []) == (
        "You have 3 coins, income 1, 0 inhabitants, 0 hearts, 1 card. Moves: draw 1, draw 2, draw 3.\n"
    )
    assert "Moves: ." in Prompts(folder, blind=True).turn(decision, start, [])


def test_templates_can_be_replaced(tmp_path: Path) -> None:
    # A folder's own templates are used, and the others as they are.
    (tmp_path / "system.txt").write_text("Seat $seat of $players, $$5 a move.")
    prompts = Prompts(tmp_path)
    decision, start = positions(Config(players=2))[0]
    assert prompts.system(start) == f"Seat {start.seat + 1} of 2, $5 a move.\n"
    assert "Your legal moves" in prompts.turn(decision, start, [])

    # It is one line, before any game.
    for text, problem in [
        ("$seats", "there is no $seats; there are $coin, "),
        ("5 $ a move", "a $ that begins no field must be written $$"),
        ("\udcff", "can't be read"),
    ]:
        (tmp_path / "system.txt").write_text(text, encoding="utf-8", errors="surrogateescape")
        with pytest.raises(ConfigError, match=r"system\.txt") as caught:
            Prompts(tmp_path)
        assert problem in str(caught.value)


LEGAL = [Move.parse(text) for text in ("coin", "build museum", "build ski_resort", "dwell house")]


def test_an_answer_names_a_move() -> None:
    # JSON decides, the last object of several; else the legal move that is mentioned last.
    for answer, move in [
        ('{"move": "build museum"}', "build museum"),
        ('{ "move" :"dwell house"}', "dwell house"),
        ('I think {"move": "coin"} is weak.\n```json\n{"move": "Build Ski Resort"}\n```', "build ski_resort"),
        ("First coin, or build museum? I build ski_resort.", "build ski_resort"),
        ("**dwell house**", "dwell house"),
        ("`coin`", "coin"),
        ("The move is BUILD   MUSEUM.", "build museum"),
        ('{"thoughts": {"a": 1}, "move": "coin"} {"move": "coin"}', "coin"),
    ]:
        assert str(move_in(answer, LEGAL)) == move

    # A JSON answer is taken at its word, so what else is mentioned doesn't count.
    for answer, reason in [
        ("", "it names no legal move"),
        ("I cannot help with games.", "it names no legal move"),
        ("coins are nice, and museums too", "it names no legal move"),
        ('build museum would be best: {"move": "build zoo"}', "'build zoo' is not legal now"),
        ('{"move": ' + "[" * 100_000 + "}", "it names no legal move"),
        ('{"move": "' + "x" * 5000 + '"}', "'" + "x" * 80 + "' is not legal now"),
    ]:
        assert move_in(answer, LEGAL) == NoMove(reason)
