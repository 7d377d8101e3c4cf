from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.game.rules.positions import stacked_deal

from happycity import Config, Deal, Ending, Game, Mode, Move, Outcome, RecordError, ReplayError, Scoring
from happycity.match import MAX_REASON, seat_results
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.record import (
    FORMAT,
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
from happycity.rules.cards import CARDS_BY_ID

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


def is_ids(value: object, count: int | None = None) -> bool:
    known = isinstance(value, list) and all(card_id in CARDS_BY_ID for card_id in value)
    return known and (count is None or len(value) == count)  # type: ignore[arg-type]  # a list by then


def is_numbers(value: object, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(type(number) is int for number in value)


# The format ----------------------------------------------------------------------------------------------


def test_the_keys_of_a_record_and_their_order(plain: Json) -> None:
    """A record has exactly the documented keys, in the documented order."""
    assert list(plain) == ["format", "config", "deal", "moves", "outcome", "endings"]
    assert list(plain["config"]) == ["players", "mode", "scoring"]
    assert list(plain["deal"]) == ["seed", "decks", "specials", "box", "reshuffles"]
    assert list(plain["outcome"]) == ["points", "coins", "inhabitants", "hearts", "ranks"]
    assert all(list(line) == ["seat", "move"] for line in plain["moves"])


def test_the_values_of_a_record(plain: Json) -> None:
    """Configuration, outcome and endings are as the game was."""
    assert plain["format"] == FORMAT == "happycity-record/1"
    assert plain["config"] == {"players": 3, "mode": "family", "scoring": "sum"}
    assert plain["endings"] == ["finished"] * 3
    assert all(is_numbers(values, 3) for values in plain["outcome"].values())


def test_the_deal_of_a_record(plain: Json) -> None:
    """The deal has its seed and every order, first card first."""
    deal = plain["deal"]
    assert deal["seed"] == 62
    assert deal["decks"] == [[card.id for card in deck] for deck in DEAL.decks]
    assert deal["specials"] == [card.id for card in DEAL.specials]
    assert deal["box"] == [card.id for card in DEAL.box]


def test_the_reshuffles_of_a_record(plain: Json) -> None:
    """Each rebuilt deck has its number and its new order."""
    [reshuffle] = plain["deal"]["reshuffles"]
    assert list(reshuffle) == ["deck", "order"]
    assert reshuffle["deck"] in {1, 2, 3}
    assert is_ids(reshuffle["order"])


def test_moves_are_decisions_only(plain: Json, traced: Json) -> None:
    """Every move of a record was chosen from two or more."""
    assert len(plain["moves"]) == len(traced["moves"])
    assert all(len(line["legal"]) >= 2 for line in traced["moves"])
    assert all(line["move"] in line["legal"] for line in traced["moves"])


def test_a_trace_adds_legal_moves_and_state(traced: Json) -> None:
    """A traced move has the legal moves and the state before it, all of the documented types."""
    assert all(list(line) == ["seat", "move", "legal", "state"] for line in traced["moves"])
    for line in traced["moves"]:
        state = line["state"]
        assert list(state) == [
            "round",
            "seat",
            "phase",
            "coins",
            "income",
            "cities",
            "centre",
            "specials",
            "dwellings",
            "decks",
            "discards",
        ]
        assert state["seat"] == line["seat"]
        assert state["phase"] in {"discard", "draw", "buy", "special"}
        assert all(is_numbers(state[key], 3) for key in ("coins", "income", "decks", "discards"))
        assert all(map(is_ids, (*state["cities"], state["centre"], state["specials"])))
        assert list(state["dwellings"]) == ["house", "apartment_building", "luxury_residence"]


def test_empty_stacks_are_listed(traced: Json) -> None:
    """A dwelling that ran out stays in the state, with 0."""
    left = [count for line in traced["moves"] for count in line["state"]["dwellings"].values()]
    assert min(left) == 0
    assert max(left) == 2


def test_a_trace_changes_nothing_else(plain: Json, traced: Json) -> None:
    """Without legal moves and state, the traced record is the plain one."""
    for line in traced["moves"]:
        del line["legal"], line["state"]
    assert traced == plain


def test_a_line_is_compact_and_stable(traced: Json) -> None:
    """A record is one line of ASCII JSON without spaces between its parts, the same after reading it."""
    line = dumps(traced)
    assert "\n" not in line
    assert line.isascii()
    assert ", " not in line
    assert dumps(loads(line)) == line


# Recording -----------------------------------------------------------------------------------------------


def neutral_game(deal: Deal) -> tuple[Game, Recorder]:
    game, recorder = Game(deal), Recorder(deal)
    while game.outcome is None:
        recorder.add(game, game.neutral_move)
        game.apply(game.neutral_move)
    return game, recorder


def test_a_recorder_notes_seats_and_moves() -> None:
    """The recorder's moves are seat and move of each decision."""
    game, recorder = neutral_game(stacked_deal())
    assert recorder.moves[:2] == [(0, Move.parse("draw 1")), (0, Move.parse("draw 1"))]
    assert len(recorder.record(game)["moves"]) == len(recorder.moves)


def test_a_servers_record_has_how_each_seat_ended() -> None:
    """Endings other than finished are recorded by their values, and replay."""
    game, recorder = neutral_game(stacked_deal())
    record = recorder.record(game, endings=[Ending.FINISHED, Ending.TIMEOUT])
    assert record["endings"] == ["finished", "forfeit:timeout"]
    assert list(record)[-1] == "endings"
    assert replay(record).outcome == game.outcome


def test_a_servers_record_has_why_a_seat_was_forfeited() -> None:
    """Where somebody gave a reason, the record has one for each seat; without any, it has none."""
    game, recorder = neutral_game(stacked_deal())
    endings = [Ending.FINISHED, Ending.CRASHED]
    record = recorder.record(game, endings=endings, reasons=["", "ValueError: no move (bot.py:7)"])
    assert record["reasons"] == ["", "ValueError: no move (bot.py:7)"]
    assert [result.reason for result in results_of(loads(dumps(record)))] == record["reasons"]
    assert replay(record).outcome == game.outcome
    assert "reasons" not in recorder.record(game, endings=endings, reasons=["", ""])


def test_parts_can_be_read_back(plain: Json) -> None:
    """Configuration, deal and results of a record are those of the game."""
    outcome = replay(plain).outcome
    assert outcome is not None
    assert config_of(plain) == DEAL.config
    assert deal_of(plain) == DEAL
    assert results_of(plain) == seat_results(outcome)
    assert endings_of(plain) == (Ending.FINISHED,) * 3


# Replay --------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("tamper", CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_a_record_that_the_rules_contradict_is_a_replay_error(
    traced: Json, tamper: Callable[[Json], object]
) -> None:
    """A well-formed record of another game than the rules play is refused as such, in one line."""
    tamper(traced)
    with pytest.raises(ReplayError) as caught:
        replay(traced)
    assert "\n" not in str(caught.value)


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


@pytest.mark.parametrize("tamper", UNTRUE_NUMBERS.values(), ids=UNTRUE_NUMBERS.keys())
def test_numbers_are_whole_numbers(traced: Json, tamper: Callable[[Json], object]) -> None:
    """A true or a 1.0 in the place of a 1 is not the same record."""
    tamper(traced)
    with pytest.raises((RecordError, ReplayError)):
        replay(traced)


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


@pytest.mark.parametrize("tamper", MALFORMATIONS.values(), ids=MALFORMATIONS.keys())
def test_a_malformed_record_is_a_record_error(traced: Json, tamper: Callable[[Json], object]) -> None:
    """A record that lacks a part or has one of the wrong kind is refused as such, in one line."""
    tamper(traced)
    with pytest.raises(RecordError) as caught:
        replay(traced)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
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
    ],
    ids=lambda line: repr(line[:32]),
)
def test_a_line_that_is_no_record_is_a_record_error(line: str) -> None:
    """A line that isn't JSON, isn't an object or has another format is refused when read."""
    with pytest.raises(RecordError):
        loads(line)


