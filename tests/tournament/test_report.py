"""`tournament report`: one HTML file, true, harmless, and readable everywhere."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from tests.tournament.chromium import chromium
from tests.tournament.conftest import Run
from tests.tournament.stores import League

from happycity.records import ENDINGS, FINISHED, FORFEIT_REASONS, loads, replay
from happycity_tournament import charts, report_facts
from happycity_tournament.export import seat_rows
from happycity_tournament.played_games import PlayedGame
from happycity_tournament.ratings import LiveElo
from happycity_tournament.report_facts import RatingHistory, Spread, counted, times_of
from happycity_tournament.sources import open_sources
from happycity_tournament.store import Store

BOTS = ("ann", "bob", "cem", "dée")
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "&amp;</td>")
SECTIONS = (
    "standings",
    "pairs",
    "history",
    "points",
    "seats",
    "times",
    "metrics",
    "failures",
    "deals",
    "replays",
)


class Page(HTMLParser):
    """What a page consists of: elements, sections' texts, tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self._section = ""
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "section":
            self._section = str(dict(attrs)["id"])
        if tag == "tr":
            self.tables.setdefault(self._section, []).append([])
        if tag in {"td", "th"}:
            self.tables[self._section][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        self.texts[self._section] = self.texts.get(self._section, "") + data
        if self._in_cell:
            self.tables[self._section][-1][-1] += data.strip()


def report(run: Run, source: object, out: Path, *more: object) -> str:
    """Write a report and return its text."""
    status, output, errors = run("report", source, "--out", out, *more)
    assert status == 0, errors
    assert output == ""
    return out.read_text(encoding="utf-8")


def rows_of(page: Page, section: str) -> dict[str, list[str]]:
    """Return a section's table by the text of its first cells that isn't a number."""
    rows = page.tables[section][1:]
    return {next(cell for cell in row if not cell.isdigit()): row for row in rows}


def games_of(source: Path | str) -> list[PlayedGame]:
    with open_sources([str(source)]) as (opened,):
        return list(opened.games(with_records=True))


# In a browser --------------------------------------------------------------------------------------------


def test_a_browser_shows_it_without_error_or_request(played: Path, tmp_path: Path, run: Run) -> None:
    """Chromium loads the one file, reports nothing, and on a phone the page is as wide as the screen."""
    out = tmp_path / "report.html"
    report(run, played, out)
    with chromium(tmp_path / "profile") as page:
        for width, dark in ((1200, False), (390, True)):
            page.open(out, width=width, dark=dark)
            assert page.evaluate("document.title") == "Tournament 1 - Happy City arena"
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            drawn = "[...document.querySelectorAll('figure > svg')].map(s => s.getBoundingClientRect().width)"
            assert min(page.evaluate(drawn)) > 300
        requests = {event["request"]["url"] for event in page.told("Network.requestWillBeSent")}
        assert requests == {out.as_uri()}
        for trouble in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            assert page.told(trouble) == []


def test_the_browser_tells_of_trouble(tmp_path: Path) -> None:
    """What the other tests rely on: an error, a message and a request don't go unnoticed."""
    out = tmp_path / "trouble.html"
    out.write_text('<img src="missing.png"><script>console.log(1); nothing()</script>')
    with chromium(tmp_path / "profile") as page:
        page.open(out)
        assert len(page.told("Network.requestWillBeSent")) == 2
        for trouble in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            assert len(page.told(trouble)) == 1


def test_dark_and_light_differ(played: Path, tmp_path: Path, run: Run) -> None:
    """The page takes the reader's colours, in charts too."""
    out = tmp_path / "report.html"
    report(run, played, out)
    colours = "['body', '.name', '.mark'].map(s => getComputedStyle(document.querySelector(s)))"
    with chromium(tmp_path / "profile") as page:
        found = []
        for dark in (False, True):
            page.open(out, dark=dark)
            found.append(page.evaluate(f"{colours}.map(s => s.backgroundColor + s.fill)"))
    assert all(light != dark for light, dark in zip(*found, strict=True))


def test_hostile_names_do_nothing_in_a_browser(tmp_path: Path, run: Run) -> None:
    """Names with tags are shown as text: nothing runs, nothing is fetched."""
    url = League(HOSTILE, rounds=12, timed=True).store(tmp_path / "games.sqlite")
    out = tmp_path / "report.html"
    report(run, url, out)
    with chromium(tmp_path / "profile") as page:
        page.open(out)
        assert page.evaluate("document.querySelectorAll('script, img, [onerror]').length") == 0
        shown = page.evaluate("document.querySelector('#standings').innerText")
        assert all(name in shown for name in HOSTILE)
        assert page.told("Log.entryAdded") == page.told("Runtime.exceptionThrown") == []
        assert len(page.told("Network.requestWillBeSent")) == 1


# As a text -----------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_else(played: Path, tmp_path: Path, run: Run) -> None:
    """There are no scripts, no addresses but links within the page, and the page forbids itself both."""
    text = report(run, played, tmp_path / "report.html")
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.elements)
    assert {value for _, name, value in page.attributes if name in {"src", "href"}} <= {
        f"#{name}" for name in SECTIONS
    }
    assert "http:" not in text
    assert "https:" not in text
    assert "url(" not in text
    assert "default-src 'none'" in text


