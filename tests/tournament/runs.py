"""Runs with made-up games, as `tournament run` leaves them behind, below the present folder."""

from pathlib import Path

from tests.tournament.leagues import START, League

from happycity_tournament.client.run_folder import RUNS, OwnServer, Run, own_store
from happycity_tournament.config import TournamentState
from happycity_tournament.lineup import BotEntry, Lineup
from happycity_tournament.storage.store import Store

BOTS = ("bot-0", "bot-1", "bot-2", "bot-3")
LEAGUE = League(BOTS, rounds=3, timed=True)
"""A tournament of twelve games, that a server can continue."""


def make_run(
    name: str,
    *,
    state: TournamentState = TournamentState.FINISHED,
    games: int | None = None,
    created_at: float = START,
) -> Run:
    """Make a run whose bots connect by themselves.

    Args:
        name: the name of its folder.
        state: where its tournament stands.
        games: how many of its games are finished; None: all.
        created_at: what its file says of its creation.
    """
    folder = RUNS / name
    folder.mkdir(parents=True)
    with Store.create(own_store(folder)) as store:
        tournament_id = LEAGUE.add_to(store, state=state, games=games)
    run = Run(
        folder=folder,
        tournament_id=tournament_id,
        created_at=created_at,
        venue=OwnServer(store=own_store(folder)),
        lineup=Lineup(bots=tuple(BotEntry(name=name, join=True) for name in BOTS), directory=Path.cwd()),
    )
    run.save()
    return run
