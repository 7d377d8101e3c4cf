from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.game.rules.positions import stacked_deal

from happycity import (
    Config,
    Deal,
    Ending,
    Game,
    Mode,
    Outcome,
    RecordError,
    ReplayError,
    Scoring,
)
from happycity.match import MAX_REASON, seat_results
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.record import (
    Json,
    Recorder,
    clock_json,
    dumps,
    loads,
    metrics_json,
    state_json,
    trace,
)
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
    """Configuration, deal and results of a record are those of the game."""
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


@pytest.mark.parametrize("record", [PLAIN, TRACED, SERVED], ids=["plain", "traced", "served"])
def test_replay_returns_the_finished_game(record: Json) -> None:
    """An untouched record replays to its outcome, reshuffle included."""
    game = replay(record)
    assert game.outcome is not None
    assert list(game.outcome.ranks) == record["outcome"]["ranks"]
    assert len(game.reshuffles) == 1


def test_a_partial_trace_is_checked_where_it_is(traced: Json) -> None:
    """Legal moves and state are optional for each move by itself."""
    del traced["moves"][0]["legal"], traced["moves"][5]["state"]
    replay(traced)
    traced["moves"][6]["state"]["round"] = 99
    with pytest.raises(ReplayError, match="move 7: state: round: the record says 99, the rules say"):
        replay(traced)


def _swap(order: list[Any]) -> None:
    first = order[0]
    other = next(place for place, value in enumerate(order) if value != first)
    order[0], order[other] = order[other], first


def _change_move(record: Json) -> None:
    record["moves"][0]["move"] = "draw 1" if record["moves"][0]["move"] != "draw 1" else "draw 2"


CONTRADICTIONS: dict[str, Callable[[Json], object]] = {
    "move changed": _change_move,
    "move illegal": lambda record: record["moves"][0].update(move="build zoo"),
    "move not in the notation": lambda record: record["moves"][0].update(move="fly"),
    "first move dropped": lambda record: record["moves"].pop(0),
    "last move dropped": lambda record: record["moves"].pop(),
    "all moves dropped": lambda record: record["moves"].clear(),
    "move added": lambda record: record["moves"].append(record["moves"][-1]),
    "seat": lambda record: record["moves"][0].update(seat=1),
    "legal": lambda record: record["moves"][3]["legal"].pop(),
    "legal in another order": lambda record: record["moves"][3]["legal"].reverse(),
    "state coins": lambda record: record["moves"][9]["state"]["coins"].reverse(),
    "state of another type": lambda record: record["moves"][9].update(state=[]),
    "state key missing": lambda record: record["moves"][9]["state"].pop("centre"),
    "state key too many": lambda record: record["moves"][9]["state"].update(box=[]),
    "outcome points": lambda record: record["outcome"]["points"].reverse(),
    "outcome ranks": lambda record: record["outcome"].update(ranks=[1, 1, 1]),
    "outcome key missing": lambda record: record["outcome"].pop("hearts"),
    "outcome key too many": lambda record: record["outcome"].update(winner=0),
    "reshuffle order": lambda record: _swap(record["deal"]["reshuffles"][0]["order"]),
    "reshuffle deck": lambda record: record["deal"]["reshuffles"][0].update(deck=7),
    "reshuffle dropped": lambda record: record["deal"]["reshuffles"].clear(),
    "reshuffle added": lambda record: record["deal"]["reshuffles"].append({"deck": 1, "order": []}),
    "seed": lambda record: record["deal"].update(seed=63),
    "deck order": lambda record: _swap(record["deal"]["decks"][0]),
    "specials order": lambda record: record["deal"]["specials"].reverse(),
    "scoring": lambda record: record["config"].update(scoring="product"),
}


def refused(
    tampers: dict[str, Callable[[Json], object]],
    *,
    of: Json,
    read: Callable[[Json], object],
    by: type[Exception] | tuple[type[Exception], ...],
) -> None:
    for name, tamper in tampers.items():
        record = copy.deepcopy(of)
        tamper(record)
        with pytest.raises(by) as caught:
            pytest.fail(f"{name}: {read(record)}")
        assert "\n" not in str(caught.value), name


def test_a_record_that_the_rules_contradict_is_a_replay_error() -> None:
    """A well-formed record of another game than the rules play is refused as such."""
    refused(CONTRADICTIONS, of=TRACED, read=replay, by=ReplayError)


# Numbers that Python takes for equal, but JSON and other languages don't.
UNTRUE_NUMBERS: dict[str, Callable[[Json], object]] = {
    "float round": lambda record: record["moves"][0]["state"].update(round=1.0),
    "true round": lambda record: record["moves"][0]["state"].update(round=True),
    "float coins": lambda record: record["moves"][0]["state"].update(coins=[3.0, 3.0, 3.0]),
    "float ranks": lambda record: record["outcome"].update(
        ranks=list(map(float, record["outcome"]["ranks"]))
    ),
    "float reshuffle": lambda record: record["deal"]["reshuffles"][0].update(
        deck=float(record["deal"]["reshuffles"][0]["deck"])
    ),
}


