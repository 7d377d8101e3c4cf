import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.game.rules.positions import stacked_deal

from happycity import Config, Deal, Ending, Game, Mode, Outcome, RecordError, ReplayError, Scoring
from happycity.match import MAX_REASON, seat_results
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.record import Json, Recorder, clock_json, dumps, loads, metrics_json, state_json, trace
from happycity.records.replay import config_of, deal_of, endings_of, metrics_of, replay, results_of

# A three-player game in which deck 3 is rebuilt.
DEAL = Deal.shuffle(Config(players=3, scoring=Scoring.SUM), seed=62)
TRACED = record_random_game(DEAL, movers_rng(62), trace=trace)
PLAIN = record_random_game(DEAL, movers_rng(62))
SERVED = {
    **PLAIN,
    "endings": ["finished", "forfeit:crashed", "finished"],
    "reasons": ["", "ValueError", ""],
    "clock": clock_json(think_us=[5] * len(PLAIN["moves"]), round_trip_us=[300, 0, 7]),
    "metrics": [metrics_json(1, {"depth": 3}), metrics_json(4, {"share": 0.5, "nodes": 1200})],
}
"""As a server would have recorded the same game."""


@pytest.fixture
def traced() -> Json:
    return copy.deepcopy(TRACED)


@pytest.fixture
def plain() -> Json:
    return copy.deepcopy(PLAIN)


def neutral_game(deal: Deal) -> tuple[Game, Recorder]:
    game, recorder = Game(deal), Recorder(deal)
    while game.outcome is None:
        recorder.add(game, game.neutral_move)
        game.apply(game.neutral_move)
    return game, recorder


def test_a_servers_record(plain: Json) -> None:
    # Endings other than finished are recorded by their values, and replay.
    game, recorder = neutral_game(stacked_deal())
    record = recorder.record(game, endings=[Ending.FINISHED, Ending.TIMEOUT])
    assert record["endings"] == ["finished", "forfeit:timeout"]
    assert list(record)[-1] == "endings"
    assert replay(record).outcome == game.outcome

    # Where somebody gave a reason, the record has one for each seat; without any, it has none.
    game, recorder = neutral_game(stacked_deal())
    endings = [Ending.FINISHED, Ending.CRASHED]
    record = recorder.record(game, endings=endings, reasons=["", "ValueError: no move (bot.py:7)"])
    assert record["reasons"] == ["", "ValueError: no move (bot.py:7)"]
    assert [result.reason for result in results_of(loads(dumps(record)))] == record["reasons"]
    assert replay(record).outcome == game.outcome
    assert "reasons" not in recorder.record(game, endings=endings, reasons=["", ""])

    # Whatever a record has as a reason, it is read without control characters and cut to its length.
    plain["reasons"] = ["", "two\nlines\x1b[31m", "x" * 1000]
    assert [result.reason for result in results_of(plain)] == ["", "two lines [31m", "x" * MAX_REASON]


def test_parts_can_be_read_back(plain: Json) -> None:
    outcome = replay(plain).outcome
    assert outcome is not None
    assert config_of(plain) == DEAL.config
    assert deal_of(plain) == DEAL
    assert results_of(plain) == seat_results(outcome)
    assert endings_of(plain) == (Ending.FINISHED,) * 3


def test_a_trace_changes_nothing_else(plain: Json, traced: Json) -> None:
    for line in traced["moves"]:
        del line["legal"], line["state"]
    assert traced == plain


def test_a_line_that_is_no_record_is_a_record_error() -> None:
    for line in [
        "",
        "nonsense",
        "{",
        "[]",
        "null",
        "1",
        '"happycity-record/1"',
        "{}",
        '{"format":null}',
        '{"format":"happycity-record/2"}',
        '{"format":"happycity-record/1"} {}',
        '\ufeff{"format":"happycity-record/1"}',
        '{"format":"happycity-record/1","seed":' + "9" * 5000 + "}",
        "[" * 100_000,
    ]:
        with pytest.raises(RecordError):
            loads(line)


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["museum", "zoo", "draw 3", "coin", "expert", "product", "forfeit:timeout"]),
        st.integers(-1, 6),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)


def _places_in(node: Json | list[Any]) -> Iterator[str | int]:
    yield from node if isinstance(node, dict) else range(len(node))


