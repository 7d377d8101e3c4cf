"""The picture of a finished game, which other sites show beside a link to it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from happycity import CARDS
from happycity.records.record import Json

SIZE = (1200, 630)
"""Width and height in pixels, as sites ask for."""
ART_FILE, ART_SIZE, ARTS_A_ROW = "card-art.webp", (120, 72), 10
"""The pictures of all cards, in rows; `python -m tools card-art` draws them."""

_PACKAGE: Final = files("happycity_web")
_STYLE = files("happycity_viewer").joinpath("static", "style.css").read_text(encoding="utf-8")
_COLOURS = dict(re.findall(r"--([\w-]+): (#\w+)", _STYLE.partition("@media")[0]))
"""Those of the pages in light mode, by their names."""
_INK, _SOFT = _COLOURS["ink"], _COLOURS["soft"]
_FACES = ("latin", "europe", "cyrillic")
_RUNS = re.compile(r"([ !#&-)+-:?A-Z_a-z]+)|([À-ÖØ-\u017f«»]+)|([\u0400-\u04ff]+)|.")
"""Parts of a text that one of the faces has, or none of them."""
_EDGE, _GAP = 40, 16
_LINE = 62
"""Height of a place after the third."""
_LIFTS = (60, 30, 0)
"""By how much the first three stand higher than the third."""


def game_picture(game: Json) -> bytes:
    """Return a finished game of `game_json` as PNG: the podium, with all cities as they are at the end.

    Only the last position of the game is looked at. It takes some 60 ms.
    """
    image = Image.new("RGB", SIZE, _COLOURS["page"])
    draw = ImageDraw.Draw(image)
    results, cities = game["end"]["results"], game["plies"][-1]["cities"]
    order = sorted(range(len(results)), key=lambda seat: int(results[seat]["rank"]))
    stands = [(game["bots"][seat], results[seat], cities[seat]) for seat in order]
    winners = ", ".join(bot for bot, result, _ in stands if result["place"] == 1)
    won = f"{winners} {'share the first place' if ', ' in winners else 'has won'}"
    _write(draw, "Happy City arena", (_EDGE, 44), "l", size=30, colour=_SOFT)
    _write(draw, f"Match {game['match']}, {game['mode']}", (SIZE[0] - _EDGE, 44), "r", size=30, colour=_SOFT)
    columns = (1, 0, 2) if len(order) > 2 else (0, 1)
    unit = (SIZE[0] - 2 * _EDGE - (len(columns) - 1) * _GAP) / (len(columns) + 0.3)
    left, bottom = _EDGE, SIZE[1] - 24 - _LINE * (len(order) - len(columns))
    middle = (60 + bottom - _height(int(unit * 1.3), 0)) // 2
    _write(draw, won, (SIZE[0] // 2, middle), "m", size=68, width=SIZE[0] - 2 * _EDGE)
    for number in columns:
        width = int(unit * 1.3 if number == 0 else unit)
        _draw_stand(image, stands[number], (left, bottom - _height(width, number), width), bottom)
        left += width + _GAP
    for row, (bot, result, city) in enumerate(stands[3:]):
        middle = bottom + row * _LINE + _LINE // 2 + 4
        _draw_name(draw, bot, result, (_EDGE, middle, 330))
        _write(draw, str(result["points"]), (_EDGE + 420, middle), "r", size=40, width=90)
        _paste_city(image, city, (_EDGE + 444, middle - 21, SIZE[0] - 2 * _EDGE - 444), columns=10)
    written = BytesIO()
    image.save(written, "PNG", compress_level=3)
    return written.getvalue()


def _height(width: int, number: int) -> int:
    """Return the height of one of the podium, 0 for the highest."""
    return 152 + _LIFTS[number] + 2 * ((width - 32) * ART_SIZE[1] // ART_SIZE[0] // 5 + 5)


def _draw_stand(
    image: Image.Image, stand: tuple[str, Json, list[str]], place: tuple[int, int, int], bottom: int
) -> None:
    """Draw one of the podium: its left edge, its upper edge, and its width are `place`."""
    draw, (bot, result, city), (left, top, width) = ImageDraw.Draw(image), stand, place
    is_first, inner = result["place"] == 1, width - 32
    edge, head = (_COLOURS[name] for name in (("coin-rim", "coin") if is_first else ("rule", "sunken")))
    draw.rounded_rectangle((left, top, left + width, bottom), 16, _COLOURS["surface"], edge, 4)
    draw.rounded_rectangle((left, top, left + width, top + 62), 16, head, edge, 4)
    _draw_name(draw, bot, result, (left + 16, top + 31, inner))
    _write(draw, str(result["points"]), (left + width // 2, top + 104), "m", size=76 if is_first else 60)
    _paste_city(image, city, (left + 16, top + 148, inner), columns=5)


def _draw_name(draw: ImageDraw.ImageDraw, bot: str, result: Json, place: tuple[int, int, int]) -> None:
    """Draw the place and the name of a seat: its left edge, its middle, and its width are `place`."""
    left, middle, width = place
    draw.rounded_rectangle((left, middle - 21, left + 42, middle + 21), 10, _COLOURS["surface"])
    _write(draw, str(result["place"]), (left + 21, middle), "m", size=30)
    _write(draw, bot, (left + 56, middle), "l", size=32, width=width - 56)


def _paste_city(image: Image.Image, city: list[str], place: tuple[int, int, int], *, columns: int) -> None:
    """Paste the pictures of a city's cards; its left edge, its upper edge, and its width are `place`."""
    left, top, width = place
    size = (width // columns - 5, (width // columns - 5) * ART_SIZE[1] // ART_SIZE[0])
    for number, card_id in enumerate(city):
        row, column = divmod(number, columns)
        at = (left + column * (size[0] + 5), top + row * (size[1] + 5))
        image.paste(_art(card_id).resize(size, Image.Resampling.LANCZOS), at)


@cache
def _art(card_id: str) -> Image.Image:
    """Return the picture of a card."""
    row, column = divmod(next(number for number, card in enumerate(CARDS) if card.id == card_id), ARTS_A_ROW)
    left, top = column * ART_SIZE[0], row * ART_SIZE[1]
    with Image.open(BytesIO(_PACKAGE.joinpath(ART_FILE).read_bytes())) as arts:
        return arts.convert("RGB").crop((left, top, left + ART_SIZE[0], top + ART_SIZE[1]))


def _write(
    draw: ImageDraw.ImageDraw,
    text: str,
    place: tuple[int, int],
    anchor: str,
    *,
    size: int,
    width: int = SIZE[0],
    colour: str = _INK,
) -> None:
    """Write a text, smaller than `size` pixels where it would be too wide; `anchor` is l, m or r."""
    runs = [(run[0], run.lastindex) for run in _RUNS.finditer(text)]
    needed = sum(_font(size, face).getlength(part) for part, face in runs)
    size = int(size * min(1, width / needed))
    lengths = [_font(size, face).getlength(part) for part, face in runs]
    left = place[0] - sum(lengths) * {"l": 0, "m": 0.5, "r": 1}[anchor]
    for (part, face), length in zip(runs, lengths, strict=True):
        # By the line on which letters stand, as faces differ in their middles.
        draw.text((left, place[1] + round(size * 0.36)), part, colour, _font(size, face), "ls")
        left += length


@cache
def _font(size: int, face: int | None) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    if face is None:
        return ImageFont.load_default(size)
    file = _PACKAGE.joinpath("static", "fonts", f"nunito-black-{_FACES[face - 1]}.woff2")
    return ImageFont.truetype(BytesIO(file.read_bytes()), size)
