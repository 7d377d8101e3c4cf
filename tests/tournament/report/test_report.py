"""`tournament report`: one HTML file, true, harmless, and readable everywhere."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League
from tests.tournament.report.chromium import Page as BrowserPage
from tests.tournament.runs import BOTS as BOTS_OF_RUN
from tests.tournament.runs import make_run

from happycity import Ending
from happycity_tournament.games import FinishedGame
from happycity_tournament.lineup import BotEntry, Lineup
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.spread import Spread
from happycity_tournament.recorded_games import RecordedGame
from happycity_tournament.report import charts
from happycity_tournament.report.charts import FORFEITS
from happycity_tournament.report.export import seat_rows
from happycity_tournament.report.facts import count_games
from happycity_tournament.standings import figures
from happycity_tournament.standings.figures import GameColumns
from happycity_tournament.storage import Store
from happycity_tournament.storage.sources import open_source

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
    "model",
    "replays",
    "settings",
)
ENDINGS = [Ending.FINISHED, *FORFEITS]


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
    """Return a section's table by the text of its first cell that is neither a number nor a range."""
    rows = page.tables[section][1:]
    return {next(cell for cell in row if not re.fullmatch(r"[\d-]+", cell)): row for row in rows}


def recorded_games(source: Path | str) -> list[RecordedGame]:
    with closing(open_source(str(source))) as opened:
        return list(opened.games(with_records=True))


def games_of(source: Path | str) -> list[FinishedGame]:
    return [game for game, _ in recorded_games(source)]


def points_of(game: FinishedGame, bot: str) -> int:
    return game.seats[game.bots.index(bot)].points


def place_of(game: FinishedGame, bot: str) -> int:
    return game.seats[game.bots.index(bot)].place


# In a browser --------------------------------------------------------------------------------------------


def test_a_browser_shows_it_without_error_or_request(
    played: Path, tmp_path: Path, run: Run, page: BrowserPage
) -> None:
    """Chromium loads the one file, reports nothing, and on a phone the page is as wide as the screen."""
    out = tmp_path / "report.html"
    report(run, played, out)
    for width, dark in ((1200, False), (390, True)):
        page.open(out, width=width, dark=dark)
        assert page.evaluate("document.title") == "Tournament 1 - Happy City arena"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        drawn = "[...document.querySelectorAll('figure > svg')].map(s => s.getBoundingClientRect().width)"
        assert min(page.evaluate(drawn)) > 300
        # The result comes first: the standings begin on the first screen.
        assert page.evaluate("document.querySelector('#standings').getBoundingClientRect().top") < 600
    requests = {event["request"]["url"] for event in page.events_of("Network.requestWillBeSent")}
    assert requests == {out.as_uri()}
    for trouble in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
        assert page.events_of(trouble) == []


def test_the_browser_reports_trouble(tmp_path: Path, page: BrowserPage) -> None:
    """What the other tests rely on: an error, a message and a request don't go unnoticed."""
    out = tmp_path / "trouble.html"
    out.write_text('<img src="missing.png"><script>console.log(1); nothing()</script>')
    page.open(out)
    assert len(page.events_of("Network.requestWillBeSent")) == 2
    for trouble in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
        assert len(page.events_of(trouble)) == 1


def test_lines_have_their_names_at_their_ends(
    played: Path, tmp_path: Path, run: Run, page: BrowserPage
) -> None:
    """Each in the colour of its line and apart from the others; a phone has a legend in their place."""
    out = tmp_path / "report.html"
    report(run, played, out)
    names = "[...document.querySelectorAll('.ends text')]"
    shown = "document.querySelector('#history .legend').getBoundingClientRect().height > 0"
    page.open(out, width=1200)
    assert sorted(page.evaluate(f"{names}.map(t => t.textContent)")) == [
        "greedy",
        "planner",
        "random",
        "random2",
    ]
    lines = page.evaluate(
        "[...document.querySelectorAll('.lines polyline')].map(l => getComputedStyle(l).stroke)"
    )
    assert sorted(page.evaluate(f"{names}.map(t => getComputedStyle(t).fill)")) == sorted(lines)
    assert len(set(lines)) == 4
    levels = sorted(page.evaluate(f"{names}.map(t => t.getBoundingClientRect().top)"))
    assert all(lower - upper > 13 for upper, lower in pairwise(levels))
    assert page.evaluate(shown) is False
    page.open(out, width=390)
    assert page.evaluate(f"{names}.every(t => t.getBoundingClientRect().height === 0)")
    assert page.evaluate(shown) is True