def test_every_chart_has_a_label_and_a_table(played: Path, tmp_path: Path, run: Run) -> None:
    """A screen reader hears what a chart shows, and finds its numbers in the table of the section."""
    page = Page(report(run, played, tmp_path / "report.html"))
    images = sum(name == "role" and value == "img" for _, name, value in page.attributes)
    labels = [value for tag, name, value in page.attributes if tag == "svg" and name == "aria-label"]
    assert len(labels) == images >= 3
    assert all(labels)
    for section in ("standings", "pairs", "history", "points"):
        assert len(page.tables[section]) == 1 + 4


def test_the_numbers_are_those_of_the_store(played: Path, tmp_path: Path, run: Run) -> None:
    """Standings, points and the live rating agree with the stored games."""
    page = Page(report(run, played, tmp_path / "report.html"))
    games = games_of(played)
    live = LiveElo(("random", "greedy", "planner", "random2"))
    for game in games:
        live.add(game.result(deal=0))
    standings, points, history = (rows_of(page, name) for name in ("standings", "points", "history"))
    for rating in live.ratings():
        own = [game.points[game.bots.index(rating.bot)] for game in games]
        firsts = sum(game.places[game.bots.index(rating.bot)] == 1 for game in games)
        assert standings[rating.bot][4:9] == ["48", "12", f"{statistics.fmean(own):.2f}", str(firsts), "0"]
        assert points[rating.bot][2:5] == [
            f"{statistics.fmean(own):.1f}", f"{statistics.stdev(own):.1f}", str(min(own)),
        ]  # fmt: skip
        assert points[rating.bot][-1] == str(max(own))
        assert history[rating.bot][-1] == f"{rating.elo:,.0f}"
    assert page.tables["history"][0][-1] == "48"


def test_scores_of_pairs_are_from_their_games(played: Path, tmp_path: Path, run: Run) -> None:
    """A cell is the mean score of the row's bot in the games with the column's."""
    page = Page(report(run, played, tmp_path / "report.html"))
    games = games_of(played)
    order = [row[1] for row in page.tables["standings"][1:]]
    for row, bot in enumerate(order):
        for column, other in enumerate(order):
            cell = page.tables["pairs"][1 + row][1 + column]
            if bot == other:
                assert cell == "-"
                continue
            scores = [
                (own < others) + 0.5 * (own == others)
                for game in games
                for own, others in [(game.places[game.bots.index(bot)], game.places[game.bots.index(other)])]
            ]
            assert cell.startswith(f"{statistics.fmean(scores):.0%}LOS ")


def test_the_header_tells_what_when_and_how(played: Path, tmp_path: Path, run: Run) -> None:
    """Seed, settings, time and the model's name are there."""
    page = Page(report(run, played, tmp_path / "report.html"))
    head = page.texts[""]
    assert "48 games between 4 bots" in head
    assert re.search(r"played \d{4}-\d\d-\d\d \d\d:\d\d:\d\d to .* UTC", " ".join(head.split()))
    for text in ("seed", "scoring", "product", "Davidson-Luce", "errors clustered by deal"):
        assert text in head


def test_the_header_has_the_settings_that_held(played: Path, tmp_path: Path, run: Run) -> None:
    """One by one and in words; what another format reads, or nobody set, is left out."""
    text = report(run, played, tmp_path / "report.html")
    settings = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert settings.keys() >= {"format", "rounds", "orders", "decision seconds", "fallback", "max strikes"}
    assert settings.keys().isdisjoint({"cycles", "challengers", "minimum", "elo0", "anchor", "bots"})
    assert (settings["no clock"], settings["margin seconds"]) == ("no", "0.02")


