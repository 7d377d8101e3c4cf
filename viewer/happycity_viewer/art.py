"""Draws the cards' pictures: silhouettes of our own, none of the published game.

A picture is 100 wide and 60 high, and stands on the ground at 54. `pictures.toml` has them as lists of parts;
the colours come from the page by classes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from importlib.resources import files

from markupsafe import Markup

from happycity import Card, CardKind

_GROUND = 54.0
_FILE = tomllib.loads(files("happycity_viewer").joinpath("pictures.toml").read_text(encoding="utf-8"))
_SHARED: dict[str, str] = _FILE["shared"]
_OF_CARDS: dict[str, str] = _FILE["cards"]


def picture(card: Card) -> Markup:
    """Return a card's picture."""
    drawn = ['<path class="g" d="M0 54h100v6H0z"/>', *_drawn(_OF_CARDS.get(card.id) or _SHARED[_usual(card)])]
    return Markup("".join(drawn))  # noqa: S704 - all of it is ours


def _usual(card: Card) -> str:
    """Return the name of the picture of a card without one of its own."""
    if card.kind is CardKind.MARKET:
        return "market"
    assert card.colour is not None, f"{card} has no picture"
    return str(card.colour)


def _drawn(parts: str) -> Iterator[str]:
    """Yield the elements of a picture."""
    for part in parts.split(";"):
        word, *values = part.split()
        if word in _SHAPES:
            kind, *numbers = values
            yield from _SHAPES[word](kind, *map(float, numbers))
        elif word == "like":
            yield from _drawn(_SHARED[values[0]])
        elif word == "path":
            yield f'<path class="{values[0]}" d="{" ".join(values[1:])}"/>'
        else:
            yield from _THINGS[word](*map(float, values))


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Iterator[str]:
    yield f'<path class="{kind}" d="M{x:g} {y:g}h{width:g}v{height:g}h-{width:g}z"/>'


def _wall(kind: str, x: float, y: float, width: float) -> Iterator[str]:
    yield from _rect(kind, x, y, width, _GROUND - y)


def _roof(kind: str, x: float, y: float, width: float, height: float) -> Iterator[str]:
    half = width / 2 + 2
    yield f'<path class="{kind}" d="M{x - 2:g} {y:g}l{half:g} -{height:g}l{half:g} {height:g}z"/>'


def _dome(kind: str, x: float, y: float, width: float) -> Iterator[str]:
    radius = width / 2
    yield f'<path class="{kind}" d="M{x:g} {y:g}a{radius:g} {radius:g} 0 0 1 {width:g} 0z"/>'


def _disc(kind: str, x: float, y: float, radius: float) -> Iterator[str]:
    yield f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>'


def _windows(x: float, y: float, columns: float, rows: float, *spacing: float) -> Iterator[str]:
    dx, dy = (*spacing, *(8.0, 8.0)[len(spacing) :])
    for row in range(int(rows)):
        for column in range(int(columns)):
            yield from _rect("n", x + dx * column, y + dy * row, 4, 5)


def _door(x: float) -> Iterator[str]:
    yield f'<path class="m" d="M{x:g} {_GROUND:g}v-7a3.5 3.5 0 0 1 7 0v7z"/>'


def _tree(x: float, height: float) -> Iterator[str]:
    yield from _rect("t", x - 1, _GROUND - height / 2, 2, height / 2)
    yield from _disc("f", x, _GROUND - height * 0.65, height * 0.36)


def _fir(x: float, height: float) -> Iterator[str]:
    yield from _rect("t", x - 1, _GROUND - 4, 2, 4)
    yield from _roof("f", x - height / 4 + 2, _GROUND - 3, height / 2 - 4, height - 3)


def _awning(x: float, y: float, width: float) -> Iterator[str]:
    step = width / 6
    for index in range(6):
        kind = "h" if index % 2 == 0 else "w"
        left = x + index * step
        yield f'<path class="{kind}" d="M{left:g} {y:g}h{step:g}v5a{step / 2:g} 2.5 0 0 1 -{step:g} 0z"/>'


def _columns(x: float, y: float, width: float, count: float) -> Iterator[str]:
    for index in range(int(count)):
        yield from _wall("w", x + index * (width - 4) / (count - 1), y, 4)


def _heart(x: float, y: float, size: float) -> Iterator[str]:
    unit = size / 6
    yield (
        f'<path class="r" transform="translate({x:g} {y:g}) scale({unit:g})" '
        'd="M0 6c-5-3.200-6-5-6-7a3 3 0 0 1 6-1.500 3 3 0 0 1 6 1.500c0 2-1 3.800-6 7z"/>'
    )


def _flag(x: float, y: float) -> Iterator[str]:
    yield from _rect("k", x, y, 1, 10)
    yield f'<path class="r" d="M{x + 1:g} {y:g}h8l-2.500 2.500 2.500 2.500h-8z"/>'


_SHAPES: dict[str, Callable[..., Iterator[str]]] = {
    "rect": _rect,
    "wall": _wall,
    "roof": _roof,
    "dome": _dome,
    "disc": _disc,
}
_THINGS: dict[str, Callable[..., Iterator[str]]] = {
    "windows": _windows,
    "door": _door,
    "tree": _tree,
    "fir": _fir,
    "awning": _awning,
    "columns": _columns,
    "heart": _heart,
    "flag": _flag,
}
