"""`happycity ladder` as people use it, on a server whose ladder two guests play."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.commands.programs import Done, happycity
from tests.server.api.ladders import LadderServer, LastMove, ladder_server, until
from tests.server.conftest import FirstMove

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.v1 import bot_pb2, rating_pb2
from happycity.wire.match import duration_message
from happycity_terminal.ladder.tables import comparison_lines, leaderboard_table

FILE = """
name = "Two guests"
anchor = "rock"
provisional_error = 1000.0
boards = [{players = 2}, {players = 2, mode = "expert"}]
[quotas]
open_challenges = 2
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LadderServer]:
    """Yield a server with two bots that have played some deals."""
    with ladder_server(tmp_path_factory.mktemp("ladder"), file=FILE) as opened:
        opened.connect("anna", FirstMove, version="1.0")
        opened.connect("ben", LastMove, version="7")
        until(lambda: all(len(opened.board(board=b).lines) == 2 for b in ("2-family", "2-expert")))
        yield opened


@pytest.fixture(autouse=True)
def _wide_tables(_own_folder: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each row of a table be a line."""
    monkeypatch.setenv("COLUMNS", "160")


def ladder(server: LadderServer, *arguments: object) -> Done:
    return happycity("ladder", *arguments, "--server", server.arena.address)


def lines_shown(server: LadderServer, *arguments: object) -> list[str]:
    """Return what `show` prints, but for lines that say why bots wait, which depends on the moment."""
    return [line for line in lines_of(server, "show", *arguments) if "not playing: " not in line]


def lines_of(server: LadderServer, *arguments: object) -> list[str]:
    """Return what a command prints, without blanks at the ends and empty lines."""
    done = ladder(server, *arguments)
    assert (done.status, done.errors) == (0, "")
    return [line.strip() for line in done.output.splitlines() if line.strip()]


def json_of(server: LadderServer, *arguments: object) -> Any:
    done = ladder(server, *arguments, "--json")
    assert (done.status, done.errors) == (0, "")
    return json.loads(done.output)


def test_a_leaderboard_with_all_columns_fits_80() -> None:
    """Also where bots forfeited games and hosted ones are there; no name is written letter below letter."""
    lines = [
        pb.LeaderboardLine(
            rank=1,
            games=12_345,
            firsts=1_234,
            forfeits=12,
            version=pb.BotVersion(bot="typescript2", info=bot_pb2.BotInfo(version="3fa9c1d2e4b5")),
            rating=rating_pb2.Rating(elo=1279.0, low=1250.0, high=1310.0, deals=3_096),
            cost=pb.BotCost(cpu_time=duration_message(1_234.5), peak_memory_bytes=80_000_000),
        )
    ]
    console = Console(width=80, file=StringIO())
    console.print(leaderboard_table(lines))
    assert isinstance(console.file, StringIO)
    head, _, row, *_ = console.file.getvalue().splitlines()
    counted = ["deals", "games", "firsts", "forfeits", "CPU", "s", "MB"]
    assert head.split() == ["rank", "bot", "version", "Elo", "95%", *counted]
    assert all(len(word) > 4 for word in row.split()[1:3])


@pytest.mark.level(2)
def test_show(server: LadderServer) -> None:
    shown = lines_shown(server)
    listed = shown.index("bots, each by its newest version, by the lower end of the interval")
    name, boards, bots, board, *owners = shown[:listed]
    head, _, *rows = shown[listed + 1 :]
    assert name.startswith("Two guests: season 1 since ")
    assert boards == "boards: 2-family, 2-expert"
    assert bots.startswith("2 bots connected of 2; ")
    assert board.startswith("2-family, season 1 since ")
    assert head.split() == ["rank", "bot", "version", "Elo", "95%", "deals", "games", "firsts"]
    assert {row.split()[1] for row in rows} == {"anna", "ben"}
    assert owners[0].startswith("owners, each by its best bot")
    assert owners[1].split() == ["rank", "owner", "best", "bot", "Elo", "at", "least", "bots"]
    assert {row.split()[1] for row in owners[3:]} <= {"anna", "ben"}
    assert lines_shown(server, "--board", "2-expert")[3].startswith("2-expert, season 1")
    shown = json_of(server, "show", "--ranked", "--limit", "1")
    whole, leaderboard = shown["ladder"], shown["leaderboard"]
    assert (whole["name"], leaderboard["board"], whole["season"]["season_id"]) == (
        "Two guests",
        "2-family",
        1,
    )
    assert [entry["name"] for entry in whole["boards"]] == ["2-family", "2-expert"]
    (line,) = leaderboard["lines"]
    assert line["rank"] == 1
    assert line["version"]["bot"] == line["owner"]
    assert line["rating"]["low"] < line["rating"]["elo"] < line["rating"]["high"]


def test_bot(server: LadderServer) -> None:
    # A bot's versions with their ratings on each board; the JSON has the history.
    shown = lines_shown(server, "anna")
    whose, head, _, *rows = shown
    assert whose == "anna: of anna"
    assert "version" in head
    assert [row.split()[-4] for row in rows] == ["2-family", "2-expert"]
    bot = json_of(server, "show", "anna", "--board", "2-expert")
    assert (bot["bot"], bot["house"], bot["board"]) == ("anna", False, "2-expert")
    assert [version["info"]["version"] for version in bot["versions"]] == ["1.0"]
    assert {rating["board"] for rating in bot["ratings"]} == {"2-family", "2-expert"}
    ratings = [point["rating"] for point in bot["history"]]
    assert all(rating["low"] < rating["elo"] < rating["high"] for rating in ratings)
    assert bot["history"]


@pytest.mark.level(2)
def test_deals(server: LadderServer) -> None:
    head, _, *rows = lines_of(server, "deals", "--limit", "2")
    assert head.startswith("id")
    assert len(rows) == 2
    (deal,) = json_of(
        server, "deals", "--bot", "anna", "--board", "2-expert", "--kind", "rated", "--limit", 1
    )
    bots = sorted(version["bot"] for version in deal["versions"])
    assert (deal["board"], deal["kind"], bots) == ("2-expert", "rated", ["anna", "ben"])
    assert len(json_of(server, "deals", "--limit", "201")) > 0
    assert lines_of(server, "deals", "--challenge", "99") == ["no deals"]


@pytest.mark.level(2)
def test_seasons(server: LadderServer) -> None:
    # The seasons, and the end of one, which is said once.
    assert [row.split()[0] for row in lines_of(server, "seasons")[2:]] == ["1"]
    assert lines_of(server, "seasons", "--close", "1")[0].startswith("season 2 since ")
    assert json_of(server, "seasons", "--close", "1")["season_id"] == 2
    assert [season["season_id"] for season in json_of(server, "seasons")] == [2, 1]
    assert json_of(server, "show", "--season", "1")["leaderboard"]["season"]["end_time"] is not None

    # Without a common deal, the answer says how to play some.
    version = json_of(server, "show", "anna")["versions"][0]["version_id"]
    said, *ratings = lines_of(server, "compare", version, version)
    assert f"happycity ladder challenge BOT --replay {version}" in said
    assert ratings
    assert json_of(server, "compare", version, version)["deals"] == 0

    # Nothing is odd after so few deals.
    assert lines_of(server, "flags") == ["nothing is odd"]
    assert json_of(server, "flags", "--season", "1") == []


@pytest.mark.level(2)
def test_challenges(server: LadderServer) -> None:
    made = json_of(server, "challenge", "anna", "--against", "ben", "--deals", "1")
    number = made["challenge_id"]
    assert (made["kind"], made["state"], made["opponents"]) == ("challenge", "open", ["ben"])
    assert str(number) in {row.split()[0] for row in lines_of(server, "challenge", "--list", "ben")[2:]}
    assert lines_of(server, "challenge", "ben", "--accept", number) == [
        f"challenge {number} of anna: 1 deal on 2-family, playing"
    ]
    server.finished(number)
    finished = json_of(server, "challenge", "--list", "--state", "finished")
    assert number in {entry["challenge_id"] for entry in finished}
    first, until_when, how = lines_of(server, "challenge", "anna", "--against", "ben", "--board", "2-expert")
    number += 1
    assert first == f"challenge {number} of anna: 10 deals on 2-expert, open"
    assert "it waits for those of ben" in until_when
    assert how == f"happycity ladder challenge BOT --accept {number} --server {server.arena.address}"
    assert json_of(server, "challenge", "ben", "--decline", number)["state"] == "declined"
    other = json_of(server, "challenge", "ben", "--against", "anna", "--deals", "1")["challenge_id"]
    assert (
        "is not one that 'anna' can withdraw"
        in ladder(server, "challenge", "anna", "--withdraw", other).error
    )
    assert json_of(server, "challenge", "ben", "--withdraw", other)["state"] == "withdrawn"
    rated = json_of(server, "challenge", "anna", "--deals", "1")
    assert (rated["kind"], rated["state"]) == ("rated", "playing")
    server.finished(rated["challenge_id"])


def test_server_may_be_that_of_the_environment(server: LadderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAPPYCITY_SERVER", server.arena.address)
    done = happycity("ladder", "show", "anna", "--json")
    assert (done.status, json.loads(done.output)["bot"]) == (0, "anna")


@pytest.mark.level(2)
def test_mistakes_cost_one_line(server: LadderServer) -> None:
    for arguments, error in [
        (("show", "--board", "5-expert"), "board: there is no '5-expert' in this ladder; there are: "),
        (("show", "--season", "99"), "season: '99' is not in this ladder"),
        (("show", "--season", "0"), "--season: "),
        (("show", "zoe"), "bot: 'zoe' is not in this ladder"),
        (("show", "no name"), "bot: bot name 'no name': use 1-64 of"),
        (("deals", "--kind", "odd"), "--kind: there is no 'odd'; there are: rated, challenge, comparison"),
        (("challenge", "anna", "--deals", "0"), "--deals: "),
        (("challenge", "anna", "--deals", "51"), "deals: 51 is not 1 to 50"),
        (("challenge", "anna", "--against", "ben,zoe"), "opponents: 2 bots; the board 2-family takes 1"),
        (("challenge", "anna", "--against", "ben", "--replay", "1"), "--against, --replay: "),
        (("challenge", "anna", "--replay", "99"), "version: '99' is not in this ladder"),
        (("challenge", "ben", "--accept", "99"), "challenge: '99' is not in this ladder"),
        (("challenge", "ben", "--decline", "99"), "challenge: '99' is not in this ladder"),
        (("challenge", "ben", "--withdraw", "99"), "challenge: '99' is not in this ladder"),
        (("compare", "1", "99"), "version: '99' is not in this ladder"),
        (("challenge",), "BOT: it is missing"),
        (("challenge", "ben", "--accept", "1", "--decline", "1"), "--list, --accept, --decline, "),
        (("show", "anna", "--season", "1"), "--season, --ranked: "),
    ]:
        assert error in ladder(server, *arguments).error


@pytest.mark.level(2)
def test_acts(server: LadderServer) -> None:
    """Each kind asks for what it says, and a new name is for renaming alone."""
    why = ("--reason", "a test")
    for kind in ("suspend", "restore"):
        act = json_of(server, "act", kind, "anna", *why)
        assert (act["kind"], act["bot"], act["text"]) == (kind, "anna", "a test")
    for arguments, error in [
        (("void", "888888,999999"), "void_deals.deal_ids: deal 888888 is not finished"),
        (("void", "zoe"), "void_deals.bot: 'zoe' has no finished deal that counts"),
        (("rename", "zoe", "--to", "Zoe"), "rename_owner.owner: 'zoe' has neither bots in this ladder"),
        (("delete", "zoe"), "delete_owner.owner: 'zoe' has neither bots in this ladder"),
        (("rename", "anna"), "--to: give the new name"),
        (("suspend", "anna", "--to", "Anna"), "--to: give the new name"),
    ]:
        assert error in ladder(server, "act", *arguments, *why).error
    assert [act["kind"] for act in json_of(server, "acts", "--bot", "anna")] == ["restore", "suspend"]


def test_init_writes_the_example_once() -> None:
    done = happycity("ladder", "init", "my.toml")
    assert done.output.startswith("wrote my.toml; keep the ladder with: happycity serve --ladder my.toml ")
    assert Path("my.toml").read_text().startswith("# A ladder, for: happycity serve --ladder FILE")
    assert happycity("ladder", "init", "my.toml").error.startswith("my.toml is there already; ")


def test_interval_of_a_comparison_is_of_its_deals() -> None:
    """It holds at any number of deals, as on the page, and few have none."""
    for deals, shown in [
        (9, "+0.100 a game against version 1, in 9 deals that both played; an interval takes 10"),
        (10, "+0.100 ± 0.200 a game against version 1, in 10 deals that both played"),
        (40, "+0.100 ± 0.157 a game against version 1, in 40 deals that both played"),
    ]:
        comparison = pb.VersionComparison(deals=deals, difference=0.1, standard_error=0.05)
        assert list(comparison_lines(comparison, 1, 3)) == [f"version 3 scores {shown}"]
