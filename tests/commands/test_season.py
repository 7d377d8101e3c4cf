"""A season of a ladder: twelve bots in six languages, a cheater, an upgraded server, a guest who leaves.

At each moment the leaderboard, its page, the list of bots and the server's log are compared with what is so.
"""

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.commands.competitions import (
    FIRST_MOVE,
    LADDER,
    Competition,
    Running,
    competing,
    organiser_opens_it,
)
from tests.server.hosting.conftest import why_not
from tools import ROOT
from tools.languages import SDKS, command, missing

HOSTED = {"python": "python2", "go": "go2"}
"""The bots that the server plays, by the guest who hands them in."""
CHEATER, LEAVES = "rust", "typescript"
REPLACED = "another program connected with the name"
SEASON = {"deals_at_once": 4, "grace_seconds": 60, "games_per_day": 10_000_000}
"""The grace time is as long as bots try to come back. All deals may wait so long for the guest who leaves.

Of the games of a day, a bot whose rating is exact begins a quarter for its own sake: an hour may use up the
usual ones, and then rightly nothing is played.
"""
FORFEITING = {CHEATER, LEAVES, f"{LEAVES}2"}
"""The bots that leave games which they play; no other has a reason to forfeit any."""


def programs_of(guest: str) -> list[list[str]]:
    """Return the commands of a guest's two bots; those of Python where its language isn't built here."""
    found = [command(guest, bot) for bot in ("first", "greedy")]
    if guest == "python" or any(map(missing, found)):
        return [[sys.executable, str(FIRST_MOVE)]] * 2
    return [shlex.split(program) for program in found]


def installed_oldest(folder: Path) -> str:
    """Install the oldest version whose stores this one opens, as `make setup` does; return its Python.

    Tests are skipped that can't go on without.
    """

    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=True).stdout

    commit = git(
        "log", "-1", "--format=%H", "--", "tournament/happycity_tournament/storage/schema.py"
    ).decode()
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit.strip()))) as packed:
        packed.extractall(folder, filter="data")
    uv = str(Path(sys.executable).with_name("uv"))
    install = [uv, "sync", "--frozen", "--quiet", "--project", str(folder)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"an older version can't be installed: {done.stderr}")
    return str(folder / ".venv/bin/python")


