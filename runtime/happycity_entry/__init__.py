"""The programs `happycity` and `tournament`, which Ctrl-C ends with status 130 from their first import on.

This module is outside the packages, as importing them takes the time in which Ctrl-C would print a traceback.
"""

import os

EXIT_STOPPED = 130
"""The exit status of a command that was stopped before its end, as shells have it for Ctrl-C."""

try:
    import gc
    import signal
    from importlib import import_module
except KeyboardInterrupt:
    os._exit(EXIT_STOPPED)


def happycity() -> None:
    """Run the command `happycity`."""
    _run("happycity_entry.cli")


def tournament() -> None:
    """Run the command `tournament`."""
    _run("happycity_tournament.cli.app")


def _run(module: str) -> None:
    """Import a module and run its function `main`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a background job ignores it
        # An exception in the middle of an import might be reported by what is imported, or be lost there.
        signal.signal(signal.SIGINT, _exit)
    gc.set_threshold(50_000, 20, 20)  # what is imported stays: to look through it costs a tenth of a start
    import_module(module).main()


def allow_cleaning_up() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, now that a command begins its work."""
    if signal.getsignal(signal.SIGINT) is _exit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _exit(*_: object) -> None:
    os._exit(EXIT_STOPPED)