def test_numbers_are_whole_numbers() -> None:
    """A true or a 1.0 in the place of a 1 is not the same record."""
    refused(UNTRUE_NUMBERS, of=TRACED, read=replay, by=(RecordError, ReplayError))


MALFORMATIONS: dict[str, Callable[[Json], object]] = {
    "no config": lambda record: record.pop("config"),
    "no deal": lambda record: record.pop("deal"),
    "no moves": lambda record: record.pop("moves"),
    "no outcome": lambda record: record.pop("outcome"),
    "no endings": lambda record: record.pop("endings"),
    "no players": lambda record: record["config"].pop("players"),
    "no decks": lambda record: record["deal"].pop("decks"),
    "no seed": lambda record: record["deal"].pop("seed"),
    "no reshuffles": lambda record: record["deal"].pop("reshuffles"),
    "no seat": lambda record: record["moves"][0].pop("seat"),
    "no move": lambda record: record["moves"][0].pop("move"),
    "six players": lambda record: record["config"].update(players=6),
    "other players": lambda record: record["config"].update(players=4),
    "true players": lambda record: record["config"].update(players=True),
    "text players": lambda record: record["config"].update(players="3"),
    "unknown mode": lambda record: record["config"].update(mode="solo"),
    "expert mode": lambda record: record["config"].update(mode="expert"),
    "unknown scoring": lambda record: record["config"].update(scoring="best"),
    "config list": lambda record: record.update(config=[]),
    "deal null": lambda record: record.update(deal=None),
    "moves object": lambda record: record.update(moves={}),
    "move text": lambda record: record["moves"].__setitem__(0, "draw 1"),
    "move number": lambda record: record["moves"][0].update(move=1),
    "seat text": lambda record: record["moves"][0].update(seat="0"),
    "outcome list": lambda record: record.update(outcome=[]),
    "seed negative": lambda record: record["deal"].update(seed=-1),
    "seed too large": lambda record: record["deal"].update(seed=2**64),
    "seed float": lambda record: record["deal"].update(seed=62.0),
    "two decks": lambda record: record["deal"]["decks"].pop(),
    "deck short": lambda record: record["deal"]["decks"][0].pop(),
    "deck null": lambda record: record["deal"]["decks"].__setitem__(0, None),
    "unknown card": lambda record: record["deal"]["decks"][0].__setitem__(0, "castle_in_the_air"),
    "card of another deck": lambda record: record["deal"]["decks"][0].__setitem__(0, "zoo"),
    "card number": lambda record: record["deal"]["decks"][0].__setitem__(0, 15),
    "special short": lambda record: record["deal"]["specials"].pop(),
    "box short": lambda record: record["deal"]["box"].pop(),
    "endings too few": lambda record: record["endings"].pop(),
    "endings too many": lambda record: record["endings"].append("finished"),
    "endings unknown": lambda record: record["endings"].__setitem__(0, "forfeit:boredom"),
    "endings number": lambda record: record["endings"].__setitem__(0, 1),
    "endings text": lambda record: record.update(endings="finished"),
    "endings of a newer server": lambda record: record["endings"].__setitem__(0, Ending.OTHER.value),
    "reasons too few": lambda record: record.update(reasons=["late"]),
    "reasons text": lambda record: record.update(reasons="late"),
    "reasons number": lambda record: record.update(reasons=["", 1, ""]),
    "reasons null": lambda record: record.update(reasons=None),
}


def test_a_malformed_record_is_a_record_error() -> None:
    """A record that lacks a part or has one of the wrong kind is refused as such."""
    refused(MALFORMATIONS, of=TRACED, read=replay, by=RecordError)


def test_a_line_that_is_no_record_is_a_record_error() -> None:
    """A line that isn't JSON, isn't an object or has another format is refused when read."""
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


@given(damaged())
def test_damage_is_reported_or_harmless(record: Json) -> None:
    """Whatever part of a record is damaged, reading it fails only by the errors of records."""
    assert len(refusal(json.dumps(record)).splitlines()) <= 1


@pytest.mark.parametrize(
    "read", [results_of, endings_of, metrics_of, config_of, deal_of], ids=lambda read: read.__name__
)
@given(record=damaged())
def test_parts_of_a_damaged_record_are_read_or_refused(read: Callable[[Json], object], record: Json) -> None:
    try:
        read(record)
    except RecordError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - not every example fails


@given(st.integers(0), st.text(max_size=3))
@settings(max_examples=50)
def test_damaged_text_is_reported_or_harmless(place: int, insert: str) -> None:
    """Text cut out of or put into a record's line raises nothing but the errors of records."""
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


