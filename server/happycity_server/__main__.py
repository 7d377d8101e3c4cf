"""`python -m happycity_server`: the command `happycity serve` with settings from the environment alone.

The runs of tournaments start their servers so, as the parser of a command line takes long to import.
"""

from __future__ import annotations

import os

from happycity.runtime.program import run_program
from happycity_server.config import load_settings
from happycity_server.start import start

if __name__ == "__main__":
    run_program(lambda: start(load_settings({}, os.environ)))
