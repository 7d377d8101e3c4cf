"""A finished game as one HTML file, which needs no network and no other file.

Names of bots are text from strangers: the templates escape them, and the file forbids itself everything but
its own script and style, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from happycity.records.record import Json
from happycity_viewer.languages import Language
from happycity_viewer.languages import language as language_of
from happycity_viewer.templates import environment, game_values

_STATIC = files("happycity_viewer").joinpath("static")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_FONT = re.compile(r"@font-face \{[^}]*\}\n")  # a file of its own
_EXPORT = re.compile(r"^export (?=const |function |async function )", re.MULTILINE)


def replay_name(match_id: int) -> str:
    """Return the name of a game's file."""
    return f"game-{match_id:07}.html"


def replay_page(
    game: Json,
    record: str,
    *,
    ply: int | None = None,
    seat: int = 1,
    language: Language | None = None,
) -> str:
    """Return a file that shows a game, by `playback_json`, and holds its record, a line of JSON.

    It begins after `ply` decisions, by default at the end, with `seat`, from 1, first. `language` is that of
    `game`'s words, by default English.
    """
    position = len(game["plies"]) - 1 if ply is None else ply
    values = game_values(game, ply=position, seat=seat, record_link=_data_url(record))
    script, style = _script(), _FONT.sub("", _static("style.css") + _static("viewer.css"))
    values |= {
        "policy": "; ".join(
            (
                "default-src 'none'",
                f"script-src {_hash(script)}",
                f"style-src {_hash(style)}",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
        "script": Markup(script),  # noqa: S704 - it is ours
        "style": Markup(style),  # noqa: S704 - it is ours
        "logo": _data_url(_static("icon.svg"), "image/svg+xml"),
    }
    return _environment(language or language_of("en")).get_template("replay.html").render(values)


_environment = cache(environment)


@cache
def _static(name: str) -> str:
    return _STATIC.joinpath(name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Return the viewer's modules as one, as modules of a file can't import each other."""
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        source = _static(name)
        for imported in _IMPORT.findall(source):
            if imported not in parts:
                add(imported)
        parts[name] = _EXPORT.sub("", _IMPORT.sub("", source))

    add("viewer.js")
    return "\n".join(parts.values())


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline element with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data_url(text: str, kind: str = "application/json") -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"