# Any damage ----------------------------------------------------------------------------------------------

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
    """What reads a part of a record without replaying it fails only by the error of malformed records."""
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


# Results -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forfeits", "expected"),
    [
        ("", (1, 2, 2, 4)),
        ("0", (4, 1, 1, 3)),
        ("1", (1, 4, 2, 3)),
        ("3", (1, 2, 2, 4)),
        ("02", (3, 1, 3, 2)),
        ("013", (2, 2, 1, 2)),
        ("0123", (1, 1, 1, 1)),
    ],
)
def test_forfeited_seats_share_the_last_place(forfeits: str, expected: tuple[int, ...]) -> None:
    """Seats that finished are placed by the outcome, and all forfeited ones come after them together."""
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


@pytest.mark.parametrize("ending", [ending for ending in Ending if ending is not Ending.OTHER])
def test_every_ending_is_accepted(plain: Json, ending: Ending) -> None:
    """A record may end in any of the documented ways for a seat."""
    plain["endings"][1] = ending.value
    replay(plain)
    assert results_of(plain)[1].ending is ending


def test_the_endings_there_are() -> None:
    """A seat finishes, or is forfeited for one of nine reasons; newer servers may have others."""
    assert [ending.value for ending in Ending] == [
        "finished",
        "forfeit:timeout",
        "forfeit:illegal",
        "forfeit:disconnected",
        "forfeit:resigned",
        "forfeit:crashed",
        "forfeit:absent",
        "forfeit:disqualified",
        "forfeit:silent",
        "forfeit:other",
    ]


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


