"""Published seasons are recomputed, and every kind of tampering is named in one line."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.commands.programs import happycity
from tests.server.api.ladders import LadderServer, LastMove, ladder_server, until
from tests.server.conftest import FirstMove
from tests.tournament.proof.forged_games import blame
from tests.tournament.proof.test_publication import Forger

from happycity import ConfigError
from happycity_ladder.book import Book
from happycity_ladder.season_proof import SEASON_FILE, publish_season, verify_season
from happycity_tournament.storage.store import Store

FILE = """
anchor = "anna"
provisional_error = 1000.0
boards = [{players = 2}, {players = 3}]
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LadderServer]:
    """Yield a server with two seasons that have ended, an act in each, and a third one that lasts."""
    with ladder_server(tmp_path_factory.mktemp("ladder"), file=FILE) as server:
        for name, factory in (("anna", FirstMove), ("ben", LastMove), ("carl", FirstMove)):
            server.connect(name, factory)
        for season in (1, 2):
            until(lambda: server.call.ListSeasons().seasons[0].deals > 5)
            deal = next(deal for deal in server.call.ListLadderDeals().deals if deal.HasField("finish_time"))
            server.call.CreateAct(void_deals={"deal_ids": [deal.deal_id]}, text="a clock was wrong")
            server.call.CloseSeason(season_id=season)
        until(lambda: server.call.ListSeasons().seasons[0].deals > 1)
        for name in ("anna", "ben", "carl"):
            server.arena.disconnect(name)
        yield server


