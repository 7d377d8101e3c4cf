"""What a model reads agrees with the game."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from happycity import Config, ConfigError, Game, Mode, Phase, Scoring
from happycity_client import Decision, GameStarted
from happycity_llm.prompts import Prompts


def positions(config: Config, *, seed: int = 3) -> list[tuple[Decision, GameStarted]]:
    """Return all decisions of a random game."""
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
    """Neither the question nor what follows an illegal answer names any."""
    prompts = Prompts(blind=True)
    for decision, start in positions(Config(players=2)):
        texts = prompts.question(decision, start.bots) + prompts.retry("x", "y", decision, start.bots)
        assert "legal moves" not in texts
        assert not any(str(move) in texts.split() for move in decision.moves)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (Config(players=5), "inhabitants times its hearts"),
        (Config(players=2, scoring=Scoring.SUM), "inhabitants plus its hearts"),
        (Config(mode=Mode.EXPERT), "Happy Market of a chosen colour"),
        (Config(), "Each player begins with 2 coins"),
        (Config(), "Deck 1 costs\n   1 to 3 coins, deck 2 4 to 5, deck 3 6 to 9"),
        (Config(), "after round 30 at the latest"),
    ],
)
def test_the_rules_are_those_of_the_table(config: Config, said: str) -> None:
    """Numbers come from the rules themselves."""
    _, start = positions(config)[0]
    assert said in Prompts().system(start)


def test_templates_can_be_replaced(tmp_path: Path) -> None:
    """A folder's own templates are used, and the others as they are."""
    (tmp_path / "system.txt").write_text("Seat $seat of $players, $$5 a move.")
    prompts = Prompts(tmp_path)
    decision, start = positions(Config(players=2))[0]
    assert prompts.system(start) == f"Seat {start.seat + 1} of 2, $5 a move.\n"
    assert "Your legal moves" in prompts.turn(decision, start, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("$seats", "there is no $seats; there are $coin, "),
        ("5 $ a move", "a $ that begins no field must be written $$"),
        (b"\xff", "can't be read"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(tmp_path: Path, text: str | bytes, problem: str) -> None:
    """It is one line, before any game."""
    (tmp_path / "system.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError, match=r"system\.txt") as caught:
        Prompts(tmp_path)
    assert problem in str(caught.value)