def test_hostile_names_are_text(tmp_path: Path, run: Run) -> None:
    """Names with tags, quotes and template marks come out as they are, and make no elements."""
    url = League(HOSTILE, rounds=12, ending=lambda game, bot: ENDINGS[game % 6], timed=True).store(
        tmp_path / "games.sqlite"
    )
    text = report(run, url, tmp_path / "report.html", "--replays", tmp_path / "replays")
    page = Page(text)
    assert page.elements["script"] == page.elements["img"] == 0
    assert set(rows_of(page, "standings")) == set(HOSTILE)
    assert "<script>alert" not in text


# Replays -------------------------------------------------------------------------------------------------


def test_replays_are_written_and_linked(played: Path, tmp_path: Path, run: Run) -> None:
    """Each link leads to a record that the rules agree with, wherever the folder is."""
    out = tmp_path / "reports" / "report.html"
    out.parent.mkdir()
    folder = tmp_path / "some replays"
    page = Page(report(run, played, out, "--replays", folder))
    links = [value for tag, name, value in page.attributes if name == "href" and "#" not in str(value)]
    assert len(links) == len(list(folder.iterdir())) == len(page.tables["replays"]) - 1
    for link in links:
        path = out.parent / str(link).replace("%20", " ")
        replay(loads(path.read_text()))
    reasons = " ".join(row[-1] for row in page.tables["replays"])
    for bot in ("random", "greedy", "planner", "random2"):
        assert f"most points of {bot}:" in reasons
        assert f"fewest points of {bot}:" in reasons


def test_without_records_there_are_no_links(tmp_path: Path, run: Run) -> None:
    """Games that were stored without a record are listed all the same."""
    url = League(BOTS, with_records=False).store(tmp_path / "games.sqlite")
    page = Page(report(run, url, tmp_path / "report.html", "--replays", tmp_path / "replays"))
    assert len(page.tables["replays"]) > 4
    assert not (tmp_path / "replays").exists()


# What isn't there ----------------------------------------------------------------------------------------


def test_a_tournament_without_games_has_a_report(tmp_path: Path, run: Run) -> None:
    """All sections are there and say that there is nothing to tell."""
    url = League(BOTS, playing=()).store(tmp_path / "games.sqlite")
    page = Page(report(run, url, tmp_path / "report.html"))
    assert set(page.texts) >= set(SECTIONS)
    assert "No game was finished." in page.texts["points"]
    assert "not enough data" in page.texts["standings"]
    assert len(page.tables["standings"]) == 1 + 4


def test_an_unmet_bot_is_listed(tmp_path: Path, run: Run) -> None:
    """It has no interval, no scores, and its own pool."""
    url = League((*BOTS, "unmet"), playing=BOTS).store(tmp_path / "games.sqlite")
    page = Page(report(run, url, tmp_path / "report.html"))
    assert rows_of(page, "standings")["unmet"][3:] == ["not enough data", "0", "0", "0.00", "0", "0", "2"]
    assert page.tables["pairs"][-1][1:] == ["-"] * 5


def test_forfeits_are_told_by_their_reasons(tmp_path: Path, run: Run) -> None:
    """Each reason has its column, and the games with forfeits are among the replays."""
    url = League(BOTS, ending=lambda game, bot: ENDINGS[game % 6] if bot == "cem" else FINISHED).store(
        tmp_path / "games.sqlite"
    )
    page = Page(report(run, url, tmp_path / "report.html"))
    assert page.tables["failures"][0][3:] == list(FORFEIT_REASONS)
    assert page.tables["failures"][1:] == [["cem", "48", "40", *["8"] * 5, "0"]]
    reasons = " ".join(row[-1] for row in page.tables["replays"])
    assert all(f"forfeit:{reason} of cem" in reasons for reason in FORFEIT_REASONS[:5])


def test_think_times_are_told_where_records_have_them(tmp_path: Path, run: Run) -> None:
    """Old records have no clock, and the section says so."""
    old = League(BOTS).store(tmp_path / "old.sqlite")
    assert "don't tell how long" in Page(report(run, old, tmp_path / "old.html")).texts["times"]
    new = League(BOTS, timed=True).store(tmp_path / "new.sqlite")
    page = Page(report(run, new, tmp_path / "new.html"))
    assert "of 48 of 48 games" in page.texts["times"]
    assert rows_of(page, "times")["ann"][1] == "480"


