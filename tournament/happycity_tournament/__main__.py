"""The command `tournament`, also as `python -m happycity_tournament`."""

from __future__ import annotations

import sys

from happycity.runtime.event_loop import open_standard_streams
from happycity_tournament.arena.spare_server import start_spare_server


def main() -> None:
    """Run the command; a server that it will need imports meanwhile."""
    open_standard_streams()  # else the pipes of the server would get their numbers
    start_spare_server(sys.argv[1:])
    from happycity_tournament.cli.app import main as command  # noqa: PLC0415 - the server is started first

    command()


if __name__ == "__main__":
    main()
