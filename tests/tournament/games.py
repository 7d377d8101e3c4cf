"""Made-up games, for tests of where they are kept."""

from dataclasses import replace

from happycity_tournament.results import GameResult
from happycity_tournament.schedule import fixtures
from happycity_tournament.store import StoredGame

RECORD = '{"format":"happycity-record/1","moves":[' + ",".join(['{"seat":0,"move":"keep"}'] * 100) + "]}"


def results(rounds: int = 2) -> list[GameResult]:
    return [
        GameResult(
            fixture=fixture,
            points=(30, 20, 20, 5),
            coins=(1, 2, 2, 0),
            places=(1, 2, 2, 4),
            endings=("finished", "finished", "finished", "forfeit:timeout"),
            decisions=77,
            seconds=0.25,
        )
        for fixture in fixtures(bots=("ann", "bob", "cem", "dée"), seats=4, rounds=rounds, seed=1)
    ]


def stored(tournament_id: int, first_id: int = 1, rounds: int = 2) -> list[StoredGame]:
    return [
        StoredGame.of(
            result, id=number, tournament_id=tournament_id, finished_at=100.0 + number, record=RECORD
        )
        for number, result in enumerate(results(rounds), first_id)
    ]


def single(game_id: int) -> StoredGame:
    """Make a game of no tournament, with the largest seed that a deal can have."""
    game = stored(1)[0]
    return replace(
        game,
        id=game_id,
        tournament_id=None,
        round=None,
        table=None,
        rotation=None,
        deal_seed=2**64 - 1,
    )


def without_record(game: StoredGame) -> StoredGame:
    return replace(game, record=None)