@dataclass
class Season:
    """What the organiser and the guests do, and what is so meanwhile."""

    competition: Competition
    games: int
    """Games between two moments."""
    present: set[str] = field(default_factory=set)
    """The bots that should be connected."""
    skipped: list[str] = field(default_factory=list)
    """What this machine can't do."""

    @property
    def server(self) -> Running:
        return self.competition.running["server"]

    def has_house(self) -> None:
        """Note which bots of the house the folder's settings name."""
        settings = (self.competition.top / "cup/server.toml").read_text("utf-8")
        self.present |= {*tomllib.loads(settings)["house"].split(",")}

    def play(self) -> None:
        """Let games end."""
        self.server.skip_lines()
        for _ in range(self.games):
            self.server.wait_for_line('"match_over"')

    def guests_join(self) -> None:
        """Each has two bots, and starts what isn't handed in later."""
        for guest in SDKS:
            first, second = programs_of(guest)
            if guest != "python" and str(FIRST_MOVE) in first:
                self.skipped.append(f"{guest} is not built")
            self.competition.guest_joins(guest, first, f"{guest}2")
            self.present.add(guest)
            if guest not in HOSTED:
                named = ["env", f"HAPPYCITY_NAME={guest}2", *second]
                self.competition.start(f"{guest}2", guest, named, "connected to localhost")
                self.present.add(f"{guest}2")

    def bots_are_submitted(self) -> None:
        """A new project in Python, and a program that was built."""
        if reason := why_not():
            self.skipped.append(reason)
            return
        self.competition.run("python", "new-bot", HOSTED["python"], "--language", "python")
        built = self.competition.top / "go" / HOSTED["go"]
        built.mkdir()
        program = Path(programs_of("go")[1][-1])
        shutil.copy(program, built / "bot")
        start = "python bot" if program == FIRST_MOVE else "./bot"
        (built / "bot.toml").write_text(f'name = "{built.name}"\ncommand = "{start}"\nfiles = ["bot"]\n')
        for guest, bot in HOSTED.items():
            assert json.loads(self.competition.run(guest, "submit", bot, "--json"))["state"] == "playing"
            self.present.add(bot)

    def guest_cheats(self) -> None:
        """A second program under one name ends the first; under another's name none plays."""
        first, _ = programs_of(CHEATER)
        self.competition.start("copy", CHEATER, first, "connected to localhost")
        replaced = self.competition.running.pop(CHEATER)
        assert replaced.end() == 2
        assert any("another program connected with the name" in line for line in replaced.printed)
        self.server.wait_for_line('"REPLACED"')
        self.competition.running[CHEATER] = self.competition.running.pop("copy")
        self.competition.start("thief", CHEATER, ["env", "HAPPYCITY_NAME=go", *first], "not to 'go'")
        assert self.competition.running.pop("thief").end() == 2
        self.server.wait_for_line('"WRONG_NAME"')

    def server_starts_again(self) -> None:
        """The organiser ends it and starts one that is perhaps newer, which has all that was stored."""
        server = self.competition.running.pop("server")
        server.stop()
        assert server.process.returncode == 0
        before = self.competition.stored()
        self.competition.serve()
        self.competition.loses_nothing(before)

    def guest_leaves(self) -> None:
        """All bots of the guest end, and get no more games; what they played stays."""
        left = LEAVES, f"{LEAVES}2"
        self.competition.run(LEAVES, "join", "--revoke")
        for bot in left:
            assert self.competition.running.pop(bot).end() == 2
        self.present -= {*left}
        begun = self.competition.ladder("cup", "deals", "--limit", 1)[0]["deal_id"]
        self.play()
        assert not any(self.competition.deals("--bot", bot, after=begun) for bot in left)
        assert LEAVES not in self.competition.run("cup", "token", "list")

    def season_ends(self) -> None:
        """Its leaderboard has all games that ended in it, and who has no access recomputes it."""
        self.competition.run("cup", "ladder", "seasons", "--close", 1)
        self.play()
        ended = self.competition.ladder("cup", "seasons")[-1]
        deals = self.competition.deals("--season", 1)
        assert (ended["deals"], ended["games"]) == (len(deals), sum(len(deal["match_ids"]) for deal in deals))
        for deal in deals:
            owners = {version["bot"].rstrip("2") for version in deal["versions"]}
            assert len(owners) == len(deal["versions"]), f"bots of one owner meet in {deal}"
        lines = self.competition.ladder("cup", "show", "--limit", 0, "--season", 1)["leaderboard"]["lines"]
        assert {line["version"]["bot"]: line["games"] for line in lines} == games_of(deals)
        assert {line["version"]["bot"] for line in lines if line["forfeits"]} <= FORFEITING
        # Games of the guest who left wait for it during its grace time, and their cards are secret meanwhile.
        self.competition.until(lambda: not self.unfinished_deals(1))
        # All games of an hour are read and replayed, which takes as long as the machine needs.
        self.competition.run("cup", "ladder", "publish", "games.sqlite", 1, "../published", timeout=None)
        verified = self.competition.run("elsewhere", "ladder", "verify", "../published", timeout=None)
        assert "all of it is true" in verified

    def unfinished_deals(self, season: int) -> list[int]:
        """Return the deals of a season that are still played."""
        listed = self.competition.ladder("cup", "deals", "--limit", 0, "--season", season)
        return [deal["deal_id"] for deal in listed if not deal["finish_time"]]

    def are_connected(self) -> bool:
        """Return whether those are connected who should be; no program may have ended by itself."""
        running = self.competition.running.items()
        ended = {name: one.printed[-2:] for name, one in running if one.process.poll() is not None}
        assert not ended, ended
        return self.competition.connected() == self.connected_by_log == self.present

    def check(self) -> None:
        """Compare what is said of the present season with what is so; games end meanwhile."""
        self.competition.until(self.are_connected)
        season = self.competition.ladder("cup", "seasons", "--limit", 1)[0]["season_id"]
        before = games_of(self.competition.deals("--season", season))
        lines = self.competition.ladder("cup", "show", "--limit", 0)["leaderboard"]["lines"]
        with self.competition.browser() as browser:
            page = rows_of(browser.get("/ladder").text)
        after = games_of(self.competition.deals("--season", season))
        board = {line["version"]["bot"]: line["games"] for line in lines}
        for bot, games in before.items():
            assert games <= board[bot] <= page[bot][0] <= after[bot], bot
        assert {bot for bot, (_, connected) in page.items() if connected} == self.present
        severe = [
            line for line in self.server.printed if re.search(r'"level": "(error|critical)"|Traceback', line)
        ]
        assert not severe

    @property
    def connected_by_log(self) -> set[str]:
        """Return the bots that are connected, as the server's log has it."""
        connected = set[str]()
        for line in self.server.printed:
            if '"trial"' in line:  # in an arena of its own
                continue
            if '"bot_connected"' in line:
                connected.add(json.loads(line)["bot"])
            elif '"bot_disconnected"' in line:
                connected.discard(json.loads(line)["bot"])
        return connected


def games_of(deals: list[dict[str, Any]]) -> Counter[str]:
    """Return how many games each bot has played in deals."""
    games = Counter[str]()
    for deal in deals:
        games.update({version["bot"]: len(deal["match_ids"]) for version in deal["versions"]})
    return +games


def rows_of(page: str) -> dict[str, tuple[int, bool]]:
    """Return the games of each bot in a leaderboard's page, and whether it is said to be connected."""
    found = re.findall(
        r'bot-cell"><span class="dot (on|off)".*?<bdi>(.*?)</bdi>.*?text version">.*?</td>\s*'
        r"<td>[\d,]+</td><td>([\d,]+)</td>",
        page,
        re.DOTALL,
    )
    return {bot: (int(games.replace(",", "")), dot == "on") for dot, bot, games in found}


@pytest.fixture
def season(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Season]:
    """Yield a season that was opened by programs of an older version."""
    before = installed_oldest(tmp_path / "before")
    with competing(tmp_path) as competition:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", before)
            organiser_opens_it(competition, {**LADDER, **SEASON})
        season = Season(competition, request.param)
        season.has_house()
        yield season


@pytest.mark.nightly
@pytest.mark.timeout(0)  # an hour, of which each wait has its own limit
@pytest.mark.parametrize(
    "season", [pytest.param(200, id="short"), pytest.param(10_000, id="hour")], indirect=True
)
def test_all_is_true_at_each_moment_of_a_season(season: Season) -> None:
    """What this machine can't do is skipped, and named after all else has passed."""
    for moment in (
        season.guests_join,
        season.guest_cheats,
        season.server_starts_again,
        season.bots_are_submitted,
        season.server_starts_again,
        season.guest_leaves,
        season.season_ends,
    ):
        moment()
        season.play()
        season.check()
    if season.skipped:
        pytest.skip(f"all else passed; {'; '.join(season.skipped)}")
