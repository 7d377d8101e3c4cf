"""`tournament report`: one HTML file, true, harmless, and readable everywhere."""

import json
import re
import sqlite3
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from tests.commands.programs import tournament
from tests.tournament.conftest import Run, json_of
from tests.tournament.games import finished, fixtures_of
from tests.tournament.leagues import League
from tests.tournament.report.conftest import Window
from tests.tournament.runs import BOTS as BOTS_OF_RUN
from tests.tournament.runs import make_run
from tests.tournament.storage.test_sources import games_of, recorded_games

from happycity import Config, Ending
from happycity_tournament.config import SprtTest, TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.lineup import BotEntry, Lineup
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.results import BotRating
from happycity_tournament.report import charts
from happycity_tournament.report.charts import FORFEITS
from happycity_tournament.report.export import seat_rows
from happycity_tournament.report.report_data import Histogram, ReportData
from happycity_tournament.standings import stats
from happycity_tournament.standings.counted import Uncounted
from happycity_tournament.standings.stats import GameTable
from happycity_tournament.storage.store import Store

BOTS = ("ann", "bob", "cem", "dée")
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "&amp;</td>")
TABLES = ("standings", "pairs")
SECTIONS = (*TABLES, "history", "times", "metrics", "failures", "model", "games", "settings")
PLAYED = ("random", "greedy", "planner", "random2")
ENDINGS = [Ending.FINISHED, *FORFEITS]


class Page(HTMLParser):
    """What a page consists of: elements, sections' texts, tables."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self._section = ""
        self._in_cell = False
        self.feed(self.text)

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


def report(run: Run, source: object, out: Path, *more: object) -> Page:
    status, output, errors = run("report", source, "--out", out, *more)
    assert (status, output) == (0, ""), errors
    return Page(out)


@pytest.fixture(scope="module")
def page(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Return the report of the tournament that was really played."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    assert tournament("report", played, "--out", out).status == 0
    return Page(out)


def rows_of(page: Page, section: str) -> dict[str, list[str]]:
    """Return a section's table by the text of its first cell that is neither a number nor a range."""
    rows = page.tables[section][1:]
    return {next(cell for cell in row if not re.fullmatch(r"[\d-]+", cell)): row for row in rows}


@pytest.mark.level(2)
def test_packed_times_change_nothing_but_what_it_costs(played: Path, tmp_path: Path, run: Run) -> None:
    store, out = tmp_path / "games.sqlite", tmp_path / "out"
    results = []
    with closing(sqlite3.connect(played)) as original, closing(sqlite3.connect(store)) as database:
        original.backup(database)
        assert database.execute("SELECT COUNT(*) FROM times").fetchone() == (48,)
        for change in ("DELETE FROM times WHERE game_id > 20", "DELETE FROM times"):
            for command in (("report",), ("export", "--format", "csv")):
                assert run(*command, store, "--out", out)[0] == 0
                results.append(out.read_bytes())
            database.execute(change)
            database.commit()
    assert results[:2] == results[2:]


STANDINGS = "document.querySelector('#standings .wide')"
in_a_browser = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.level(1)
@in_a_browser
async def test_a_browser_shows_it_without_error_or_request(page: Page, window: Window) -> None:
    """Wide or on a phone, in the reader's colours, in charts too; the standings are on the first screen."""
    drawn = "[...document.querySelectorAll('figure > svg')].map(s => s.getBoundingClientRect().width)"
    parts = "['body', '.name', '.mark'].map(s => getComputedStyle(document.querySelector(s)))"
    top = "document.querySelector('#standings').getBoundingClientRect().top"
    colours = []
    for width, dark in ((1200, False), (390, True)):
        tab = await window.open(page.path, width=width, dark=dark)
        assert await tab.page.title() == "Tournament 1 - Happy City arena"
        assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert min(await tab.page.evaluate(drawn)) > 300
        assert await tab.page.evaluate(top) < 600
        colours.append(await tab.page.evaluate(f"{parts}.map(s => s.backgroundColor + s.fill)"))
        assert (tab.requests, tab.problems) == ([page.path.as_uri()], [])
    assert all(light != dark for light, dark in zip(*colours, strict=True))


