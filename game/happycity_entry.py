"""The programs `happycity` and `tournament`, which Ctrl-C ends with status 130 from their first import on.

This module is outside the packages, as importing them takes the time in which Ctrl-C would print a traceback.
"""

import os
import signal
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

EXIT_STOPPED = 130


def happycity() -> NoReturn:
    """Run the command `happycity`."""
    _run("happycity.cli")


def tournament() -> NoReturn:
    """Run the command `tournament`."""
    _run("happycity_tournament.cli.app")


def _run(module: str) -> NoReturn:
    """Import a module and run its function `main`."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a background job ignores it
    if is_ours:
        # An exception in the middle of an import might be reported by what is imported, or be lost there.
        signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_STOPPED))
    main = import_module(module).main
    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(KeyboardInterrupt):  # while a command is imported
        main()
    raise SystemExit(EXIT_STOPPED)