@pytest.mark.parametrize("tamper", MALFORMED_RESULTS.values(), ids=MALFORMED_RESULTS.keys())
def test_malformed_results_are_a_record_error(plain: Json, tamper: Callable[[Json], object]) -> None:
    """Results are read without a replay, so their form is checked by themselves; the error is one line."""
    tamper(plain)
    with pytest.raises(RecordError) as caught:
        results_of(plain)
    assert "\n" not in str(caught.value)


def test_a_reason_is_one_short_line(plain: Json) -> None:
    """Whatever a record has as a reason, it is read without control characters and cut to its length."""
    plain["reasons"] = ["", "two\nlines\x1b[31m", "x" * 1000]
    assert [result.reason for result in results_of(plain)] == ["", "two lines [31m", "x" * MAX_REASON]


# The clock of a server's record --------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "damage",
    [
        {"think_us": [1]},
        {"think_us": None},
        {"round_trip_us": [1, 2]},
        {"round_trip_us": [1, 2, "3"]},
        {"round_trip_us": [1, 2, -3]},
        {"round_trip_us": [1, 2, True]},
    ],
)
def test_clock_of_a_wrong_shape_is_refused(plain: Json, damage: Json) -> None:
    """There is a time for each decision and a round trip for each seat, whole numbers from 0."""
    with pytest.raises(RecordError, match=r"^clock: "):
        replay(with_clock(plain, **damage))


def test_clock_that_is_no_object_is_refused(plain: Json) -> None:
    """Where there is a clock, it has its parts."""
    with pytest.raises(RecordError, match=r"clock: expected dict"):
        replay({**plain, "clock": None})


# Metrics of a server's record ----------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "entry",
    [
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
    ],
    ids=lambda entry: f"{entry!r:.40}",
)
def test_malformed_metrics_are_a_record_error(plain: Json, entry: object) -> None:
    """Each entry names a decision of the game and has finite numbers; a refusal is one line."""
    record = with_metrics(plain, entry)
    for read in (metrics_of, replay):
        with pytest.raises(RecordError, match=r"^metrics: ") as caught:
            read(record)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("metrics", [None, {}, "depth"])
def test_metrics_that_are_no_list_are_refused(plain: Json, metrics: object) -> None:
    """Where there are metrics, they are a list."""
    with pytest.raises(RecordError, match="metrics: expected list"):
        replay({**plain, "metrics": metrics})


@pytest.mark.parametrize("seat", [-1, 3, 10**400])
def test_metrics_of_a_seat_that_is_not_there_are_refused(plain: Json, seat: int) -> None:
    """The seat comes from the moves, which `metrics_of` doesn't replay."""
    plain["moves"][0]["seat"] = seat
    with pytest.raises(RecordError, match="move 1: there is no seat"):
        metrics_of(with_metrics(plain, {"decision": 1, "values": {}}))


def test_metrics_of_a_move_that_is_no_object_are_refused(plain: Json) -> None:
    """The moves are not replayed, so their form is checked where they are read."""
    plain["moves"][0] = "draw 1"
    with pytest.raises(RecordError, match="move 1: not a JSON object"):
        metrics_of(with_metrics(plain, {"decision": 1, "values": {}}))


def test_an_expert_state_has_limited_effects_too() -> None:
    """States of expert games list how often each special's effect still applies; family states don't."""
    for mode in Mode:
        state = state_json(Game.deal(Config(players=3, mode=mode), seed=1).view())
        assert state.get("uses") == ([0, 0, 0] if mode is Mode.EXPERT else None)
