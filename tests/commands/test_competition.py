"""A whole small competition as real processes, from the organiser's folder to recomputed results."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.commands.competitions import Competition, competing, guests_join, organiser_opens_it
from tests.server.hosting.conftest import why_not
from tests.waiting import LIMIT, PATIENT

REASON = "loses to another bot on purpose"
FURTHER_DEALS = 5
"""Deals of the ladder in which every bot that may play has been: who has waited longest gets a seat."""


@pytest.fixture
def competition(tmp_path: Path) -> Iterator[Competition]:
    with competing(tmp_path) as competition:
        yield competition


def guest_submits_a_bot(competition: Competition) -> None:
    """The guest's second bot, a new project as it is made, passes its trial and plays on the server."""
    if reason := why_not():
        pytest.skip(reason)
    competition.run("python", "new-bot", "hosted", "--language", "python")
    submitted = json.loads(competition.run("python", "submit", "hosted", "--json"))
    assert submitted["state"] == "playing"
    competition.bots.append("hosted")
    competition.until(lambda: competition.deals("--bot", "hosted"))
    shown = competition.ladder("python", "show", "hosted")
    assert [one["info"]["version"] for one in shown["versions"]] == [submitted["digest"][:12]]
    assert shown["owner"] == "Team python"


def tournament_is_played(competition: Competition) -> None:
    """It comes before the ladder's deals."""
    bots = [*competition.bots, "greedy"][:4]
    joined = [word for name in bots for word in ("--join", name)]
    played = competition.tournament("cup", "run", *joined, "--rounds", 2, *PATIENT, "--json")
    standings = json.loads(played)["standings"]
    assert {line["bot"] for line in standings} == set(bots)
    assert all(line["games"] == 8 and not line["forfeits"] for line in standings)
    own = json.loads(competition.tournament("python", "games", "--bot", "python", "--json"))
    assert len(own) == 8


def results_are_published(competition: Competition) -> None:
    """A folder without access to the server recomputes the same hashes; a change is found."""
    (results,) = (competition.top / "cup/runs").iterdir()
    published = competition.tournament("cup", "publish", results, "../published")
    assert competition.tournament("elsewhere", "verify", "../published").startswith(published)
    file = competition.top / "published/tournament.json"
    file.write_text(file.read_text().replace('"python"', '"pythons"', 1))
    competition.tournament("elsewhere", "verify", "../published", status=1)


def organiser_suspends_a_bot(competition: Competition) -> None:
    """The bot ends what it plays, and is in no deal that begins later."""
    competition.until(lambda: competition.deals("--bot", "bridge"))
    competition.run("cup", "ladder", "act", "suspend", "bridge", "--reason", REASON)
    (act,) = competition.ladder("cup", "acts")
    assert (act["kind"], act["bot"], act["text"]) == ("suspend", "bridge", REASON)
    begun = competition.ladder("cup", "deals", "--limit", 0)
    competition.until(lambda: len(competition.deals(after=begun[0]["deal_id"])) >= FURTHER_DEALS)
    assert not competition.deals("--bot", "bridge", after=begun[0]["deal_id"])
    assert REASON in competition.ladder("bridge", "show", "bridge")["wait"]["text"]


def season_ends(competition: Competition) -> None:
    """Its leaderboard stays, with the suspended bot, and agrees with the deals that ended in it."""
    competition.run("cup", "ladder", "seasons", "--close", 1)
    new, ended = competition.ladder("cup", "seasons")
    assert (new["season_id"], new["end_time"], ended["season_id"]) == (2, None, 1)
    assert ended["end_time"]
    deals = competition.deals("--season", 1)
    assert ended["deals"] == len(deals)
    assert ended["games"] == sum(len(deal["match_ids"]) for deal in deals)
    lines = competition.ladder("go", "show", "--season", 1)["leaderboard"]["lines"]
    assert {line["version"]["bot"] for line in lines} >= {*competition.bots, "planner"}
    assert sum(line["games"] for line in lines) == 4 * ended["games"]
    if "hosted" in competition.bots:
        competition.until(lambda: cpu_seconds_of(competition, "hosted") > 0)  # counted every two seconds
    competition.until(lambda: competition.deals("--season", 2))


def cpu_seconds_of(competition: Competition, bot: str) -> float:
    """Return what the leaderboard shows of a bot that the server runs."""
    lines = competition.ladder("go", "show", "--season", 1)["leaderboard"]["lines"]
    (line,) = (one for one in lines if one["version"]["bot"] == bot)
    seconds: float = line["cost"]["cpu_time"]
    return seconds


def public_looks(competition: Competition) -> None:
    """Who has no token reads results without owners, by pages and commands, and can do nothing."""
    game = competition.deals("--season", 1)[0]["match_ids"][0]
    shown = {
        "/": "Ladder",
        "/acts": REASON,
        "/ladder": "planner",
        "/ladder?season=1": "CPU s",
        f"/matches/{game}": f"{game}",
        "/feed.atom": "/ladder/deals?deal=",
        "/play": "Start",  # family games are open to visitors
    }
    closed = "/access", "/ladder/flags", "/ladder/challenges"
    forms = "/access", "/ladder/challenges", "/ladder/challenges/1"
    with competition.browser() as visitor:
        for path, text in shown.items():
            answer = visitor.get(path)
            assert answer.status_code == 200, path
            assert text in answer.text, path
            assert "Team " not in answer.text, path
        for answer in (*map(visitor.get, closed), *map(visitor.post, forms)):
            assert answer.status_code in (401, 403), answer.url
    own, settings = competition.top / "visitor", competition.organiser_settings()
    own.mkdir()
    (own / "happycity.env").write_text(
        f"HAPPYCITY_SERVER={settings['HAPPYCITY_SERVER']}\nHAPPYCITY_CA=../cup/ca.pem\n"
    )
    (act,) = competition.ladder("cup", "acts")
    assert competition.ladder("visitor", "acts") == [{**act, "owner": None}]
    for words in (
        ("act", "suspend", "go", "--reason", REASON),
        ("seasons", "--close", 2),
        ("challenge", "go", "--deals", 1),
    ):
        competition.run("visitor", "ladder", *words, status=2)


def guest_leaves(competition: Competition) -> None:
    """All bots of the guest leave, also the one that the server runs."""
    competition.run("python", "join", "--revoke")
    assert competition.running["python"].process.wait(LIMIT) == 2
    assert "python" not in competition.run("cup", "token", "list")
    competition.until(lambda: not competition.connected() & {"python", "hosted"})


STEPS: tuple[Callable[[Competition], None], ...] = (
    organiser_opens_it,
    guests_join,
    guest_submits_a_bot,
    tournament_is_played,
    results_are_published,
    organiser_suspends_a_bot,
    season_ends,
    public_looks,
    guest_leaves,
)


@pytest.mark.level(3)
def test_a_whole_competition(competition: Competition) -> None:
    """A step that this machine can't do is skipped, and named after all others have passed."""
    skipped = []
    for step in STEPS:
        try:
            step(competition)
        except pytest.skip.Exception as reason:
            skipped.append(f"{step.__name__}: {reason.msg}")
    if skipped:
        pytest.skip(f"all other steps passed; {'; '.join(skipped)}")