def test_dark_and_light_differ(played: Path, tmp_path: Path, run: Run, page: BrowserPage) -> None:
    """The page takes the reader's colours, in charts too."""
    out = tmp_path / "report.html"
    report(run, played, out)
    colours = "['body', '.name', '.mark'].map(s => getComputedStyle(document.querySelector(s)))"
    found = []
    for dark in (False, True):
        page.open(out, dark=dark)
        found.append(page.evaluate(f"{colours}.map(s => s.backgroundColor + s.fill)"))
    assert all(light != dark for light, dark in zip(*found, strict=True))


def test_hostile_names_do_nothing_in_a_browser(tmp_path: Path, run: Run, page: BrowserPage) -> None:
    """Names with tags are shown as text: nothing runs, nothing is fetched."""
    url = League(HOSTILE, rounds=12, timed=True).store(tmp_path / "games.sqlite")
    out = tmp_path / "report.html"
    report(run, url, out)
    page.open(out)
    assert page.evaluate("document.querySelectorAll('script, img, [onerror]').length") == 0
    shown = page.evaluate("document.querySelector('#standings').innerText")
    assert all(name in shown for name in HOSTILE)
    assert page.events_of("Log.entryAdded") == page.events_of("Runtime.exceptionThrown") == []
    assert len(page.events_of("Network.requestWillBeSent")) == 1


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
    builder = GamesBuilder(("random", "greedy", "planner", "random2"))
    for game in games:
        builder.add(game)
    standings, points, history = (rows_of(page, name) for name in ("standings", "points", "history"))
    for rating in rate(estimate_of(builder.build())).lines:
        own = [points_of(game, rating.bot) for game in games]
        firsts = sum(place_of(game, rating.bot) == 1 for game in games)
        row = standings[rating.bot]
        assert row[5:8] == ["48", "12", f"{statistics.fmean(own):.2f}"]
        assert int(row[9]) + int(row[10]) == firsts
        assert sum(map(int, row[9:12])) == 48
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
                for own, others in [(place_of(game, bot), place_of(game, other))]
            ]
            assert cell.startswith(f"{statistics.fmean(scores):.0%}")
            assert re.search(r"%-?\d+ ±\d+$", cell)


def test_the_result_comes_first(played: Path, tmp_path: Path, run: Run) -> None:
    """A sentence names the winner, with how much and how certainly it is ahead."""
    head = " ".join(Page(report(run, played, tmp_path / "report.html")).texts[""].split())
    assert re.search(
        r"planner is first, \d+ ±\d+ Elo above greedy\.",
        head,
    )
    assert "48 games between 4 bots" in head
    assert re.search(r"played \d{4}-\d\d-\d\d \d\d:\d\d:\d\d to .* UTC", head)


@pytest.mark.parametrize(
    ("rounds", "text"),
    [
        (1, "There are too few deals to say how certain that is."),
        (12, "which of the two is stronger is not certain."),
    ],
)
def test_a_doubtful_result_is_said_to_be_one(tmp_path: Path, run: Run, rounds: int, text: str) -> None:
    """Nobody takes the first of equal bots for the best one."""
    url = League(BOTS, rounds=rounds).store(tmp_path / "games.sqlite")
    assert text in Page(report(run, url, tmp_path / "report.html")).texts[""]


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
        replace(made, lineup=Lineup(bots=tuple(entries), processes=processes)).save()
        shown = Page(report(run, made.folder, tmp_path / "report.html")).texts.get("times", "")
        assert ("shared" in shown) is bool(text)
        assert text in shown


def test_the_settings_are_those_that_held(played: Path, tmp_path: Path, run: Run) -> None:
    """One by one and in words; what nobody set is left out."""
    text = report(run, played, tmp_path / "report.html")
    settings = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert settings.keys() >= {
        "format",
        "rounds",
        "seat orders",
        "decision seconds",
        "fallback",
        "max strikes",
    }
    assert settings.keys().isdisjoint({"cycles", "challengers", "elo0", "anchor", "bots"})
    assert (settings["no clock"], settings["margin seconds"], settings["seed"]) == ("no", "0.02", "3")


def test_hostile_names_are_text(tmp_path: Path, run: Run) -> None:
    """Names with tags, quotes and template marks come out as they are, and make no elements."""
    league = League(
        HOSTILE, ending=lambda game, bot: ENDINGS[game % 7], reason="<script>alert(2)</script>", timed=True
    )
    url = league.store(tmp_path / "games.sqlite")
    text = report(run, url, tmp_path / "report.html", "--replays", tmp_path / "replays")
    page = Page(text)
    assert page.elements["script"] == page.elements["img"] == 0
    assert set(rows_of(page, "standings")) == set(HOSTILE)
    assert "<script>alert" not in text


# What isn't there ----------------------------------------------------------------------------------------


