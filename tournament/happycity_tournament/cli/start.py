"""What `tournament run` and `sprt` do first: check everything, and start the processes of the run.

This module imports little. The rest is imported when server and bots are started, which import meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from happycity_tournament.arena.launch import Nodes, default_workers, launch
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
    if settings.ray is not None:
        from happycity_tournament.bots.cluster import check_ray  # noqa: PLC0415 - few runs have one

        check_ray()
    folder = new_folder()
    if settings.server is not None:
        venue: OwnServer | RemoteServer = RemoteServer(address=settings.server, access=settings.access)
        launched = None
    else:
        store = settings.store or own_store(folder)
        nodes, workers = None, settings.workers
        if settings.ray is not None:
            nodes = Nodes(
                address=settings.ray,
                workers=workers or 0,
                most_workers=max(1, schedule.total_games // config.concurrency),
                lineup=lineup,
            )
        elif workers is None:
            workers = default_workers(lineup, schedule.total_games, config.concurrency)
        venue = OwnServer(store=store, workers=workers or 0, ray=settings.ray)
        launched = launch(
            store,
            folder,
            lineup,
            web=settings.web,
            workers=0 if nodes is not None else venue.workers,
            nodes=nodes,
        )

    from happycity_tournament.cli.play import play  # noqa: PLC0415 - while the others import what they need

    return play(config, lineup, settings, folder=folder, venue=venue, launched=launched)
