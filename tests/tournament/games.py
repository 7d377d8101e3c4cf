"""Made-up finished games, for tests of what is done with games."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from happycity import Config, Ending, Mode, Scoring, SeatResult
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.schedule import schedule_of

BOTS = ("ann", "bob", "cem", "dee")
RECORD = '{"format":"happycity-record/1","moves":[' + ",".join(['{"seat":0,"move":"keep"}'] * 100) + "]}"


def finished(
    fixture: Fixture,
    *,
    points: Sequence[int] = (),
    places: Sequence[int] = (),
    endings: Sequence[Ending] = (),
    match_id: int = 1,
    tournament_id: int = 1,
    decisions: int = 30,
) -> FinishedGame:
    """Make a finished game of half a second.

    Args:
        fixture: the scheduled game.
        points: by seat; all 0 by default.
        places: by seat; by the points if absent.
        endings: by seat; all finished by default.
        match_id: its match id.
        tournament_id: the tournament that it belongs to.
        decisions: how many decisions it took.
    """
    seats = len(fixture.bots)
    points = points or (0,) * seats
    places = places or [1 + sum(other > own for other in points) for own in points]
    endings = endings or (Ending.FINISHED,) * seats
    return FinishedGame(
        match_id=match_id,
        tournament_id=tournament_id,
        position=fixture.position,
        deal_seed=fixture.deal_seed,
        config=Config(players=max(2, seats)),
        bots=fixture.bots,
        bot_seeds=fixture.bot_seeds,
        seats=tuple(
            SeatResult(points=own, coins=0, inhabitants=0, hearts=0, rank=place, place=place, ending=ending)
            for own, place, ending in zip(points, places, endings, strict=True)
        ),
        decisions=decisions,
        created_at=99.0 + match_id,
        started_at=99.5 + match_id,
        finished_at=100.0 + match_id,
    )


def with_endings(game: FinishedGame, *endings: Ending, reason: str = "") -> FinishedGame:
    """Return a game whose seats ended so, forfeited ones for a reason."""
    seats = [
        replace(seat, ending=ending, reason="" if ending is Ending.FINISHED else reason)
        for seat, ending in zip(game.seats, endings, strict=True)
    ]
    return replace(game, seats=tuple(seats))


def fixtures_of(config: TournamentConfig) -> list[Fixture]:
    """Return all games of a tournament whose schedule needs no results."""
    return [fixture for stage in schedule_of(config).stages() for fixture in stage]


def stored_games(tournament_id: int, first_id: int = 1, rounds: int = 2) -> list[FinishedGame]:
    """Make the games of a tournament of four bots, the same in every round: four rotations of one table."""
    config = TournamentConfig(bots=BOTS, game=Config(players=4), format=RandomRounds(rounds=rounds), seed=1)
    return [
        finished(
            fixture,
            points=(30, 20, 20, 5),
            places=(1, 2, 2, 4),
            endings=(Ending.FINISHED, Ending.FINISHED, Ending.FINISHED, Ending.TIMEOUT),
            match_id=number,
            tournament_id=tournament_id,
            decisions=77,
        )
        for number, fixture in enumerate(fixtures_of(config), first_id)
    ]


def single_game(match_id: int) -> FinishedGame:
    """Make a game of no tournament with the largest seed, a bot in two seats, and reasons of forfeits."""
    game = replace(
        stored_games(1)[0],
        match_id=match_id,
        tournament_id=None,
        position=None,
        deal_seed=2**64 - 1,
        config=Config(players=4, mode=Mode.EXPERT, scoring=Scoring.SUM),
        bots=("ann", "zoe", "ann", "x_y"),
    )
    game = with_endings(
        game, Ending.FINISHED, Ending.CRASHED, Ending.RESIGNED, Ending.FINISHED, reason="lost Ω"
    )
    seats = [
        replace(seat, coins=3, inhabitants=9, hearts=7, rank=1 + number)
        for number, seat in enumerate(game.seats)
    ]
    return replace(game, seats=tuple(seats))


def with_records(games: Iterable[FinishedGame]) -> list[tuple[FinishedGame, str | None]]:
    return [(game, RECORD) for game in games]
