"""What `happycity show --browser` does: write a finished game as a page, and open it in a browser."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from pathlib import Path

import typer

from happycity.errors import ConfigError
from happycity_runtime.commands import remark
from happycity_runtime.files import replacing
from happycity_terminal.show import Selection, find_finished, seat_of
from happycity_tournament.cli.addresses import find_run, game_arguments
from happycity_tournament.client.run_folder import REPLAYS_FOLDER
from happycity_tournament.recorded_games import named_record
from happycity_viewer.plies import playback_json
from happycity_viewer.replay import replay_name, replay_page

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def write_game_page(
    source: str | None, game: str | None, selection: Selection, *, output: Path | None
) -> None:
    """Write the page of a finished game to a file; without one open it, or print its address."""
    found, record, playback = find_finished(source, game)
    first, decisions = selection.first, len(playback.steps) - 1
    if first is not None and first > decisions:
        raise ConfigError(f"--from: {first}: the game has {decisions} decisions")
    page = replay_page(
        playback_json(playback, tournament_id=found.tournament_id),
        named_record(found.bots, record),
        ply=None if first is None else first - 1,
        seat=1 + (seat_of(playback, selection.seat) or 0),
    )
    if output is not None:
        with replacing(output) as path:
            path.write_text(page, encoding="utf-8")
        remark(f"{output}: {len(page.encode()) / 1e6:.1f} MB")
        return
    folder = _folder(source, game)
    path = folder / replay_name(found.match_id)
    path.write_text(page, encoding="utf-8")
    address = path.resolve().as_uri()
    # Without a display, some browsers would take the terminal.
    has_display = sys.platform in ("win32", "darwin") or any(map(os.environ.get, _DISPLAYS))
    if not has_display or not webbrowser.open(address):
        typer.echo(address)
    else:
        remark(f"opened in the browser: {address}")


def _folder(source: str | None, game: str | None) -> Path:
    """Return where a page is written: next to its run, as some browsers can't read temporary folders."""
    run = find_run(game_arguments(source, game)[0])
    if run is None or not os.access(run.folder, os.W_OK):
        return Path(tempfile.mkdtemp(prefix="happycity-"))
    folder = run.folder / REPLAYS_FOLDER
    folder.mkdir(exist_ok=True)
    return folder