@pytest.fixture(scope="module")
def published(played: LadderServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "season"
    with Store.existing(played.arena.url) as store:
        publish_season(store, 2, folder, processes=1)
    return folder


@pytest.mark.level(3)
def test_season_is_verified_on_another_machine(published: Path, played: LadderServer, tmp_path: Path) -> None:
    """Its commitment could be read from its start on; statuses are those of `tournament verify`."""
    seasons = played.call.ListSeasons().seasons
    assert len({season.commitment for season in seasons}) == 3
    done = happycity("ladder", "verify", published, "--noted", seasons[1].commitment)
    assert (done.status, done.output.splitlines()[1]) == (0, f"commitment {seasons[1].commitment}")
    assert verify_season(published, processes=2)["games"] == seasons[1].games + seasons[2].games
    assert happycity("ladder", "verify", published, "--noted", seasons[0].commitment).status == 1
    assert happycity("ladder", "verify", tmp_path).status == 2
    again = happycity("ladder", "publish", played.arena.url, 2, tmp_path / "again")
    assert (again.status, done.output.startswith(again.output)) == (0, True)
    assert "and the noted hash is its own" in done.output
    for season, text in ((3, "3 is not a season of this ladder that has ended"), (1, "it is not empty")):
        assert text in happycity("ladder", "publish", played.arena.url, season, published).error


def first(forger: Forger, **kinds: object) -> Any:
    return next(line for line in forger.games if kinds.items() <= line["deal"].items())["deal"]


def counted(forger: Forger) -> Any:
    return next(line for line in reversed(forger.games) if line["deal"]["act_id"] is None)


def excuse_ben(forger: Forger) -> None:
    """State that a move of ben, who always plays the last legal one, was played for him."""
    record = next(record for line in forger.games for record in line["records"] if "ben" in record["bots"])
    seat = record["bots"].index("ben")
    blame(
        record, seat, next(number for number, move in enumerate(record["moves"], 1) if move["seat"] == seat)
    )


def move_to(forger: Forger, last: int) -> None:
    forger.result["seasons"][0]["closed_after"] = last


FORGERIES: dict[str, tuple[Callable[[Forger], object], str]] = {
    "a deal is missing": (lambda f: f.games.pop(3), "deal number 4 is missing"),
    "the last deal is missing": (lambda f: f.games.pop(), "is missing, or one was added"),
    "a deal is there twice": (lambda f: f.games.insert(1, f.games[0]), "deal number 2 is missing"),
    "two deals are swapped": (lambda f: f.games.reverse(), "deal number 1 is missing"),
    "a game is missing": (lambda f: f.games[2]["records"].pop(), "in all rotations of the seats"),
    "games are swapped": (lambda f: f.games[2]["records"].reverse(), "in all rotations of the seats"),
    "a deal has another id": (lambda f: f.games[2]["deal"].update(id=1000), "don't follow from the seed"),
    "a deal has another board": (
        lambda f: first(f, board="2-family").update(board="3-family"),
        "in all rotations",
    ),
    "a deal has an unknown board": (
        lambda f: f.games[2]["deal"].update(board="5-expert"),
        "in the configuration",
    ),
    "a deal has other versions": (lambda f: f.games[2]["deal"]["versions"].reverse(), "in all rotations"),
    "a deal has no number": (lambda f: f.games[2]["deal"].update(finished=None), "malformed line"),
    "a deal doesn't count": (lambda f: first(f, act_id=None).update(kind="challenge"), "leaderboards: "),
    "a deal was voided": (
        lambda f: first(f, act_id=None).update(act_id=1),
        "acts: act 1 didn't void 1 deals",
    ),
    "a deal was not voided": (lambda f: first(f, act_id=1).update(act_id=None), "acts: act 1 didn't void 1"),
    "an act is left out": (lambda f: f.result["acts"].pop(), "acts: act 2 didn't void 0 deals"),
    "points change": (lambda f: f.games[1]["records"][0]["outcome"]["points"].__setitem__(0, 999), "outcome"),
    "an ending changes": (
        lambda f: counted(f)["records"][0]["endings"].__setitem__(0, "forfeit:resigned"),
        "resigned, which the incidents contradict",
    ),
    "an incident is invented for a move": (excuse_ben, ": the fallback plays "),
    "a rating changes": (
        lambda f: f.result["leaderboards"]["2-family"][0]["rating"].update(elo=2000.0),
        "leaderboards: ",
    ),
    "a board is left out": (lambda f: f.result["leaderboards"].pop("3-family"), "leaderboards: "),
    "a season ends earlier": (lambda f: move_to(f, 2), "leaderboards: "),
    "a season begins earlier": (
        lambda f: f.result["seasons"][1].update(first_deal=1),
        "follow from the seed",
    ),
    "a season is left out": (lambda f: f.result["seasons"].pop(0), "follow from the seed of the season"),
    "a bot gets a name": (lambda f: f.result["versions"][0].update(bot="zoe"), "in all rotations"),
    "a version is left out": (lambda f: f.result["versions"].pop(), "malformed"),
    "a season has an unknown key": (lambda f: f.result["seasons"][0].update(x=1), "malformed"),
    "a season has another start": (lambda f: f.result["seasons"][0].update(started_at="x"), "seasons"),
    "a version has an unknown key": (lambda f: f.result["versions"][0].update(x=1), "malformed"),
    "a version has a number for a name": (lambda f: f.result["versions"][0].update(bot=5), "malformed"),
    "a deal has an unknown key": (lambda f: f.games[2]["deal"].update(x=1), "malformed line"),
    "a deal has lists for versions": (lambda f: f.games[2]["deal"].update(versions=[[1], []]), "malformed"),
    "a deal has a list for an act": (lambda f: f.games[2]["deal"].update(act_id=[1]), "malformed line"),
    "a deal ended never": (lambda f: f.games[2]["deal"].update(finished_at=1e308), "malformed line"),
    "a record has an unknown key": (lambda f: f.games[2]["records"][0].update(x=1), "record: unknown key"),
    "an act has an unknown key": (lambda f: f.result["acts"][0].update(x=1), "a key is unknown"),
    "a seed changes": (lambda f: f.result["seasons"][0].update(seed=4), "seed, salt: their hash is not"),
}


@pytest.mark.parametrize(("forge", "line"), FORGERIES.values(), ids=FORGERIES)
def test_forgeries_with_new_hashes_are_found(
    published: Path, tmp_path: Path, forge: Callable[[Forger], object], line: str
) -> None:
    """What tournaments have too, such as changed acts, is tried there."""
    forger = Forger(Path(shutil.copytree(published, tmp_path / "season")), SEASON_FILE)
    assert line in forger.found(forge, verify_season)


def test_deal_that_is_still_played_keeps_its_cards(
    played: LadderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seed of a season would tell them, also where a later deal repeats them for a comparison."""
    with Store.existing(played.arena.url) as store:
        (first, *_) = Book(store).finished_deals(1)
        for number in (first.id, 1000):
            opened = {number: (replace(first, id=number), frozenset[int]())}
            monkeypatch.setattr(Book, "open_deals", lambda _, opened=opened: opened)
            with pytest.raises(ConfigError, match=f"SEASON: deal {number} of it is still played"):
                publish_season(store, 1, tmp_path / "early", processes=1)
