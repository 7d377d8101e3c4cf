"""What the ladder's pages compute: charts over time, places in deals, and the addresses of lists."""

from datetime import UTC, datetime
from itertools import pairwise
from urllib.parse import parse_qs, parse_qsl
from xml.etree import ElementTree as ET

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from happycity import ConfigError
from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.v1 import rating_pb2
from happycity_server.errors import ApiError
from happycity_tournament.report.charts import Scale
from happycity_viewer.languages import language
from happycity_web.challenges import creation
from happycity_web.charts import Cell, moments, rating_history, rating_scale, version_runs
from happycity_web.ladder import DealQuery
from happycity_web.render import deal_results, signed


def _rating(elo: float, margin: float, *, provisional: bool = False) -> rating_pb2.Rating:
    return rating_pb2.Rating(elo=elo, low=elo - margin, high=elo + margin, provisional=provisional, deals=1)


def _point(second: int, version: int, rating: rating_pb2.Rating) -> pb.RatingPoint:
    return pb.RatingPoint(time=Timestamp(seconds=second), version_id=version, rating=rating)


@given(low=st.integers(0, 4_000_000_000), length=st.integers(1, 600_000_000))
def test_an_axis_of_time_has_few_round_moments(low: int, length: int) -> None:
    """From a minute to twenty years, one to four different moments are written, all of them on the axis."""
    across = Scale(low, low + length)
    written = moments(across, language("en"))
    assert len(written) <= 4
    assert len({text for _, text in written}) == len(written)
    assert all(across.low <= place <= across.high for place, _ in written)
    if length >= 60:
        assert written


def test_moments_of_a_chart() -> None:
    # Hours of a day are written with the time, days with the year.
    noon = datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()
    assert (noon, "Nov 23, 12:00\u202fPM") in moments(Scale(noon - 3000, noon + 3000), language("en"))
    assert (noon - 43200, "23 lis 2026") in moments(Scale(noon - 100_000, noon + 100_000), language("pl"))
    assert [text for _, text in moments(Scale(noon - 60, noon + 5400), language("uk"))] == ["23 лист., 13:00"]

    # A bot that has just begun has a chart with a moment on its axis.
    drawn = ET.fromstring(
        str(rating_history([_point(86430, 1, _rating(1500, 50))], label="Elo", language=language("en")))
    )
    texts = [element.text for element in drawn.iter() if element.get("class") == "tick"]
    assert "Jan 2, 12:01\u202fAM" in texts


def test_history_has_a_band_for_each_version() -> None:
    """A version is a line in its band, one with a single point is a dot, and each start is numbered."""
    points = [
        _point(0, 3, _rating(1400, 200, provisional=True)),
        _point(86400, 3, _rating(1500, 40)),
        _point(172800, 5, _rating(1520, 60)),
        _point(259200, 9, _rating(1600, 50)),
        _point(345600, 9, _rating(1620, 20)),
    ]
    assert [[point.version_id for point in run] for run in version_runs(points)] == [[3, 3], [5], [9, 9]]
    drawn = ET.fromstring(str(rating_history(points, label="Elo", language=language("en"))))
    classes = [element.get("class", "") for element in drawn.iter()]
    assert [kind for kind in classes if kind.startswith("band")] == ["band s0", "band s2"]
    assert classes.count("part s1") == 1
    assert [element.text for element in drawn.iter() if element.get("class", "").startswith("end ")] == [
        "1",
        "2",
        "3",
    ]
    assert drawn.get("aria-label") == "Elo"


def test_intervals_of_new_bots_leave_room_for_the_others() -> None:
    """An axis has room for all intervals, but not for more than a part of provisional ones."""
    scale = rating_scale([_rating(1500, 20), _rating(1700, 10), _rating(1600, 900, provisional=True)])
    assert scale.share(1480) > 0
    assert scale.share(1710) < 1
    assert scale.share(1501) > 0
    assert scale.share(700) == 0
    assert scale.share(2500) == 1
    alone = rating_scale([_rating(1500, 300, provisional=True)])
    assert 0.4 < alone.share(1500) < 0.6
    assert alone.high - alone.low > 150
    assert rating_scale([]).ticks()