@in_a_browser
async def test_the_browser_reports_trouble(tmp_path: Path, window: Window) -> None:
    """What the other tests rely on: an error, a message and a request don't go unnoticed."""
    out = tmp_path / "trouble.html"
    out.write_text('<img src="missing.png"><script>console.log(1); nothing()</script>')
    tab = await window.open(out)
    assert (len(tab.requests), len(tab.problems)) == (2, 3)


@pytest.mark.level(1)
@in_a_browser
async def test_lines_have_their_names_at_their_ends(page: Page, window: Window) -> None:
    """Each in the colour of its line and apart from the others; a phone has a legend in their place."""
    names = "[...document.querySelectorAll('.ends text')]"
    shown = "document.querySelector('#history .legend').getBoundingClientRect().height > 0"
    strokes = "[...document.querySelectorAll('.lines polyline')].map(l => getComputedStyle(l).stroke)"
    wide = (await window.open(page.path)).page
    assert sorted(await wide.evaluate(f"{names}.map(t => t.textContent)")) == sorted(PLAYED)
    lines = await wide.evaluate(strokes)
    assert sorted(await wide.evaluate(f"{names}.map(t => getComputedStyle(t).fill)")) == sorted(lines)
    assert len(set(lines)) == 4
    levels = sorted(await wide.evaluate(f"{names}.map(t => t.getBoundingClientRect().top)"))
    assert all(lower - upper > 13 for upper, lower in pairwise(levels))
    assert await wide.evaluate(shown) is False
    phone = (await window.open(page.path, width=390)).page
    assert await phone.evaluate(f"{names}.every(t => t.getBoundingClientRect().height === 0)")
    assert await phone.evaluate(shown) is True


@pytest.mark.level(1)
@in_a_browser
async def test_hostile_names_are_text(tmp_path: Path, run: Run, window: Window) -> None:
    league = League(
        HOSTILE, ending=lambda game, bot: ENDINGS[game % 7], reason="<script>alert(2)</script>", timed=True
    )
    url = league.store(tmp_path / "games.sqlite")
    page = report(run, url, tmp_path / "report.html")
    assert page.elements["script"] == page.elements["img"] == 0
    assert set(rows_of(page, "standings")) == set(HOSTILE)
    assert "<script>alert" not in page.text
    tab = await window.open(page.path, width=1000)
    assert await tab.page.evaluate(f"{STANDINGS}.scrollWidth - {STANDINGS}.clientWidth") == 0  # all columns
    assert await tab.page.evaluate("document.querySelectorAll('script, img, [onerror]').length") == 0
    shown = await tab.page.evaluate("document.querySelector('#standings').innerText")
    assert all(name in shown for name in HOSTILE)
    assert (len(tab.requests), tab.problems) == (1, [])


@pytest.mark.level(1)
def test_the_page_needs_nothing_else(page: Page) -> None:
    assert not {"script", "link", "img", "iframe", "object"} & set(page.elements)
    assert {value for _, name, value in page.attributes if name in {"src", "href"}} <= {
        f"#{name}" for name in SECTIONS
    }
    assert not re.search(r"https?:|url\(", page.text)
    assert "default-src 'none'" in page.text


@pytest.mark.level(1)
def test_every_chart_has_a_label(page: Page) -> None:
    """A screen reader hears what a chart shows, and finds the numbers in tables."""
    images = sum(name == "role" and value == "img" for _, name, value in page.attributes)
    labels = [value for tag, name, value in page.attributes if tag == "svg" and name == "aria-label"]
    assert len(labels) == images == 2
    assert all(labels)
    for section in TABLES:
        assert len(page.tables[section]) == 1 + 4


@pytest.mark.level(1)
def test_the_numbers_are_those_that_are_shown(played: Path, page: Page, run: Run) -> None:
    standings = rows_of(page, "standings")
    for line in json_of(run, "show", played)["standings"]:
        row = standings[line["bot"]]
        assert row[5:8] == ["48", "12", f"{line['points_mean']:.2f}"]
        assert row[9].startswith(f"{line['wins']}/{line['shared']}/")
        assert sum(map(int, row[9].split("/"))) == 48


