"""`python -m happycity_bots [NAME=]BOT...`: the command `happycity bot --server -` without other options.

The runs of tournaments start their bots so, as the parser of a command line takes long to import.
"""

from __future__ import annotations

import sys

from happycity_runtime.program import run_program


def _play() -> None:
    from happycity_bots.playing import play_bots  # noqa: PLC0415 - the program collects garbage rarely by now

    play_bots(sys.argv[1:], server="-")


if __name__ == "__main__":
    run_program(_play)
