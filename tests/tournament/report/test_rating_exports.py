"""Results for other rating programs: PGN, and lists of ranks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.tournament.conftest import Run
from tests.tournament.games import finished, single_game
from tests.tournament.leagues import League

from happycity import Ending
from happycity_tournament.games import FinishedGame, Fixture, practice_seed
from happycity_tournament.report.rating_exports import export_results, pgn_games, ranking
from happycity_tournament.storage.sources import SourceError

BOTS = ("ann", "bob", "cem", "dée")
TAGS = ["Event", "Site", "Date", "Round", "White", "Black", "Result"]


def pgn_tags(text: str) -> list[dict[str, str]]:
    """Read the tags of PGN games without moves, by the standard: sections of tags and of moves alternate."""
    sections = text.removesuffix("\n\n").split("\n\n")
    games = []
    for tags, moves in zip(sections[::2], sections[1::2], strict=True):
        found = [re.fullmatch(r'\[(\w+) "((?:[^"\\]|\\["\\])*)"\]', line) for line in tags.split("\n")]
        assert all(found), tags
        game = {match[1]: re.sub(r"\\(.)", r"\1", match[2]) for match in found if match}
        assert list(game) == TAGS
        assert moves == game["Result"]
        games.append(game)
    return games


def game_of(bots: Sequence[str], places: Sequence[int]) -> str:
    fixture = Fixture(2, 0, 1, deal_seed=5, bots=tuple(bots), bot_seeds=(0,) * len(bots))
    return "".join(pgn_games(finished(fixture, places=places, match_id=7)))


@pytest.mark.parametrize(("places", "result"), [((1, 2), "1-0"), ((2, 1), "0-1"), ((1, 1), "1/2-1/2")])
def test_a_game_of_two_is_a_game_of_chess(places: tuple[int, int], result: str) -> None:
    """White has the first seat; round, table and rotation are its round, and its date is that of its end."""
    (tags,) = pgn_tags(game_of(("ann", "bob"), places))
    assert tags == {
        "Event": "Happy City, game 7", "Site": "?", "Date": "1970.01.01", "Round": "2.0.1",
        "White": "ann", "Black": "bob", "Result": result,
    }  # fmt: skip


def test_a_larger_table_is_a_game_for_each_pair() -> None:
    """A bot is no opponent of itself."""
    pairs = pgn_tags(game_of(("ann", "bob", "ann", "cem"), (2, 1, 4, 2)))
    assert [(tags["White"], tags["Black"], tags["Result"]) for tags in pairs] == [
        ("ann", "bob", "0-1"), ("ann", "cem", "1/2-1/2"), ("bob", "ann", "1-0"),
        ("bob", "cem", "1-0"), ("ann", "cem", "0-1"),
    ]  # fmt: skip


def test_hostile_names_stay_in_their_tags() -> None:
    """Quotes and backslashes are escaped as the standard says."""
    (tags,) = pgn_tags(game_of(('a"]\\', "[Result"), (1, 2)))
    assert (tags["White"], tags["Black"]) == ('a"]\\', "[Result")


def test_what_is_not_known_is_so_in_pgn() -> None:
    """A game of no tournament and without a time has no round and no date."""
    tags = pgn_tags("".join(pgn_games(replace(single_game(3), finished_at=None))))
    assert (tags[0]["Date"], tags[0]["Round"]) == ("????.??.??", "-")


def test_a_ranking_has_a_rank_for_each_seat() -> None:
    """Shared places are equal ranks."""
    fixture = Fixture(1, 0, 0, deal_seed=5, bots=("ann", "bob", "cem"), bot_seeds=(0, 0, 0))
    assert ranking(finished(fixture, places=(2, 1, 2), match_id=4)) == {
        "game": 4, "deal_seed": 5, "bots": ["ann", "bob", "cem"], "ranks": [2, 1, 2],
    }  # fmt: skip


def test_games_that_are_not_rated_are_left_out(tmp_path: Path) -> None:
    """These are practice, and games with a disqualified bot."""
    fixture = Fixture(1, 0, 0, deal_seed=5, bots=("ann", "bob"), bot_seeds=(0, 0))
    rated = finished(fixture, places=(1, 2))
    practice = replace(rated, deal_seed=practice_seed(1))
    unrated = finished(fixture, places=(1, 2), endings=(Ending.FINISHED, Ending.DISQUALIFIED))
    out = tmp_path / "games"
    exported = export_results([rated, practice, unrated], out, file_format="rankings")
    assert (exported.games, exported.left_out, exported.pairs) == (1, 2, 0)
    assert len(out.read_text().splitlines()) == 1


def test_a_file_that_can_not_be_finished_is_removed(tmp_path: Path) -> None:
    """A source that breaks off leaves no half of a file."""

    def breaking_off() -> Iterator[FinishedGame]:
        yield single_game(1)
        raise SourceError("games.jsonl", "it ends in the middle")

    out = tmp_path / "games"
    with pytest.raises(SourceError):
        export_results(breaking_off(), out, file_format="pgn")
    assert not out.exists()


def test_other_programs_order_the_bots_alike(tmp_path: Path, run: Run) -> None:
    """Earlier bots are rated higher, by choix from the rankings and by evalica from the pairs of the PGN."""
    import choix  # noqa: PLC0415 - its import takes seconds
    import evalica  # noqa: PLC0415 - its import takes seconds

    url = League(BOTS, rounds=60, with_records=False).store(tmp_path / "games.sqlite")
    rankings, pgn = tmp_path / "rankings.jsonl", tmp_path / "games.pgn"
    status, output, errors = run("export", url, "--format", "rankings", "--out", rankings)
    assert (status, output, errors) == (0, "", f"{rankings}: 240 games\n")
    games = [json.loads(line) for line in rankings.read_text().splitlines()]
    orders = [tuple(BOTS.index(game["bots"][seat]) for seat in np.argsort(game["ranks"])) for game in games]
    by_ranks = choix.ilsr_rankings(len(BOTS), orders, alpha=0.01)
    assert by_ranks[0] > by_ranks[2] > by_ranks[3]
    status, output, errors = run("export", url, "--format", "pgn", "--out", pgn)
    assert (status, output) == (0, "")
    assert "became 1,440 games of pairs; a program that takes these as independent" in errors
    pairs = pgn_tags(pgn.read_text())
    winners = {"1-0": evalica.Winner.X, "0-1": evalica.Winner.Y, "1/2-1/2": evalica.Winner.Draw}
    rated = evalica.bradley_terry(
        [pair["White"] for pair in pairs],
        [pair["Black"] for pair in pairs],
        [winners[pair["Result"]] for pair in pairs],
    ).scores
    assert rated["ann"] > rated["cem"] > rated["dée"]


def test_single_games_are_not_exported_for_other_programs(tmp_path: Path, run: Run) -> None:
    """One result rates nobody."""
    url = League(BOTS, rounds=1, with_records=False).store(tmp_path / "games.sqlite")
    status, _, errors = run("export", url, "--format", "pgn", "--out", tmp_path / "x", "--game", "1")
    assert status == 2
    assert errors == "error: --game has no effect with --format pgn, which has the results of all games\n"
