"""`happycity analyse`: what it prints of a game, as text and as JSON."""

import json
import re
import sys
from itertools import chain
from pathlib import Path

import pytest
from tests.commands.programs import happycity, tournament
from tests.terminal.test_show import stored_record
from tests.waiting import PATIENT

pytestmark = pytest.mark.usefixtures("run_folder")


def test_the_first_line_says_where_most_was_lost() -> None:
    done = happycity("analyse", 1, "--bot", "greedy", "--budget", 4)
    assert (done.status, done.errors) == (0, "")
    content = json.loads(happycity("analyse", 1, "--bot", "greedy", "--budget", 4, "--json").output)
    phase, loss = next(iter(content["loss_by_phase"].items()))
    assert (phase, done.output.splitlines()[0]) == ("buy", content["diagnosis"])
    assert content["diagnosis"] == (
        f"greedy lost {loss:.2f} places in purchases, of {content['loss']:.2f} in all its decisions"
    )
    worst = content["decisions"][0]
    assert f"decision {worst['decision']} of " in done.output
    assert done.output.count("places lost ---") == 3
    assert worst["why"]
    assert "; ".join(worst["why"]) in " ".join(done.output.split())
    assert f"luck of the draws: {content['luck']:+.2f} places" in done.output


def test_the_luck_of_the_seats_adds_up_to_nothing() -> None:
    content = json.loads(happycity("analyse", 2, "--bot", "1", "--budget", 0, "--json").output)
    assert content["draws"]
    for draw in content["draws"]:
        assert sum(draw["luck"]) == pytest.approx(0)
    own = sum(draw["luck"][content["seat"]] for draw in content["draws"])
    assert content["luck"] == pytest.approx(own, abs=0.5e-4 * (len(content["draws"]) + 1))  # all are rounded


def test_all_seats_are_analysed_at_once() -> None:
    content = json.loads(happycity("analyse", 1, "--every-seat", "--budget", 0, "--json").output)
    seats = content["seats"]
    assert [analysis["seat"] for analysis in seats] == list(range(len(seats)))
    own = json.loads(happycity("analyse", 1, "--bot", "1", "--budget", 0, "--json").output)
    assert seats[0] == own
    decisions = sorted(decision["decision"] for analysis in seats for decision in analysis["decisions"])
    assert decisions == list(range(1, len(content["places"])))
    for decision in own["decisions"]:
        assert content["places"][decision["decision"] - 1][0] == decision["expected_place"]
        assert decision["losses"][decision["move"]] == decision["loss"]
        assert decision["losses"][decision["best"]] == 0


def test_decisions_of_a_stand_in_have_places(run_folder: Path) -> None:
    """They are not judged, and those after them keep their numbers."""
    record = json.loads(stored_record(run_folder / "games.sqlite", 1))
    for line in record["moves"][4:6]:
        line["by"] = "quick"
    file = run_folder / "stand-in.json"
    file.write_text(json.dumps(record))
    content = json.loads(happycity("analyse", file, "--every-seat", "--budget", 0, "--json").output)
    assert len(content["places"]) == len(record["moves"]) + 1
    assert content["places"][4] == content["places"][5] == content["places"][6]
    for decision in chain.from_iterable(seat["decisions"] for seat in content["seats"]):
        seat = record["moves"][decision["decision"] - 1]["seat"]
        assert content["places"][decision["decision"] - 1][seat] == decision["expected_place"]


@pytest.mark.level(2)
def test_losses_of_a_run_are_the_means_of_its_games() -> None:
    asked = ("--bot", "greedy", "--budget", 0)
    content = json.loads(happycity("analyse", *asked, "--json").output)
    games = content["games"]
    one = [json.loads(happycity("analyse", game, *asked, "--json").output) for game in range(1, games + 1)]
    loss = sum(game["loss"] for game in one) / games
    for losses in (content["loss_by_phase"], content["loss_by_round"]):
        assert sum(losses.values()) == pytest.approx(loss, abs=1e-3)
    worst = content["decisions"][0]
    assert worst["loss"] == max(decision["loss"] for game in one for decision in game["decisions"])
    done = happycity("analyse", *asked)
    assert done.output.splitlines()[0] == content["diagnosis"]
    assert done.output.splitlines()[-1].endswith(f"{worst['game']} --from {worst['decision']}")
    assert json.loads(happycity("analyse", *asked, "--limit", 1, "--json").output)["games"] == 1


WEAK = """
import sys
from happycity import Phase
from happycity_bots.champion import ChampionBot
from happycity_client import run

class Weak(ChampionBot):
    def choose(self, decision):
        phase = decision.view.phase
        if sys.argv[1] == "discards" and phase is Phase.DISCARD:
            return self.rng.choice(decision.moves)
        if sys.argv[1] == "specials" and phase is Phase.SPECIAL:
            return decision.moves[0]
        return super().choose(decision)

run(Weak)
"""


@pytest.mark.level(3)
def test_the_loop_of_an_author_finds_a_planted_weakness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run, then one command: its first line says what the program does worst."""
    monkeypatch.chdir(tmp_path)
    Path("weak.py").write_text(WEAK)
    words_by_bot = {"discards": "discards", "specials": "choices of a special"}
    commands = [("--bot", f"{bot}={sys.executable} weak.py {bot}") for bot in words_by_bot]
    bots = ("--bots", "greedy,planner", *chain(*commands), "--seats", "2")
    done = tournament("run", "--no-web", "--rounds", 4, "--seed", 1, *PATIENT, *bots)
    assert done.status == 0, done.errors
    for bot, words in words_by_bot.items():
        first = happycity("analyse", "--bot", bot).output.splitlines()[0]
        expected = rf"{bot} loses \S+ places a game in {words}, no better than at random, "
        assert re.match(expected, first), first


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("1", "--bot", "gredy"), "--bot: no bot 'gredy' plays; did you mean greedy?"),
        (("1",), "--bot: say which bot's decisions are asked, of "),
        ((), "--bot: name the bot whose decisions are judged, of "),
        (("--bot", "gredy"), "--bot: 'gredy' plays in no game of "),
        (("1", "--bot", "greedy", "--every-seat"), "--bot, --every-seat: give one of them"),
        (("99",), "99"),
    ],
)
def test_what_cannot_be_analysed_is_named_in_one_line(arguments: tuple[str, ...], problem: str) -> None:
    assert problem in happycity("analyse", *arguments).error
