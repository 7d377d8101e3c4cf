"""`python -m happycity_bots [NAME=]BOT...`: the command `happycity bot --server -` without other options.

The runs of tournaments start their bots so, as the parser of a command line takes long to import.
"""

from __future__ import annotations

import sys

from happycity.runtime.program import run_program
from happycity_bots.playing import play_bots

if __name__ == "__main__":
    run_program(lambda: play_bots(sys.argv[1:], server="-"))