def test_scores_of_pairs_are_from_their_games(played: Path, page: Page) -> None:
    places = [dict(zip(game.bots, game.places, strict=True)) for game in games_of(played)]
    order = [row[1] for row in page.tables["standings"][1:]]
    for bot, (_, *cells) in zip(order, page.tables["pairs"][1:], strict=True):
        for other, cell in zip(order, cells, strict=True):
            scores = [(own[bot] < own[other]) + 0.5 * (own[bot] == own[other]) for own in places]
            expected = rf"{statistics.fmean(scores):.0%}(.*%)?-?\d+ ±\d+" if bot != other else "-"
            assert re.fullmatch(expected, cell)


@pytest.mark.level(1)
def test_the_result_comes_first(page: Page) -> None:
    """A sentence names the winner, with how much and how certainly it is ahead."""
    head = " ".join(page.texts[""].split())
    assert re.search(r"planner is first, \d+ ±\d+ Elo above greedy\.", head)
    assert "48 games between 4 bots" in head
    assert re.search(r"played \d{4}-\d\d-\d\d \d\d:\d\d:\d\d to .* UTC", head)


@pytest.mark.level(1)
@pytest.mark.parametrize(
    ("rounds", "text"),
    [
        (1, "There are too few deals to say how certain that is."),
        (12, "which of the two is stronger is not certain."),
    ],
)
def test_a_doubtful_result_is_said_to_be_one(tmp_path: Path, run: Run, rounds: int, text: str) -> None:
    url = League(BOTS, rounds=rounds).store(tmp_path / "games.sqlite")
    assert text in report(run, url, tmp_path / "report.html").texts[""]


@pytest.mark.level(2)
def test_a_run_says_which_bots_shared_a_process(tmp_path: Path, run: Run) -> None:
    """Their times are mostly those of each other; of bots with own processes nothing is said."""
    made = make_run("20261122-080000")
    for builtin, processes, text in (
        (2, 1, "bot-0 and bot-1 shared\none process"),
        (3, 2, "bot-0, bot-1 and bot-2 shared\n2 processes"),
        (2, 2, ""),
    ):
        entries = [
            BotEntry(name=name, builtin="random") if number < builtin else BotEntry(name=name, join=True)
            for number, name in enumerate(BOTS_OF_RUN)
        ]
        made.model_copy(update={"lineup": Lineup(bots=tuple(entries), processes=processes)}).save()
        shown = report(run, made.folder, tmp_path / "report.html").texts.get("times", "")
        assert ("shared" in shown) is bool(text)
        assert text in shown


@pytest.mark.level(1)
def test_the_settings_are_those_that_held(page: Page) -> None:
    settings = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page.text))
    words = {"format", "rounds", "seat orders", "decision seconds", "fallback", "max strikes"}
    assert settings.keys() >= words
    assert settings.keys().isdisjoint({"cycles", "challengers", "elo0", "anchor", "bots"})
    assert (settings["no clock"], settings["margin seconds"], settings["seed"]) == ("no", "0.02", "3")


def test_a_tournament_without_games_has_a_report(tmp_path: Path, run: Run) -> None:
    page = report(run, League(BOTS, playing=()).store(tmp_path / "g.sqlite"), tmp_path / "report.html")
    assert set(page.texts) == {"", "standings", "settings"}
    assert "No game was finished." in page.texts[""]
    assert {row[3] for row in page.tables["standings"][1:]} == {"-"}
    assert len(page.tables["standings"]) == 1 + 4
    assert set(re.findall(r'href="#(\w+)"', page.text)) == {"standings", "settings"}


@pytest.mark.level(1)
def test_an_unmet_bot_is_listed(tmp_path: Path, run: Run) -> None:
    url = League((*BOTS, "unmet"), playing=BOTS).store(tmp_path / "games.sqlite")
    page = report(run, url, tmp_path / "report.html")
    row = rows_of(page, "standings")["unmet"]
    assert row[3:] == ["-", "", "0", "0", "0.00", "-", "0/0/0", "0.00", "2"]
    assert page.tables["pairs"][-1][1:] == ["-"] * 5


