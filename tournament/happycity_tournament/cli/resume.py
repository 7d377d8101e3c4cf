"""`tournament resume`: continue a tournament where it ended early."""

from __future__ import annotations

from pathlib import Path

from happycity import ConfigError
from happycity.runtime.commands import AsJson
from happycity_tournament.cli.addresses import find_run, find_tournament, location_at
from happycity_tournament.cli.options import Address
from happycity_tournament.cli.presenter import Presenter
from happycity_tournament.client.run_folder import OwnServer, RemoteServer, Run
from happycity_tournament.client.session import resume_run
from happycity_tournament.lineup import Lineup
from happycity_tournament.storage.store import Store


def resume(address: Address = None, *, as_json: AsJson = False) -> None:
    """Continue a tournament that was stopped or interrupted.

    Only the missing games are played. The folder of a run says which server and bots to start; on a running
    server the bots have to connect by themselves.
    """
    run = find_run(address)
    if run is not None:
        if isinstance(run.venue, OwnServer):
            Store.existing(run.venue.store).close()  # a server would make one that is missing
        presenter = Presenter(
            run.venue,
            location_at(address).address,
            as_json=as_json,
            folder=run.folder,
            starts_bots=bool(run.lineup.started),
        )
        presenter.play(lambda observer: resume_run(run, observer))
        return
    found = find_tournament(address)
    server = found.at
    if not isinstance(server, RemoteServer):
        raise ConfigError(f"{found.address}: name the folder of its run, which says what bots to start")
    others = Run(
        folder=Path(), tournament_id=found.tournament_id, created_at=0.0, venue=server, lineup=Lineup()
    )
    Presenter(server, found.address, as_json=as_json).play(lambda observer: resume_run(others, observer))
