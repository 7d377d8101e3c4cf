"""What `tournament run` and `sprt` do first: check everything, and start the processes of the run.

This module imports little. The rest is imported when server and bots are started, which import meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from happycity_tournament.arena.launch import default_workers, launch
from happycity_tournament.arena.run_folder import OwnServer, RemoteServer, new_folder, own_store
from happycity_tournament.bots.lineup import Lineup
from happycity_tournament.cli.options import check_output
from happycity_tournament.cli.settings import PlaySettings
from happycity_tournament.config import TournamentConfig
from happycity_tournament.schedule import schedule_of

if TYPE_CHECKING:
    from happycity_tournament.running.snapshot import Snapshot


def start(config: TournamentConfig, lineup: Lineup, settings: PlaySettings) -> Snapshot:
    """Play a new tournament and return how it ended; what can be checked is checked before it is started."""
    lineup.check()
    schedule = schedule_of(config)
    check_output("--json", settings.json_file)
    folder = new_folder()
    if settings.server is not None:
        venue: OwnServer | RemoteServer = RemoteServer(address=settings.server, access=settings.access)
        launched = None
    else:
        workers = settings.workers
        if workers is None and settings.ray is None:
            workers = default_workers(lineup, schedule.total_games, config.concurrency)
        venue = OwnServer(store=settings.store or own_store(folder), workers=workers or 0, ray=settings.ray)
        launched = launch(venue, folder, lineup, web=settings.web)

    from happycity_tournament.cli.play import play  # noqa: PLC0415 - while the others import what they need

    return play(config, lineup, settings, folder=folder, venue=venue, launched=launched)