@pytest.mark.level(1)
def test_forfeits_are_shown_with_their_reasons(tmp_path: Path, run: Run) -> None:
    """Each way to forfeit has its column, reasons stand beside, and the games are among the notable ones."""
    league = League(
        BOTS,
        ending=lambda game, bot: ENDINGS[game % len(ENDINGS)] if bot == "cem" else Ending.FINISHED,
        reason="IndexError: bot.py:5",
        rounds=9,
    )
    url = league.store(tmp_path / "games.sqlite")
    page = report(run, url, tmp_path / "report.html")
    ways = [ending.word for ending in FORFEITS if ending is not Ending.DISQUALIFIED]
    assert page.tables["failures"][0][3:] == [*ways, "reasons"]
    (*row, reasons) = page.tables["failures"][1]
    assert row == ["cem", "32", "28", *["4"] * len(ways)]
    assert "timeout:IndexError: bot.py:5(4);" in reasons
    reasons = " ".join(row[-1] for row in page.tables["games"])
    for ending in set(FORFEITS) - {Ending.DISQUALIFIED}:
        assert f"cem forfeited: {ending.word} (IndexError: bot.py:5)" in reasons
    assert "Another 4 games with a disqualified bot are not rated" in page.texts[""]


@pytest.mark.level(2)
def test_think_times_are_shown_where_records_have_them(tmp_path: Path, run: Run) -> None:
    untimed = League(BOTS).store(tmp_path / "untimed.sqlite")
    assert "times" not in report(run, untimed, tmp_path / "untimed.html").texts
    timed = League(BOTS, timed=True).store(tmp_path / "timed.sqlite")
    page = report(run, timed, tmp_path / "timed.html")
    assert "in 48 of 48 games" in page.texts["times"]
    assert (rows_of(page, "times")["ann"][1], rows_of(page, "times")["ann"][-1]) == ("480", "400 µs")


def facts_of(
    bots: Sequence[str], games: Iterable[tuple[FinishedGame, str | None, Uncounted | None]]
) -> ReportData:
    """Count all games."""
    facts = ReportData(bots)
    for game, record, reason in games:
        result = game.result._replace(record=record)
        facts.add([result] if reason is None else [], [result] if reason is Uncounted.UNRATED else [])
    return facts


def test_a_line_is_drawn_only_while_its_bot_plays(tmp_path: Path) -> None:
    bots = ("ann", "bob", "cem")
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        store.create_tournament(League(bots, seats=2).config, games_total=80, created_at=0.0)
        store.add_games(list(League(bots, seats=2, rounds=20, playing=("ann", "bob")).games(1)))
        for game, record in League(bots, seats=2, rounds=20, playing=("ann", "cem")).games(1, 41):
            place = (20 + game.round, 0, game.fixture.rotation)
            store.add_games([(replace(game, position=place, deal_seed=game.deal_seed + 1), record)])
    history = facts_of(bots, [(game, None, None) for game in games_of(url)]).stats.history
    samples = [games for games, _ in history.samples]
    step = samples[0]
    assert [games for games, _ in history.of("ann")] == samples
    assert [games for games, _ in history.of("bob")] == [games for games in samples if games <= 40 + step]
    assert [games for games, _ in history.of("cem")] == [games for games in samples if games > 40]


@pytest.mark.level(2)
def test_fifty_bots_have_a_report(tmp_path: Path, run: Run) -> None:
    url = League([f"bot-{number:02}" for number in range(50)], rounds=6).store(tmp_path / "games.sqlite")
    page = report(run, url, tmp_path / "report.html")
    assert {len(page.tables[section]) for section in TABLES} == {1 + 50}
    assert len(page.text) < 1_000_000


