"""Draws the cards' pictures from parts: silhouettes of our own, none of the published game.

A picture is 100 wide and 60 high, and stands on the ground at 54. Its colours come from the page by classes:
`w` wall, `k` dark, `h` the card's colour, `m` the same darker, `n` window, `g` ground, `f` leaves, `t` trunk,
`r` heart red, `y` gold, and the lines `l`, `lh` and `lw`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from markupsafe import Markup

from happycity import Card, CardKind, Colour

_GROUND = 54


def picture(card: Card) -> Markup:
    """Return a card's picture, the same each time."""
    draw = _OWN.get(card.id) or _BY_COLOUR.get(card.colour) or _landmark
    if card.kind is CardKind.MARKET:
        draw = _market
    return Markup("").join([_ground(), *map(Markup, draw(Random(card.number)))])


def _ground() -> Markup:
    return Markup('<path class="g" d="M0 54h100v6H0z"/>')


def _box(x: float, y: float, width: float, kind: str = "w") -> str:
    """Draw a wall from y down to the ground."""
    return f'<path class="{kind}" d="M{x:g} {y:g}h{width:g}V{_GROUND}H{x:g}z"/>'


def _rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{x:g} {y:g}h{width:g}v{height:g}h-{width:g}z"/>'


def _poly(kind: str, *points: tuple[float, float]) -> str:
    return f'<path class="{kind}" d="M{"L".join(f"{x:g} {y:g}" for x, y in points)}z"/>'