@given(
    places=st.integers(2, 5).flatmap(
        lambda players: st.lists(st.permutations(range(1, players + 1)), min_size=0, max_size=players)
    )
)
def test_places_of_a_deal_are_those_of_the_mean(places: list[list[int]]) -> None:
    """Who has the better mean is placed before, equal means share a place, and the first place is taken."""
    players = len(places[0]) if places else 3
    deal = pb.LadderDeal(
        versions=[pb.BotVersion(version_id=number) for number in range(players)],
        match_ids=range(1, 1 + len(places)),
        places=[sum(game[bot] for game in places) for bot in range(players)] if places else [],
    )
    shown = deal_results(deal)
    assert sorted(entry.version.version_id for entry in shown) == list(range(players))
    if not places:
        assert {entry.place for entry in shown} == {0}
        return
    assert shown[0].place == 1
    for better, worse in pairwise(shown):
        assert better.mean_place <= worse.mean_place
        assert (better.place == worse.place) == (better.mean_place == worse.mean_place)
    assert sum(entry.mean_place for entry in shown) == pytest.approx(players * (players + 1) / 2)


def test_filters_of_deals() -> None:
    # The query of a filter reads back as the same filter, and defaults are left out of it.
    chosen = DealQuery(bot="a+b", version=7, board="4-family", season=2, kind="rated", challenge=3)
    assert DealQuery.of(dict(parse_qsl(chosen.query().removeprefix("?")))) == chosen
    assert DealQuery().query() == "?"
    assert parse_qs(DealQuery(bot="anna", page="x").query(page="").removeprefix("?")) == {"bot": ["anna"]}

    # A value that no list can have is refused with its name.
    for query, text in [
        ("season=0", "season: '0' is not a number from 1"),
        ("version=x", "version: 'x' is not a number"),
        ("deal=99999999999999", "deal: "),
        ("kind=odd", "kind: 'odd' is not one of rated, challenge, comparison"),
        ("bot=<b>", "bot name"),
    ]:
        with pytest.raises((ApiError, ConfigError), match=text.replace("(", r"\(")):
            DealQuery.of(dict(parse_qsl(query)))

    # A form sends all its fields, empty ones too.
    assert DealQuery.of({"bot": "", "board": "", "kind": "", "season": ""}) == DealQuery()


def test_a_form_asks_for_what_is_typed() -> None:
    # Names are separated by commas or blanks, and everything else is passed on for the ladder to judge.
    asked = creation(
        "anna",
        {
            "kind": "challenge",
            "opponents": " bob,carl  planner",
            "deals": "12",
            "old_version": "",
            "board": "4-family",
        },
    )
    assert list(asked.opponents) == ["bob", "carl", "planner"]
    assert (asked.bot, asked.board, asked.deals, asked.old_version_id) == ("anna", "4-family", 12, 0)
    with pytest.raises(ApiError, match="kind: '' is not one of"):
        creation("anna", {"deals": "1"})
    with pytest.raises(ApiError, match="deals: 'many' is not a number"):
        creation("anna", {"kind": "rated", "deals": "many"})

    # A difference has its sign in front, unless nothing of it is left.
    english = language("en")
    assert [signed(number, 2, english) for number in (0.061, -0.061, 0.001, -0.001)] == [
        "+0.06",
        "\N{MINUS SIGN}0.06",
        "0.00",
        "0.00",
    ]


def test_scores_of_few_games_have_no_colour() -> None:
    """A card that was in one game that was won says nothing; with ten games the colour tells how far."""
    assert [Cell(1.0, games).shade for games in (1, 9, 10)] == ["", "", "above shade-10"]
    assert Cell(0.5, 1000).shade == "above shade-0"