@pytest.mark.level(1)
def test_too_many_bots_have_no_live_rating(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bootstrap would need memory for every pair of bots; the section says so."""
    monkeypatch.setattr(stats, "MAX_HISTORY_BOTS", 3)
    url = League(BOTS).store(tmp_path / "games.sqlite")
    assert "there is no live rating" in report(run, url, tmp_path / "report.html").texts["history"]


@pytest.mark.level(1)
def test_a_record_file_has_a_report(played: Path, page: Page, tmp_path: Path, run: Run) -> None:
    """Records alone have all but the settings and the time."""
    records = tmp_path / "games.jsonl"
    run("export", played, "--format", "records", "--out", records)
    again = report(run, records, tmp_path / "again.html")
    assert f"Games of {records}" in again.texts[""]
    assert "played" not in again.texts[""].split("rating")[0]
    for section in TABLES:
        columns = len(again.tables[section][0])  # a record doesn't have what bots said of themselves
        assert again.tables[section] == [row[:columns] for row in page.tables[section]]


@pytest.mark.level(1)
def test_the_same_games_have_the_same_report(played: Path, page: Page, tmp_path: Path, run: Run) -> None:
    assert report(run, played, tmp_path / "second.html").text == page.text


def test_a_spread_is_that_of_its_numbers() -> None:
    numbers = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    spread = Histogram(numbers)
    assert spread.mean == pytest.approx(statistics.fmean(numbers))
    assert [spread.quantile(share) for share in (0, 0.5, 1)] == [1, statistics.median(numbers), 9]
    assert (Histogram().mean, Histogram().quantile(0.5)) == (0, 0)


@pytest.mark.level(1)
@pytest.mark.parametrize("rounds", [1, 19, 20, 21, 83])
def test_a_history_has_few_samples_and_ends_with_all_games(tmp_path: Path, rounds: int) -> None:
    url = League(BOTS, rounds=rounds).store(tmp_path / "games.sqlite")
    columns, builder = GameTable(BOTS), GamesBuilder(BOTS)
    for game in games_of(url):
        columns.add([game.result])
        builder.extend([game])
    samples = columns.stats().history.samples
    assert len(samples) <= 80
    games, elos = samples[-1]
    assert games == 4 * rounds
    assert dict(zip(BOTS, elos, strict=True)) == pytest.approx(
        {line.bot: line.elo for line in rate(estimate_of(builder.build())).lines}
    )
    steps = {after - before for (before, _), (after, _) in pairwise(samples[:-1])}
    assert len(steps) <= 1


def test_metrics_are_those_of_the_seat_that_moved(tmp_path: Path, run: Run) -> None:
    """Numbers belong to the bot of their decision; reports have them by bot, exports by seat."""
    ((game, text), *_) = recorded_games(League(BOTS, rounds=1).store(tmp_path / "games.sqlite"))
    record = json.loads(str(text))
    record["metrics"] = [
        {"decision": 1, "values": {"depth": 2}},
        {"decision": 2, "values": {"nodes": 1e9}},
        {"decision": 1 + len(game.bots), "values": {"depth": 4, "value": -0.5}},
    ]
    facts = facts_of(BOTS, [(game, json.dumps(record), None)])
    first, second = (facts.times[game.bots[seat]].metrics for seat in (0, 1))
    depth = first["depth"]
    assert (depth.count, depth.mean, depth.least, depth.most) == (2, 3.0, 2, 4)
    assert depth.deviation == pytest.approx(2**0.5)
    assert set(first) == {"depth", "value"}
    assert set(second) == {"nodes"}
    rows = list(seat_rows(game.result._replace(record=json.dumps(record)), unrated=False))
    assert json.loads(rows[0].metrics or "")["depth"] == {
        "count": 2, "mean": 3.0, "sd": depth.deviation, "min": 2, "max": 4,
    }  # fmt: skip
    assert rows[2].metrics is None
    (tmp_path / "games.jsonl").write_text(json.dumps({**record, "bots": list(game.bots)}) + "\n")
    page = report(run, tmp_path / "games.jsonl", tmp_path / "report.html")
    assert "1e+09" in page.texts["metrics"]


def test_times_are_those_of_the_seat_that_moved(tmp_path: Path) -> None:
    """A think time belongs to the seat of its move, and 0 is none; a round trip belongs to its seat.

    Games that don't count have none, and only those of disqualified bots are unrated.
    """
    ((game, text), *_) = recorded_games(League(BOTS, rounds=1).store(tmp_path / "games.sqlite"))
    record = json.loads(str(text))
    record["moves"] = [{"seat": seat, "move": "keep"} for seat in (2, 0, 2)]
    record["clock"] = {"think_us": [10, 0, 123456], "round_trip_us": [0, 7, 0, 0]}
    reasons = (None, Uncounted.PRACTICE, Uncounted.UNRATED)
    facts = facts_of(BOTS, [(game, json.dumps(record), reason) for reason in reasons])
    assert facts.times[game.bots[2]].thinking == {10: 1, 123000: 1}
    assert facts.times[game.bots[0]].thinking == {}
    assert facts.times[game.bots[1]].round_trips == {7: 1}
    assert (facts.games, facts.timed_games, facts.unrated) == (1, 1, 1)


def test_a_bot_in_several_seats_is_compared_with_the_others_only(tmp_path: Path, run: Run) -> None:
    """A game counts once for each of its seats, and it has no score against itself."""
    ((game, _), *_) = recorded_games(League(BOTS, rounds=1, with_records=False).store(tmp_path / "g.sqlite"))
    shared = replace(game, bots=("ann", "bob", "ann", "bob"))
    facts = facts_of(("ann", "bob"), [(shared, None, None)])
    assert (facts.stats.bots["ann"].games, facts.games) == (2, 1)
    scores = facts.stats.games.scores()
    assert (scores + scores.T).tolist() == [[0, 4], [4, 0]]


@pytest.mark.parametrize("numbers", [[1500], [0, 1], [0, 3], [-12, 12], [999, 2100.5], [0, 123456], []])
def test_a_scale_has_room_for_its_numbers(numbers: list[float]) -> None:
    scale = charts.Scale.over(numbers)
    shares = [scale.share(number) for number in sorted(numbers)]
    assert all(0 < share < 1 for share in shares)
    assert shares == sorted(shares)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 6
    assert all(scale.low <= tick <= scale.high and tick == int(tick) for tick in ticks)


def test_an_early_swing_does_not_flatten_a_chart() -> None:
    """The scale is that of the later points; earlier ones beyond it are drawn at its end."""
    chart = charts.lines({"ann": [(1, 9000.0), (50, 1500.0), (100, 1600.0)]}, label="Elo")
    assert ">1,500<" in chart
    assert "9,000" not in chart
    assert "0.0100,0.0000 0.5000,0.9" in chart


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ({}, {}),
        ({1: 50.0}, {1: 50.0}),
        ({1: 50.0, 2: 52.0, 3: 10.0}, {3: 10.0, 1: 50.0, 2: 60.0}),
        ({1: 100.0, 2: 100.0}, {1: 90.0, 2: 100.0}),
        (dict.fromkeys(range(20), 70.0), {number: 5.0 * (number + 1) for number in range(20)}),
    ],
)
def test_names_are_moved_apart(places: dict[int, float], moved: dict[int, float]) -> None:
    assert charts.spread(places, distance=10, most=100) == moved


@pytest.mark.parametrize(("number", "text"), [(-0.4, "0"), (0.4, "0"), (-1234.5, "\u22121,234")])
def test_numbers_that_round_to_zero_have_no_sign(number: float, text: str) -> None:
    assert charts.whole(number) == text


def test_a_chart_writes_names_as_text() -> None:
    row = BotRating(bot="<b>&amp;" + 30 * "x", elo=1500.0, low=None, high=None, games=1, deals=1)
    chart = charts.ratings_chart([row], label="of <b>")
    assert "<b>" not in chart
    assert "&lt;b&gt;&amp;amp;xxxxxxxxx…" in chart


@pytest.mark.level(1)
def test_the_history_of_a_test_is_shown(tmp_path: Path, run: Run) -> None:
    config = TournamentConfig(
        bots=("new", "old"),
        game=Config(players=2),
        format=SprtTest(candidate="new", base="old", elo1=10, max_blocks=40),
        seed=1,
    )
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        store.create_tournament(config.json(), games_total=80, created_at=0.0)
        for match_id, fixture in enumerate(fixtures_of(config), start=1):
            places = [1, 1] if fixture.round % 3 else [1 + (bot == "old") for bot in fixture.bots]
            store.add_games([(finished(fixture, places=places, match_id=match_id), None)])
    test = json.loads(run("show", "games.sqlite", "--json")[1])["sprt"]
    assert [point["blocks"] for point in test["history"]] == list(range(1, 41))
    last = test["history"][-1]
    assert {key: test[key] for key in last} == last
    page = report(run, "games.sqlite", tmp_path / "report.html")
    section = page.text.partition('<section id="test">')[2].partition("</section>")[0]
    assert section.count("<polyline") == 3