def test_a_tournament_without_games_has_a_report(tmp_path: Path, run: Run) -> None:
    """It lists the bots, says that no game was finished, and leaves out the sections without contents."""
    url = League(BOTS, playing=()).store(tmp_path / "games.sqlite")
    text = report(run, url, tmp_path / "report.html")
    page = Page(text)
    assert set(page.texts) == {"", "standings", "settings"}
    assert "No game was finished." in page.texts[""]
    assert {row[3] for row in page.tables["standings"][1:]} == {"-"}
    assert len(page.tables["standings"]) == 1 + 4
    assert set(re.findall(r'href="#(\w+)"', text)) == {"standings", "settings"}


def test_an_unmet_bot_is_listed(tmp_path: Path, run: Run) -> None:
    """It has no interval, no scores, and its own pool."""
    url = League((*BOTS, "unmet"), playing=BOTS).store(tmp_path / "games.sqlite")
    page = Page(report(run, url, tmp_path / "report.html"))
    row = rows_of(page, "standings")["unmet"]
    assert row[3:] == ["-", "", "0", "0", "0.00", "-", "0", "0", "0", "0.00", "2"]
    assert page.tables["pairs"][-1][1:] == ["-"] * 5


def test_forfeits_are_shown_with_their_reasons(tmp_path: Path, run: Run) -> None:
    """Each way to forfeit has its column, reasons stand beside, and the games are among the replays."""
    league = League(
        BOTS,
        ending=lambda game, bot: ENDINGS[game % len(ENDINGS)] if bot == "cem" else Ending.FINISHED,
        reason="IndexError: bot.py:5",
        rounds=9,
    )
    url = league.store(tmp_path / "games.sqlite")
    page = Page(report(run, url, tmp_path / "report.html"))
    ways = [ending.word for ending in FORFEITS if ending is not Ending.DISQUALIFIED]
    assert page.tables["failures"][0][3:] == [*ways, "reasons"]
    (*row, reasons) = page.tables["failures"][1]
    assert row == ["cem", "32", "28", *["4"] * len(ways)]
    assert "timeout:IndexError: bot.py:5(4);" in reasons
    reasons = " ".join(row[-1] for row in page.tables["replays"])
    for ending in set(FORFEITS) - {Ending.DISQUALIFIED}:
        assert f"cem forfeited: {ending.word} (IndexError: bot.py:5)" in reasons
    assert "Another 4 games with a disqualified bot are not rated" in page.texts[""]


def test_think_times_are_shown_where_records_have_them(tmp_path: Path, run: Run) -> None:
    """Without any there is no section about them."""
    untimed = League(BOTS).store(tmp_path / "untimed.sqlite")
    assert "times" not in Page(report(run, untimed, tmp_path / "untimed.html")).texts
    timed = League(BOTS, timed=True).store(tmp_path / "timed.sqlite")
    page = Page(report(run, timed, tmp_path / "timed.html"))
    assert "in 48 of 48 games" in page.texts["times"]
    assert (rows_of(page, "times")["ann"][1], rows_of(page, "times")["ann"][-1]) == ("480", "400 µs")


def test_a_line_is_drawn_only_while_its_bot_plays(tmp_path: Path, run: Run) -> None:
    """A bot that joined late has no rating before its first game, and one that left none after its last."""
    bots = ("ann", "bob", "cem")
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        early = list(League(bots, seats=2, rounds=20, playing=("ann", "bob")).games(1))
        late = list(League(bots, seats=2, rounds=20, playing=("ann", "cem")).games(1, 41))
        later = [
            (
                replace(game, position=(20 + game.round, *game.position[1:]), deal_seed=game.deal_seed + 1),
                record,
            )
            for game, record in late
            if game.position is not None
        ]
        config = League(bots, seats=2).config
        store.create_tournament(config, games_total=80, created_at=0.0)
        store.add_games([*early, *later])
    text = report(run, url, tmp_path / "report.html")
    header, *rows = Page(text).tables["history"]
    games = [int(cell) for cell in header[1:]]
    presence = {"ann": lambda games: True, "bob": lambda games: games <= 40, "cem": lambda games: games > 40}
    for bot, *cells in rows:
        assert [cell != "-" for cell in cells] == list(map(presence[bot], games)), bot


@pytest.mark.thorough
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
    monkeypatch.setattr(figures, "MAX_HISTORY_BOTS", 3)
    url = League(BOTS).store(tmp_path / "games.sqlite")
    assert "there is no live rating" in Page(report(run, url, tmp_path / "report.html")).texts["history"]


def test_a_record_file_has_a_report(played: Path, tmp_path: Path, run: Run) -> None:
    """Records alone have all but the settings and the time."""
    records = tmp_path / "games.jsonl"
    run("export", played, "--format", "records", "--out", records)
    page = Page(report(run, records, tmp_path / "report.html"))
    stored = Page(report(run, played, tmp_path / "stored.html"))
    assert f"Games of {records}" in page.texts[""]
    assert "played" not in page.texts[""].split("rating")[0]
    for section in ("standings", "pairs", "history", "points"):
        columns = len(page.tables[section][0])  # a record doesn't have what bots said of themselves
        assert page.tables[section] == [row[:columns] for row in stored.tables[section]]


