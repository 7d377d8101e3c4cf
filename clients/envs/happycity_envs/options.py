"""Options of the environments, which arrive as text, and the board that they render."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from happycity import Config, Game, Mode, Scoring
from happycity.errors import FieldError, suggestion
from happycity.text.board import board_text

_E = TypeVar("_E", bound=Enum)


def enum_member(kind: type[_E], option: str, text: str) -> _E:
    """Return the member of an enum with the value `text`.

    Raises:
        ConfigError: there is none.
    """
    values = {str(member.value): member for member in kind}
    if text not in values:
        raise FieldError(option, f"there is no {text[:80]!r}; {suggestion(text[:80], values)}")
    return values[text]


def game_config(players: int, mode: str, scoring: str) -> Config:
    """Return the kind of game.

    Raises:
        ConfigError: there is no such kind.
    """
    return Config(
        players=players,
        mode=enum_member(Mode, "mode", mode),
        scoring=enum_member(Scoring, "scoring", scoring),
    )


def check_render_mode(render_mode: str | None, known: list[str]) -> str | None:
    """Return a render mode if there is one like it.

    Raises:
        ConfigError: there is none.
    """
    if render_mode is not None and render_mode not in known:
        raise FieldError("render_mode", f"there is no {render_mode!r}; {suggestion(render_mode, known)}")
    return render_mode


def render(game: Game, render_mode: str | None) -> str | None:
    """Return the board of a game as text, or print it if the mode is "human"."""
    board = board_text(game)
    if render_mode == "human":
        print(board)  # noqa: T201 - what this mode is for
        return None
    return board
