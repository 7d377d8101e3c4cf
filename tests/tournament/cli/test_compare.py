"""`tournament compare`: what a change of a bot gained, in words, in numbers and as JSON."""

from pathlib import Path

import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.games import BOTS, finished, fixtures_of, with_records
from tests.tournament.servers import arena

from happycity import Config
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.storage.store import Store


def store(
    name: str, *, rounds: int = 15, seed: int = 1, bots: tuple[str, ...] = BOTS, dee: int = 10, every: int = 1
) -> str:
    """Write a store in which the last bot has `dee` points in each game of every so many deals, else 10."""
    config = TournamentConfig(
        bots=bots, game=Config(players=4), format=RandomRounds(rounds=rounds), seed=seed
    )
    points = dict(zip(bots, (40, 30, 20, 10), strict=True))
    games = []
    for number, fixture in enumerate(fixtures_of(config), start=1):
        points[bots[-1]] = dee if fixture.round % every == 0 else 10
        games.append(finished(fixture, points=[points[bot] for bot in fixture.bots], match_id=number))
    with Store.create(f"sqlite:///{name}") as opened:
        opened.create_tournament(config.json(), games_total=len(games), created_at=0)
        opened.add_games(with_records(games))
    return name


def test_a_gain_is_said_in_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    before, after = store("before.sqlite"), store("after.sqlite", dee=25, rounds=16)
    status, output, _ = run("compare", before, after, "--bot", "dee")
    assert status == 0
    assert "dee scores 0.333 ±0.000 more in after.sqlite: it is better there\n" in output
    assert "+15.0 ±0.0" in output
    assert "60 pairs of games on 15 deals" in output
    assert "after.sqlite: 4 games without a counterpart left out" in output
    assert all(len(line) <= 80 for line in output.splitlines())


def test_all_bots_are_compared_by_default(run: Run) -> None:
    result = json_of(run, "compare", store("before.sqlite"), store("after.sqlite", dee=25))
    assert (result["pairs"], result["deals"], result["unpaired"]) == (60, 15, [0, 0])
    assert {bot["bot"]: bot["change"] for bot in result["bots"]} == {
        "ann": "same", "bob": "same", "cem": "worse", "dee": "better",
    }  # fmt: skip
    dee = result["bots"][-1]
    assert dee["points"] == {"value": 15, "margin": 0}
    assert dee["elo"] is None


def test_what_can_not_be_distinguished_is_said(run: Run) -> None:
    """Here one deal in eight went otherwise, which may be luck."""
    _, output, _ = run("compare", store("a.sqlite"), store("b.sqlite", dee=25, every=8), "--bot", "dee")
    assert "dee can't be distinguished from before: its score differs by +0.022 ±0.079" in output


def test_few_deals_are_said_to_be_too_few(run: Run) -> None:
    few = (store("a.sqlite", rounds=1), store("b.sqlite", rounds=1, dee=25))
    assert "dee can't be compared by 1 deal: an interval takes 10" in run("compare", *few, "--bot", "dee")[1]


def test_a_renamed_bot_is_compared_with_itself(run: Run) -> None:
    before, after = store("a.sqlite"), store("b.sqlite", dee=25, bots=("ann", "bob", "cem", "new"))
    (bot,) = json_of(run, "compare", before, after, "--bot", "dee=new")["bots"]
    assert (bot["bot"], bot["pairs"], bot["change"]) == ("new", 60, "better")


@pytest.mark.level(2)
def test_tournaments_of_a_server_are_compared_by_their_ids(run: Run, tmp_path: Path) -> None:
    config = TournamentConfig(
        bots=("ann", "bob"), game=Config(players=2), format=RandomRounds(rounds=4), seed=4
    )
    with arena(tmp_path, {"ann": "greedy", "bob": "random"}) as opened:
        opened.play(config)
        opened.play(config)
        result = json_of(run, "compare", *(f"grpc://{opened.address}#{number}" for number in (1, 2)))
    assert {bot["change"] for bot in result["bots"]} == {"same"}
