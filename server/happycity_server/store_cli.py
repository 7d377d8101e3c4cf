"""The command `happycity backup`: copy a store into a file, and back."""

# ruff: noqa: PLC0415 - the help of a command must not wait for what only the command needs

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from happycity.text.plural import plural
from happycity_server.config import DEFAULT_STORE

if TYPE_CHECKING:
    from happycity_tournament.storage.backup import Copied


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The SQLite file of the backup.")],
    *,
    restore: Annotated[
        bool, typer.Option("--restore", help="Copy the backup, or any other SQLite store, back into a store.")
    ] = False,
    store: Annotated[
        str,
        typer.Option(
            "--store", help="Database URL of the store.", envvar="HAPPYCITY_SERVE_STORE", show_envvar=True
        ),
    ] = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was copied as JSON.")] = False,
) -> None:
    """Copy a server's store into a new file, or back.

    The server may run meanwhile. The copy is the store as it was at one moment, and is checked. It holds what
    servers keep secret, such as deals in play. The file of the tokens is not part of it. With --restore the
    store is a SQLite file which doesn't exist, or an empty PostgreSQL database; all of the backup is copied
    and checked, or nothing.
    """
    from happycity_tournament.storage import backup as copying

    with _progress() as progress:
        if restore:
            copied = copying.restore(file, store, progress=progress)
        else:
            copied = copying.back_up(store, file, progress=progress)
    _report(copied, file, file.stat().st_size, as_json=as_json)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how much is copied."""
    from rich.console import Console

    with Console(stderr=True).status("copying; Ctrl-C stops it") as status:
        yield lambda done, total: status.update(f"copied {done / max(1, total):.0%}; Ctrl-C stops it")


def _report(copied: Copied, file: Path, size: int, *, as_json: bool) -> None:
    games = copied.rows.get("games", 0)
    text = f"{file}: {plural(games, 'game')}, {size / 1e6:,.1f} MB, checked, in {copied.seconds:.1f} s"
    typer.echo(text, err=True)
    if as_json:
        content = {
            "file": str(file),
            "bytes": size,
            "schema_version": copied.schema_version,
            "rows": dict(copied.rows),
            "seconds": round(copied.seconds, 3),
        }
        typer.echo(json.dumps(content, indent=2))
