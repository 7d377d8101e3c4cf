"""What a match has beside its game: time controls, failure policies, endings and reasons."""

import math

import pytest

from happycity import ConfigError, Ending, FailurePolicy, Fallback, Outcome, TimeControl
from happycity.errors import suggestion
from happycity.match import LONGEST_SECONDS, MAX_REASON, MOST, check_bot_name, one_line, seat_results

IMPOSSIBLE_SECONDS = (math.nan, math.inf, -math.inf, -0.001, LONGEST_SECONDS * 1.001, 10**400, -(10**400))
TIMES = ("connect_seconds", "decision_seconds", "bank_seconds", "increment_seconds", "margin_seconds")


def test_impossible_times_are_refused() -> None:
    # A time is a finite number of seconds, neither negative nor longer than ten years.
    for name in TIMES:
        for seconds in IMPOSSIBLE_SECONDS:
            with pytest.raises(ConfigError, match=rf"^{name}: .* is not a time in seconds") as caught:
                TimeControl(**{"bank_seconds": 1.0, name: seconds})  # type: ignore[arg-type]
            assert len(str(caught.value)) < 150
    # The grace time is a time like the others.
    with pytest.raises(ConfigError, match=r"^grace_seconds: "):
        FailurePolicy(grace_seconds=math.nan)


def test_possible_times() -> None:
    # Ten years are a time.
    for name in TIMES:
        times = TimeControl(**{"bank_seconds": 1.0, name: LONGEST_SECONDS})  # type: ignore[arg-type]
        assert getattr(times, name) == LONGEST_SECONDS

    # All times but the limit of a decision may be 0.
    times = TimeControl(connect_seconds=0, bank_seconds=0, increment_seconds=0, margin_seconds=0)
    assert (times.connect_seconds, times.decision_seconds) == (0, 10)
    with pytest.raises(ConfigError, match="decision_seconds: 0 is not a time in seconds, more than 0"):
        TimeControl(decision_seconds=0)
    assert TimeControl(decision_seconds=0.0004).decision_seconds == 0.0004

    # Without a bank there is nothing to add to.
    with pytest.raises(ConfigError, match="increment_seconds: an increment needs a bank"):
        TimeControl(increment_seconds=1)
    assert TimeControl(bank_seconds=5, increment_seconds=1).increment_seconds == 1


def test_numbers_of_a_failure_policy() -> None:
    # Each number has its range, and the error names both.
    for name, number in [
        ("max_strikes", -1),
        ("max_strikes", MOST + 1),
        ("max_strikes", 10**400),
        ("disqualify_games", 0),
        ("disqualify_games", MOST + 1),
        ("disqualify_share", -0.01),
        ("disqualify_share", 1.01),
        ("disqualify_share", math.nan),
        ("disqualify_share", math.inf),
        ("disqualify_share", 10**400),
    ]:
        with pytest.raises(ConfigError, match=rf"^{name}: .* is not between [01] and 1"):
            FailurePolicy(**{name: number})  # type: ignore[arg-type]

    # No strike at all, disqualification at once or never.
    strict = FailurePolicy(max_strikes=0, grace_seconds=0, disqualify_share=0, disqualify_games=1)
    lenient = FailurePolicy(max_strikes=MOST, disqualify_share=1, disqualify_games=MOST)
    assert (strict.max_strikes, lenient.max_strikes) == (0, MOST)
    assert strict.fallback is Fallback.NEUTRAL


TAKEN_FOR_OTHER_THINGS = (
    *(".", "..", "...", ".bashrc", "-", "-rf", "--help", "+x", "anna."),
    *("con", "NUL", "Aux.txt", "com1", "LPT9.tar.gz", "prn"),
    *("anna.json", "anna.HTML", "index.json"),
    *("none", "NULL", "NaN", "NA", "True", "7", "1e5", "-1", "inf", "1_000", "Infinity"),
)
"""By file systems, terminals, URLs, and readers of logs and tables."""


def test_names_of_bots() -> None:
    # 1 to 64 letters, digits or any of . _ - + make a name.
    for name in ["a", "x" * 64, "Anna-2.0_rc+1", "_a", "7up", "console", "nullable", "a.jsonl", "com10"]:
        assert check_bot_name(name) == name

    # Anything else is refused in one line that shows the name.
    for name in ["", "x" * 65, "my bot", "zoé", "a\n", "a/b", "\uff11", *TAKEN_FOR_OTHER_THINGS]:
        with pytest.raises(ConfigError, match=r"^bot name ") as caught:
            check_bot_name(name)
        assert "\n" not in str(caught.value)


def test_a_reason_in_one_line() -> None:
    """Line breaks, control characters and runs of blanks become single blanks; the length is limited."""
    assert one_line("  ValueError:\n\tno   move\x1b[2J\u202e\x00 ") == "ValueError: no move [2J"
    assert one_line("ä" * 1000) == "ä" * MAX_REASON
    assert one_line("\ud800") == ""
    assert one_line("") == ""


def test_results() -> None:
    # The results by the rules alone have the ranks as places.
    outcome = Outcome(points=(9, 7), coins=(1, 2), inhabitants=(3, 7), hearts=(3, 1), ranks=(1, 2))
    first, second = seat_results(outcome)
    assert (first.points, first.coins, first.inhabitants, first.hearts) == (9, 1, 3, 3)
    assert [(result.rank, result.place) for result in (first, second)] == [(1, 1), (2, 2)]
    assert {(result.ending, result.reason, result.forfeited) for result in (first, second)} == {
        (Ending.FINISHED, "", False)
    }

    # Each seat has its own ending and reason.
    first, second = seat_results(outcome, [Ending.CRASHED, Ending.FINISHED], ["ValueError", ""])
    assert (first.ending, first.reason, first.place, first.rank) == (Ending.CRASHED, "ValueError", 2, 1)
    assert (second.ending, second.reason, second.place, second.rank) == (Ending.FINISHED, "", 1, 2)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("gready", ["random", "greedy"], "did you mean greedy?"),
        ("zoe", ["random", "greedy"], "there are: random, greedy"),
        ("zoe", [], "there are none"),
        ("x7", [f"bot-{number}" for number in range(100)], "the nearest is bot-7"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(name: str, known: list[str], expected: str) -> None:
    """A near name is proposed; else all are listed, unless they are many."""
    assert suggestion(name, known) == expected