def test_fifty_bots_have_a_report(tmp_path: Path, run: Run) -> None:
    """Every bot is in every table, and the page stays below a megabyte."""
    bots = [f"bot-{number:02}" for number in range(50)]
    url = League(bots, rounds=12).store(tmp_path / "games.sqlite")
    text = report(run, url, tmp_path / "report.html")
    page = Page(text)
    for section in ("standings", "pairs", "history", "points"):
        assert len(page.tables[section]) == 1 + 50
    assert len(text) < 1_000_000


def test_too_many_bots_have_no_live_rating(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bootstrap would need memory for every pair of bots; the section says so."""
    monkeypatch.setattr(report_facts, "MAX_LIVE_BOTS", 3)
    url = League(BOTS).store(tmp_path / "games.sqlite")
    assert "isn't worked out" in Page(report(run, url, tmp_path / "report.html")).texts["history"]


def test_several_tournaments_need_a_choice(tmp_path: Path, run: Run) -> None:
    """A report is of one tournament."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store(url) as store:
        League(BOTS, rounds=1).add_to(store)
        League(BOTS, rounds=2).add_to(store)
    status, _, errors = run("report", url, "--out", tmp_path / "report.html")
    assert status == 2
    assert "add --tournament" in errors
    page = Page(report(run, url, tmp_path / "report.html", "--tournament", 2))
    assert "8 games between 4 bots" in page.texts[""]


def test_a_record_file_has_a_report(played: Path, tmp_path: Path, run: Run) -> None:
    """Records alone tell all but the settings and the time."""
    records = tmp_path / "games.jsonl"
    run("export", played, "--format", "records", "--out", records)
    page = Page(report(run, records, tmp_path / "report.html"))
    stored = Page(report(run, played, tmp_path / "stored.html"))
    assert f"Games of {records}" in page.texts[""]
    assert "played" not in page.texts[""].split("rating")[0]
    for section in ("standings", "pairs", "history", "points"):
        assert page.tables[section] == stored.tables[section]


def test_a_report_never_overwrites_its_source(played: Path, run: Run) -> None:
    """Naming the store as the page is refused."""
    status, _, errors = run("report", played, "--out", played)
    assert status == 2
    assert "is the source itself" in errors


def test_the_same_games_have_the_same_report(played: Path, tmp_path: Path, run: Run) -> None:
    """Nothing in it depends on when it is made."""
    first = report(run, played, tmp_path / "first.html")
    assert report(run, played, tmp_path / "second.html") == first


# Counting ------------------------------------------------------------------------------------------------


def test_a_spread_is_that_of_its_numbers() -> None:
    """Mean, deviation and quantiles are those of the numbers one by one."""
    numbers = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    spread = Spread()
    spread.counts.update(numbers)
    assert spread.mean == pytest.approx(statistics.fmean(numbers))
    assert spread.deviation == pytest.approx(statistics.stdev(numbers))
    assert [spread.quantile(share) for share in (0, 0.5, 1)] == [1, statistics.median(numbers), 9]
    assert spread.classes(5) == {0: 6, 1: 5}
    assert (Spread().mean, Spread().deviation, Spread().quantile(0.5)) == (0, 0, 0)


@pytest.mark.parametrize("rounds", [1, 19, 20, 21, 83])
def test_a_history_has_few_samples_and_ends_with_all_games(tmp_path: Path, rounds: int) -> None:
    """However many games there are, the samples are spread evenly and the last one counts them all."""
    url = League(BOTS, rounds=rounds).store(tmp_path / "games.sqlite")
    history, live = RatingHistory(BOTS), LiveElo(BOTS)
    for game in games_of(url):
        history.add(game.result(deal=0))
        live.add(game.result(deal=0))
    samples = history.samples()
    assert len(samples) <= 80
    assert samples[-1] == (4 * rounds, [rating.elo for rating in live.ratings()])
    steps = {after - before for (before, _), (after, _) in pairwise(samples[:-1])}
    assert len(steps) <= 1


def test_metrics_are_those_of_the_seat_that_moved(tmp_path: Path, run: Run) -> None:
    """Numbers belong to the bot of their decision; reports tell of each bot, exports of each seat."""
    (game, *_) = games_of(League(BOTS, rounds=1).store(tmp_path / "games.sqlite"))
    record = json.loads(str(game.record))
    record["metrics"] = [
        {"decision": 1, "told": {"depth": 2}},
        {"decision": 2, "told": {"nodes": 1e9}},
        {"decision": 1 + len(game.bots), "told": {"depth": 4, "value": -0.5}},
    ]
    fields = {name: getattr(game, name) for name in game.__slots__}
    telling = PlayedGame(**{**fields, "record": json.dumps(record)})
    facts = counted(BOTS, [telling])
    first, second = (facts.bots[game.bots[seat]].metrics for seat in (0, 1))
    depth = first["depth"]
    assert (depth.count, depth.mean, depth.least, depth.most) == (2, 3.0, 2, 4)
    assert depth.deviation == pytest.approx(2**0.5)
    assert set(first) == {"depth", "value"}
    assert set(second) == {"nodes"}
    rows = list(seat_rows(telling))
    assert json.loads(rows[0]["metrics"])["depth"] == {
        "count": 2, "mean": 3.0, "sd": depth.deviation, "min": 2, "max": 4,
    }  # fmt: skip
    assert rows[2]["metrics"] is None
    (tmp_path / "games.jsonl").write_text(json.dumps({**record, "bots": list(game.bots)}) + "\n")
    status, _, errors = run("report", tmp_path / "games.jsonl", "--out", tmp_path / "report.html")
    assert status == 0, errors
    page = (tmp_path / "report.html").read_text()
    assert "1e+09" in page
    assert "No bot sent numbers" not in page


def test_times_are_those_of_the_seat_that_moved(tmp_path: Path) -> None:
    """A time belongs to the seat of its move; null is no time, and lists of another length are left out."""
    (game, *_) = games_of(League(BOTS, rounds=1).store(tmp_path / "games.sqlite"))
    record = json.loads(str(game.record))
    record["moves"] = [{"seat": seat, "move": "keep"} for seat in (2, 0, 2)]
    record["clock"] = {"think_us": [10, None, 123456], "round_trip_us": [1, 2]}
    fields = {name: getattr(game, name) for name in game.__slots__}
    timed = PlayedGame(**{**fields, "record": json.dumps(record)})
    assert times_of(record) == [("think_us", 2, 10), ("think_us", 2, 123456)]
    facts = counted(BOTS, [timed])
    assert facts.bots[game.bots[2]].times["think_us"].counts == {10: 1, 123000: 1}
    assert facts.timed_games == 1


# Charts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [[1500], [0, 1], [0, 3], [-12, 12], [999, 2100.5], [0, 123456], []])
def test_a_scale_has_room_for_its_numbers(numbers: list[float]) -> None:
    """All numbers are inside, the ticks are a few whole numbers, and larger numbers are further along."""
    scale = charts.Scale.over(numbers)
    shares = [scale.share(number) for number in sorted(numbers)]
    assert all(0 < share < 1 for share in shares)
    assert shares == sorted(shares)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 6
    assert all(scale.low <= tick <= scale.high and tick == int(tick) for tick in ticks)


@pytest.mark.parametrize("numbers", [[1, 1], [7, 4321], [1, 90_000_000]])
def test_a_logarithmic_scale_ends_with_powers_of_ten(numbers: list[float]) -> None:
    """Times from a microsecond to a minute and more fit, with a few ticks."""
    scale = charts.Scale.over(numbers, logarithmic=True)
    assert all(0 <= scale.share(number) < 1 for number in numbers)
    assert 2 <= len(scale.ticks()) <= 6


def test_a_chart_writes_names_as_text() -> None:
    """Tags in a name are escaped, and what has no room is cut."""
    row = charts.Parts(name="<b>&amp;" + 30 * "x", text='"<i>"', parts=[1, 2])
    chart = charts.bars([row], label="of <b>")
    assert "<b>" not in chart
    assert "<i>" not in chart
    assert "&lt;b&gt;&amp;amp;xxxxxxxxx…" in chart


@pytest.mark.parametrize(
    ("most", "width"), [(0, 1), (39, 1), (40, 2), (79, 2), (80, 5), (199, 5), (200, 10), (4000, 200)]
)
def test_classes_of_points_are_round(most: int, width: int) -> None:
    """Forty classes are enough, and their width is 1, 2, 5, 10, 20 and so on."""
    assert charts.class_width(most, classes=40) == width