@st.composite
def damaged(draw: st.DrawFn) -> Json:
    """Draw a record one part of which, however deep, is gone or something else."""
    record: Json = copy.deepcopy(draw(st.sampled_from([PLAIN, TRACED, SERVED])))
    node: Any = record
    while True:
        place = draw(st.sampled_from(list(_places_in(node))))
        if not (isinstance(node[place], dict | list) and node[place] and draw(st.integers(0, 3))):
            break
        node = node[place]
    if draw(st.booleans()):
        del node[place]
    else:
        node[place] = draw(values)
    return record


def refusal(line: str) -> str:
    """Return the message with which a line is refused, or "" if it is accepted."""
    try:
        replay(loads(line))
    except (RecordError, ReplayError) as error:
        return str(error)
    return ""


@pytest.mark.level(1)
@few_examples
@given(damaged())
def test_damage_is_reported_or_harmless(record: Json) -> None:
    assert len(refusal(json.dumps(record)).splitlines()) <= 1


@pytest.mark.level(1)
@pytest.mark.parametrize(
    "read", [results_of, endings_of, metrics_of, config_of, deal_of], ids=lambda read: read.__name__
)
@given(record=damaged())
def test_parts_of_a_damaged_record_are_read_or_refused(read: Callable[[Json], object], record: Json) -> None:
    try:
        read(record)
    except RecordError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - not every example fails


@pytest.mark.level(1)
@given(st.integers(0), st.text(max_size=3))
@settings(max_examples=50)
def test_damaged_text_is_reported_or_harmless(place: int, insert: str) -> None:
    line = dumps(PLAIN)
    cut = place % len(line)
    assert len(refusal(line[:cut] + insert + line[cut + 1 :]).splitlines()) <= 1


def test_forfeited_seats_share_the_last_place() -> None:
    """Seats that finished are placed by the outcome, and all forfeited ones come after them together."""
    for forfeits, expected in [
        ("", (1, 2, 2, 4)),
        ("0", (4, 1, 1, 3)),
        ("1", (1, 4, 2, 3)),
        ("3", (1, 2, 2, 4)),
        ("02", (3, 1, 3, 2)),
        ("013", (2, 2, 1, 2)),
        ("0123", (1, 1, 1, 1)),
    ]:
        outcome = Outcome(
            points=(20, 12, 12, 3),
            coins=(1, 5, 5, 9),
            inhabitants=(4, 3, 3, 1),
            hearts=(5, 4, 4, 3),
            ranks=(1, 2, 2, 4),
        )
        endings = [Ending.RESIGNED if str(seat) in forfeits else Ending.FINISHED for seat in range(4)]
        results = seat_results(outcome, endings)
        assert tuple(result.place for result in results) == expected
        assert tuple(result.rank for result in results) == outcome.ranks
        assert [result.forfeited for result in results] == [str(seat) in forfeits for seat in range(4)]


def test_every_ending_is_accepted(plain: Json) -> None:
    for ending in set(Ending) - {Ending.OTHER}:
        plain["endings"][1] = ending.value
        replay(plain)
        assert results_of(plain)[1].ending is ending


def test_clock_is_the_last_key_and_the_only_difference() -> None:
    """A server's record has times at its end; without them it is the game's."""
    game, recorder = neutral_game(DEAL)
    untimed = recorder.record(game)
    assert recorder.record(game, clock={"think_us": []}) == {**untimed, "clock": {"think_us": []}}
    assert list(recorder.record(game, clock={"think_us": []}))[-1] == "clock"
    assert "clock" not in untimed


def test_metrics_are_read_back_by_seat(plain: Json) -> None:
    game, recorder = neutral_game(DEAL)
    entries = [metrics_json(1, {"depth": 3.0, "share": 0.25}), metrics_json(2, {"nodes": 2.0**60})]
    record = loads(dumps(recorder.record(game, metrics=entries)))
    assert list(record)[-1] == "metrics"
    assert record["metrics"][0] == {"decision": 1, "values": {"depth": 3, "share": 0.25}}
    assert str(record["metrics"][0]["values"]["depth"]) == "3"
    seats = [line["seat"] for line in record["moves"][:2]]
    assert metrics_of(record) == [(seats[0], {"depth": 3, "share": 0.25}), (seats[1], {"nodes": 2.0**60})]
    assert replay(record).outcome == game.outcome
    assert metrics_of(plain) == []


def test_an_expert_state_has_limited_effects_too() -> None:
    """States of expert games list how often each special's effect still applies; family states don't."""
    for mode in Mode:
        state = state_json(Game.deal(Config(players=3, mode=mode), seed=1).view())
        assert state.get("uses") == ([0, 0, 0] if mode is Mode.EXPERT else None)
