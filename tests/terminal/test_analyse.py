"""`happycity analyse`: what it prints of a game, as text and as JSON."""

import json

import pytest
from tests.commands.programs import happycity

pytestmark = pytest.mark.usefixtures("run_folder")


def test_the_first_line_says_where_most_was_lost() -> None:
    done = happycity("analyse", 1, "--bot", "greedy", "--budget", 4)
    assert (done.status, done.errors) == (0, "")
    content = json.loads(happycity("analyse", 1, "--bot", "greedy", "--budget", 4, "--json").output)
    phase, loss = next(iter(content["loss_by_phase"].items()))
    first = done.output.splitlines()[0]
    assert first == (
        f"greedy lost most in the phase {phase}: {loss:.2f} of the {content['loss']:.2f} places "
        "that its decisions lost"
    )
    worst = content["decisions"][0]
    assert f"decision {worst['decision']} of " in done.output
    assert done.output.count("places lost ---") == 3
    assert f"luck of the draws: {content['luck']:+.2f} places" in done.output


def test_the_luck_of_the_seats_adds_up_to_nothing() -> None:
    content = json.loads(happycity("analyse", 2, "--bot", "1", "--budget", 0, "--json").output)
    assert content["draws"]
    for draw in content["draws"]:
        assert sum(draw["luck"]) == pytest.approx(0)
    own = sum(draw["luck"][content["seat"]] for draw in content["draws"])
    assert content["luck"] == pytest.approx(own)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("1", "--bot", "gredy"), "--bot: no bot 'gredy' plays; did you mean greedy?"),
        (("1",), "--bot: say which bot's decisions are asked, of "),
        (("99",), "99"),
    ],
)
def test_what_cannot_be_analysed_is_named_in_one_line(arguments: tuple[str, ...], problem: str) -> None:
    assert problem in happycity("analyse", *arguments).error