def _disc(x: float, y: float, radius: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>'


def _path(kind: str, path: str) -> str:
    return f'<path class="{kind}" d="{path}"/>'


def _roof(x: float, y: float, width: float, height: float, kind: str = "h") -> str:
    return _poly(kind, (x - 2, y), (x + width / 2, y - height), (x + width + 2, y))


def _windows(x: float, y: float, columns: int, rows: int, *, dx: float = 7, dy: float = 8) -> Iterator[str]:
    for row in range(rows):
        for column in range(columns):
            yield _rect(x + dx * column, y + dy * row, 4, 5, "n")


def _door(x: float) -> str:
    return _path("m", f"M{x:g} {_GROUND}v-7a3.5 3.5 0 0 1 7 0v7z")


def _tree(x: float, height: float = 14) -> Iterator[str]:
    yield _rect(x - 1, _GROUND - height / 2, 2, height / 2, "t")
    yield _disc(x, _GROUND - height * 0.65, height * 0.36, "f")


def _awning(x: float, y: float, width: float) -> Iterator[str]:
    stripes = 6
    step = width / stripes
    for index in range(stripes):
        kind = "h" if index % 2 == 0 else "w"
        left = x + index * step
        yield _path(kind, f"M{left:g} {y:g}h{step:g}v5a{step / 2:g} 2.5 0 0 1 -{step:g} 0z")


def _columns(x: float, y: float, width: float, count: int) -> Iterator[str]:
    step = (width - 4) / (count - 1)
    for index in range(count):
        yield _box(x + index * step, y, 4)


def _shop(random: Random) -> Iterator[str]:
    width, left = random.randint(40, 50), random.randint(22, 30)
    yield _box(left, 22, width)
    yield _rect(left - 1, 19, width + 2, 4, "m")
    yield from _windows(left + 5, 10 + 16, 5, 1, dx=(width - 12) / 4)
    yield from _awning(left - 2, 34, width + 4)
    yield _rect(left + 4, 43, width - 20, 8, "n")
    yield _door(left + width - 12)
    yield from _tree(left - 10 if random.random() < 0.5 else left + width + 10)


def _public(random: Random) -> Iterator[str]:
    width = random.choice((44, 52, 60))
    left = 50 - width / 2
    yield _rect(left, 30, width, 24, "n")
    yield from _columns(left + 1, 30, width - 2, random.choice((4, 5, 6)))
    yield _rect(left - 3, 28, width + 6, 3, "w")
    yield _poly("h", (left - 4, 28), (50, 12), (left + width + 4, 28))
    yield _disc(50, 22, 3, "w")
    yield _rect(left - 4, 51, width + 8, 3, "w")


def _house(random: Random) -> Iterator[str]:
    width = random.randint(28, 36)
    left = 50 - width / 2
    yield from _tree(left - 9, 18)
    yield from _tree(left + width + 10, 13)
    yield _rect(left + width - 9, 15, 4, 12, "m")
    yield _box(left, 30, width)
    yield _roof(left, 30, width, 15)
    yield from _windows(left + 4, 35, 1, 1)
    yield from _windows(left + width - 8, 35, 1, 1)
    yield _door(46.5)


def _attraction(random: Random) -> Iterator[str]:
    centre = random.choice((36, 50))
    yield _path("l", f"M{centre} 30L{centre - 11} 54M{centre} 30L{centre + 11} 54")
    yield f'<circle class="lh" cx="{centre}" cy="28" r="19"/>'
    for dx, dy in (
        (0, -19),
        (13.4, -13.4),
        (19, 0),
        (13.4, 13.4),
        (0, 19),
        (-13.4, 13.4),
        (-19, 0),
        (-13.4, -13.4),
    ):
        yield _path("l", f"M{centre} 28l{dx} {dy}")
        yield _disc(centre + dx, 28 + dy, 3, random.choice("hyrw"))
    yield _poly("h", (68, 40), (80, 28), (92, 40))
    yield _box(70, 40, 20)
    yield _path("h", "M74 40h4v14h-4zM82 40h4v14h-4z")


def _factory(random: Random) -> Iterator[str]:
    for index in range(random.choice((1, 2))):
        x = 24 + 9 * index
        yield _rect(x, 14, 5, 40, "m")
        yield _disc(x + 6, 10, 4, "w")
        yield _disc(x + 13, 7, 5, "w")
    yield _path("h", "M40 54V32l14-8v8l14-8v8l14-8v30z")
    yield _rect(20, 38, 22, 16, "w")
    yield from _windows(46, 38, 5, 1)
    yield _rect(24, 42, 14, 5, "n")


def _market(_: Random) -> Iterator[str]:
    yield _box(26, 30, 48)
    yield _rect(30, 40, 40, 7, "t")
    yield from (_disc(34 + 6 * index, 39, 3, "ryfh"[index % 4]) for index in range(7))
    yield from _awning(22, 20, 56)
    yield _path("r", "M50 15c-5-3.200-6-5-6-7a3 3 0 0 1 6-1.500 3 3 0 0 1 6 1.500c0 2-1 3.800-6 7z")


def _landmark(random: Random) -> Iterator[str]:
    """Draw a special building: towers around a gate, each with another skyline."""
    heights = [random.randint(14, 34) for _ in range(3)]
    for index, (x, height) in enumerate(zip((22, 42, 62), heights, strict=True)):
        top = _GROUND - height
        yield _box(x, top, 16)
        match random.randrange(3):
            case 0:
                yield _roof(x, top, 16, 10, "h")
            case 1:
                yield _path("h", f"M{x} {top}a8 8 0 0 1 16 0z")
            case _:
                yield _path("h", f"M{x - 1} {top}v-4h4v2h4v-2h4v2h4v-2h2v4z")
        yield from _windows(x + 3, top + 4, 2, max(1, (height - 14) // 8), dx=6)
        if index == 1:
            yield _door(x + 4.5)
    yield _path(
        "y", "m50 3 1.500 3 3.500.500-2.500 2.500.500 3.500-3-1.500-3 1.500.500-3.500-2.500-2.500 3.500-.500z"
    )


_BY_COLOUR: dict[Colour | None, Callable[[Random], Iterator[str]]] = {
    Colour.YELLOW: _shop,
    Colour.BLUE: _public,
    Colour.GREEN: _house,
    Colour.ORANGE: _attraction,
    Colour.PURPLE: _factory,
}
_OWN: dict[str, Callable[[Random], Iterator[str]]] = {}
"""Pictures that only one card has."""