def test_the_same_games_have_the_same_report(played: Path, tmp_path: Path, run: Run) -> None:
    """Nothing in it depends on when it is made."""
    first = report(run, played, tmp_path / "first.html")
    assert report(run, played, tmp_path / "second.html") == first


# Counting ------------------------------------------------------------------------------------------------


def test_a_spread_is_that_of_its_numbers() -> None:
    """Mean, deviation and quantiles are those of the numbers one by one."""
    numbers = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    spread = Spread(numbers)
    assert spread.mean == pytest.approx(statistics.fmean(numbers))
    assert spread.deviation == pytest.approx(statistics.stdev(numbers))
    assert [spread.quantile(share) for share in (0, 0.5, 1)] == [1, statistics.median(numbers), 9]
    assert spread.classes(5) == {0: 6, 1: 5}
    assert (Spread().mean, Spread().deviation, Spread().quantile(0.5)) == (0, 0, 0)


@pytest.mark.parametrize("rounds", [1, 19, 20, 21, 83])
def test_a_history_has_few_samples_and_ends_with_all_games(tmp_path: Path, rounds: int) -> None:
    """However many games there are, the samples are spread evenly and the last one counts them all."""
    url = League(BOTS, rounds=rounds).store(tmp_path / "games.sqlite")
    columns, builder = GameColumns(BOTS), GamesBuilder(BOTS)
    for game in games_of(url):
        columns.add([game.result])
        builder.add(game)
    samples = columns.figures().history.samples
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
    facts = count_games(BOTS, [(game, json.dumps(record), None)])
    first, second = (facts.times[game.bots[seat]].metrics for seat in (0, 1))
    depth = first["depth"]
    assert (depth.count, depth.mean, depth.least, depth.most) == (2, 3.0, 2, 4)
    assert depth.deviation == pytest.approx(2**0.5)
    assert set(first) == {"depth", "value"}
    assert set(second) == {"nodes"}
    rows = list(seat_rows(game, json.dumps(record), unrated=False))
    assert json.loads(rows[0].metrics or "")["depth"] == {
        "count": 2, "mean": 3.0, "sd": depth.deviation, "min": 2, "max": 4,
    }  # fmt: skip
    assert rows[2].metrics is None
    (tmp_path / "games.jsonl").write_text(json.dumps({**record, "bots": list(game.bots)}) + "\n")
    page = Page(report(run, tmp_path / "games.jsonl", tmp_path / "report.html"))
    assert "1e+09" in page.texts["metrics"]


def test_times_are_those_of_the_seat_that_moved(tmp_path: Path) -> None:
    """A think time belongs to the seat of its move, and 0 is none; a round trip belongs to its seat."""
    ((game, text), *_) = recorded_games(League(BOTS, rounds=1).store(tmp_path / "games.sqlite"))
    record = json.loads(str(text))
    record["moves"] = [{"seat": seat, "move": "keep"} for seat in (2, 0, 2)]
    record["clock"] = {"think_us": [10, 0, 123456], "round_trip_us": [0, 7, 0, 0]}
    facts = count_games(BOTS, [(game, json.dumps(record), None)])
    assert facts.times[game.bots[2]].thinking == {10: 1, 123000: 1}
    assert facts.times[game.bots[0]].thinking == {}
    assert facts.times[game.bots[1]].round_trips == {7: 1}
    assert facts.timed_games == 1


def test_a_bot_in_several_seats_is_compared_with_the_others_only(tmp_path: Path, run: Run) -> None:
    """A game counts once for each of its seats, and it has no score against itself."""
    ((game, _), *_) = recorded_games(League(BOTS, rounds=1, with_records=False).store(tmp_path / "g.sqlite"))
    shared = replace(game, bots=("ann", "bob", "ann", "bob"))
    facts = count_games(("ann", "bob"), [(shared, None, None)])
    assert (facts.figures.bots["ann"].games, facts.games) == (2, 1)
    scores = facts.figures.games.scores()
    assert (scores + scores.T).tolist() == [[0, 4], [4, 0]]


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
    """No further than need be, and closer together if there are too many."""
    assert charts.spread(places, distance=10, most=100) == moved


@pytest.mark.parametrize(("number", "text"), [(-0.4, "0"), (0.4, "0"), (-1234.5, "\u22121,234")])
def test_numbers_that_round_to_zero_have_no_sign(number: float, text: str) -> None:
    """A minus before a zero looks like a mistake."""
    assert charts.whole(number) == text


def test_a_chart_writes_names_as_text() -> None:
    """Tags in a name are escaped, and what has no room is cut."""
    row = charts.Parts("<b>&amp;" + 30 * "x", '"<i>"', parts=[1, 2])
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
