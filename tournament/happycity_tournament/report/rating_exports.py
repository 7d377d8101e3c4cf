"""Results of games in the formats that other rating programs read: PGN and lists of ranks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

from happycity_tournament.games import WIN, FinishedGame, half_points

_RESULTS = {WIN: "1-0", 1: "1/2-1/2", 0: "0-1"}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})


@dataclass(slots=True)
class ResultsExport:
    """What an export of results wrote."""

    games: int = 0
    pairs: int = 0
    """Pairs of bots of games at tables of more than two; 0 in lists of ranks, which need no pairs."""
    left_out: int = 0
    """Games that are not rated: practice, and those with a disqualified bot."""


def export_results(games: Iterable[FinishedGame], out: Path, *, file_format: str) -> ResultsExport:
    """Write the results of rated games into a file; the formats are `pgn` and `rankings`."""
    exported = ResultsExport()
    try:
        with out.open("w", encoding="utf-8") as file:
            for game in games:
                if game.practice or game.unrated:
                    exported.left_out += 1
                    continue
                exported.games += 1
                if file_format == "rankings":
                    file.write(json.dumps(ranking(game), ensure_ascii=False) + "\n")
                    continue
                texts = list(pgn_games(game))
                exported.pairs += len(texts) if len(game.bots) > 2 else 0
                file.writelines(texts)
    except BaseException:
        out.unlink(missing_ok=True)
        raise
    return exported


def ranking(game: FinishedGame) -> dict[str, object]:
    """Return a game as lists by seat: the bots, and their ranks, 1 for the best, equal for a shared place."""
    return {
        "game": game.match_id,
        "deal_seed": game.deal_seed,
        "bots": list(game.bots),
        "ranks": list(game.places),
    }


def pgn_games(game: FinishedGame) -> Iterator[str]:
    """Yield a game as PGN without moves, at tables of more than two a game for each pair of different bots.

    White has the earlier seat. The tags are the seven that every program expects, in their order (PGN
    standard, 8.1.1).
    """
    time = game.finished_at
    date = "????.??.??" if time is None else datetime.fromtimestamp(time, UTC).strftime("%Y.%m.%d")
    number = "-" if game.position is None else ".".join(map(str, game.position))
    for first, second in combinations(range(len(game.bots)), 2):
        if game.bots[first] == game.bots[second]:
            continue
        result = _RESULTS[half_points(game.places[first], game.places[second])]
        tags = {
            "Event": f"Happy City, game {game.match_id}",
            "Site": "?",
            "Date": date,
            "Round": number,
            "White": game.bots[first],
            "Black": game.bots[second],
            "Result": result,
        }
        lines = (f'[{name} "{value.translate(_ESCAPES)}"]\n' for name, value in tags.items())
        yield "".join(lines) + f"\n{result}\n\n"