MALFORMED_RESULTS: dict[str, Callable[[Json], object]] = {
    "no outcome": lambda record: record.pop("outcome"),
    "no points": lambda record: record["outcome"].pop("points"),
    "points of two seats": lambda record: record["outcome"]["points"].pop(),
    "points beyond any float": lambda record: record["outcome"]["points"].__setitem__(0, 10**400),
    "points beyond 31 bits": lambda record: record["outcome"]["points"].__setitem__(0, 2**31),
    "points negative": lambda record: record["outcome"]["points"].__setitem__(0, -1),
    "points float": lambda record: record["outcome"]["points"].__setitem__(0, 1.0),
    "points true": lambda record: record["outcome"].update(points=[True, 1, 1]),
    "points text": lambda record: record["outcome"]["points"].__setitem__(0, "1"),
    "points null": lambda record: record["outcome"].update(points=None),
    "ranks text": lambda record: record["outcome"].update(ranks="123"),
    "hearts nested": lambda record: record["outcome"]["hearts"].__setitem__(0, [[]]),
    "no config": lambda record: record.pop("config"),
    "players beyond any table": lambda record: record["config"].update(players=10**400),
    **{name: tamper for name, tamper in MALFORMATIONS.items() if name.startswith(("endings", "reasons"))},
}


def test_malformed_results_are_a_record_error() -> None:
    """Results are read without a replay, so their form is checked by themselves."""
    refused(MALFORMED_RESULTS, of=PLAIN, read=results_of, by=RecordError)


def with_clock(record: Json, **damage: object) -> Json:
    times = clock_json(think_us=[5] * len(record["moves"]), round_trip_us=[300, 0, 7])
    return {**record, "clock": {**times, **damage}}


def test_clock_is_the_last_key_and_the_only_difference(plain: Json) -> None:
    """A server's record has times at its end; without them it is the game's."""
    replay(with_clock(plain))
    game, recorder = neutral_game(DEAL)
    untimed = recorder.record(game)
    assert recorder.record(game, clock={"think_us": []}) == {**untimed, "clock": {"think_us": []}}
    assert list(recorder.record(game, clock={"think_us": []}))[-1] == "clock"
    assert "clock" not in untimed


def test_malformed_clocks_are_refused(plain: Json) -> None:
    # There is a time for each decision and a round trip for each seat, whole numbers from 0.
    damages: list[Json] = [
        {"think_us": [1]},
        {"think_us": None},
        {"round_trip_us": [1, 2]},
        {"round_trip_us": [1, 2, "3"]},
        {"round_trip_us": [1, 2, -3]},
        {"round_trip_us": [1, 2, True]},
    ]
    for damage in damages:
        with pytest.raises(RecordError, match=r"^clock: "):
            replay(with_clock(plain, **damage))

    # Where there is a clock, it has its parts.
    with pytest.raises(RecordError, match=r"clock: expected dict"):
        replay({**plain, "clock": None})


def with_metrics(record: Json, *entries: object) -> Json:
    return {**record, "metrics": list(entries)}


def test_metrics_are_read_back_by_seat(plain: Json) -> None:
    """A record has the numbers of each answer, whole ones without a point; they are read with their seat."""
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


def test_malformed_metrics_are_a_record_error(plain: Json) -> None:
    # Each entry names a decision of the game and has finite numbers; a refusal is one line.
    entries: list[Json | list[object] | None] = [
        None,
        [],
        {},
        {"decision": 1},
        {"decision": 0, "values": {}},
        {"decision": 10**400, "values": {}},
        {"decision": True, "values": {}},
        {"decision": 1, "values": []},
        {"decision": 1, "values": {"depth": None}},
        {"decision": 1, "values": {"depth": True}},
        {"decision": 1, "values": {"depth": "3"}},
        {"decision": 1, "values": {"depth": float("nan")}},
        {"decision": 1, "values": {"depth": float("inf")}},
        {"decision": 1, "values": {"depth": 10**400}},
        {"decision": 1, "values": {"de\npth\x85": None}},
    ]
    for entry in entries:
        record = with_metrics(plain, entry)
        for read in (metrics_of, replay):
            with pytest.raises(RecordError, match=r"^metrics: ") as caught:
                read(record)
            assert len(str(caught.value).splitlines()) == 1

    # Where there are metrics, they are a list.
    for metrics in (None, "depth"):
        with pytest.raises(RecordError, match="metrics: expected list"):
            replay({**plain, "metrics": metrics})

    # The seat comes from the moves, which `metrics_of` doesn't replay.
    for seat in [-1, 3, 10**400]:
        plain["moves"][0]["seat"] = seat
        with pytest.raises(RecordError, match="move 1: there is no seat"):
            metrics_of(with_metrics(plain, {"decision": 1, "values": {}}))

    # The moves are not replayed, so their form is checked where they are read.
    plain["moves"][0] = "draw 1"
    with pytest.raises(RecordError, match="move 1: not a JSON object"):
        metrics_of(with_metrics(plain, {"decision": 1, "values": {}}))


def test_an_expert_state_has_limited_effects_too() -> None:
    """States of expert games list how often each special's effect still applies; family states don't."""
    for mode in Mode:
        state = state_json(Game.deal(Config(players=3, mode=mode), seed=1).view())
        assert state.get("uses") == ([0, 0, 0] if mode is Mode.EXPERT else None)
