"""The picture of a finished game, which other sites show beside a link to it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from happycity import CARDS
from happycity.records.record import Json

SIZE = (1200, 630)
"""Width and height in pixels, as sites ask for."""
ART_FILE, ART_SIZE, ARTS_A_ROW = "card-art.webp", (120, 72), 10
"""The pictures of all cards, in rows; `python -m tools card-art` draws them."""

_STYLE = files("happycity_viewer").joinpath("static", "style.css").read_text(encoding="utf-8")
_COLOURS = dict(re.findall(r"--([\w-]+): (#\w+)", _STYLE.partition("@media")[0]))
"""Those of the pages in light mode, by their names."""
_EDGE, _GAP = 40, 16
_LINE = 62
"""Height of a place after the third."""
_LIFTS = (60, 30, 0)
"""By how much the first three stand higher than the third."""


def game_picture(game: Json) -> bytes:
    """Return a finished game of `game_json` as PNG: the podium, with all cities as they are at the end.

    Only the last position of the game is looked at. It takes some 30 ms.
    """
    image = Image.new("RGB", SIZE, _COLOURS["page"])
    draw = ImageDraw.Draw(image)
    seats = zip(game["bots"], game["end"]["results"], game["plies"][-1]["cities"], strict=True)
    stands = sorted(seats, key=lambda seat: int(seat[1]["rank"]))
    _write(draw, (_EDGE, 44), "Happy City arena", 30, anchor="lm")
    _write(draw, (SIZE[0] - _EDGE, 44), f"Match {game['match']}, {game['mode']}", 30, anchor="rm")
    columns = (1, 0, 2) if len(stands) > 2 else (0, 1)
    unit = (SIZE[0] - 2 * _EDGE - (len(columns) - 1) * _GAP) / (len(columns) + 0.3)
    left, bottom = _EDGE, SIZE[1] - 24 - _LINE * (len(stands) - len(columns))
    for number in columns:
        width = int(unit * 1.3 if number == 0 else unit)
        top = bottom - 152 - _LIFTS[number] - 2 * ((width - 32) * ART_SIZE[1] // ART_SIZE[0] // 5 + 5)
        box = (left, top, left + width, bottom)
        draw.rounded_rectangle(box, 16, _COLOURS["surface"], _COLOURS["rule"], 4)
        _draw_name(draw, stands[number], (left, top, width))
        points = str(stands[number][1]["points"])
        _write(draw, (left + width // 2, top + 104), points, 60 if number else 76)
        _paste_city(image, stands[number][2], (left + 16, top + 148, width - 32), columns=5)
        left += width + _GAP
        if number == 0:
            winners = ", ".join(bot for bot, result, _ in stands if result["place"] == 1)
            won = f"{winners} {'share the first place' if ', ' in winners else 'has won'}"
            _write(draw, (SIZE[0] // 2, (60 + top) // 2), won, 68, width=SIZE[0] - 2 * _EDGE)
    for row, stand in enumerate(stands[3:]):
        top = bottom + row * _LINE + 6
        _draw_name(draw, stand, (_EDGE, top, 330))
        _write(draw, (_EDGE + 420, top + 31), str(stand[1]["points"]), 40, anchor="rm")
        _paste_city(image, stand[2], (_EDGE + 444, top + 10, SIZE[0] - 2 * _EDGE - 444), columns=10)
    written = BytesIO()
    image.save(written, "PNG", compress_level=3)
    return written.getvalue()


def _draw_name(
    draw: ImageDraw.ImageDraw, stand: tuple[str, Json, list[str]], place: tuple[int, int, int]
) -> None:
    """Draw a bar with a place and a name: its left edge, its upper edge, and its width are `place`."""
    (left, top, width), is_first = place, stand[1]["place"] == 1
    edge, back = (_COLOURS[name] for name in (("coin-rim", "coin") if is_first else ("rule", "sunken")))
    draw.rounded_rectangle((left, top, left + width, top + 58), 16, back, edge, 4)
    draw.rounded_rectangle((left + 12, top + 10, left + 50, top + 48), 10, _COLOURS["surface"])
    _write(draw, (left + 31, top + 29), str(stand[1]["place"]), 28)
    _write(draw, (left + 64, top + 29), stand[0], 32, anchor="lm", width=width - 80)


def _paste_city(image: Image.Image, city: list[str], place: tuple[int, int, int], *, columns: int) -> None:
    """Paste the pictures of a city's cards; its left edge, its upper edge, and its width are `place`."""
    left, top, width = place
    size = (width // columns - 5, (width // columns - 5) * ART_SIZE[1] // ART_SIZE[0])
    for number, card_id in enumerate(city):
        row, column = divmod(number, columns)
        at = (left + column * (size[0] + 5), top + row * (size[1] + 5))
        image.paste(_arts()[card_id].resize(size, Image.Resampling.LANCZOS), at)


@cache
def _arts() -> dict[str, Image.Image]:
    """Return the pictures of cards by their ids."""
    (width, height), found = ART_SIZE, {}
    with Image.open(BytesIO(files("happycity_web").joinpath(ART_FILE).read_bytes())) as file:
        arts = file.convert("RGB")
        for number, card in enumerate(CARDS):
            left, top = number % ARTS_A_ROW * width, number // ARTS_A_ROW * height
            found[card.id] = arts.crop((left, top, left + width, top + height))
    return found


def _write(
    draw: ImageDraw.ImageDraw,
    at: tuple[int, int],
    text: str,
    size: int,
    *,
    anchor: str = "mm",
    width: int = 999,
) -> None:
    """Write a text, smaller than `size` pixels where it would be wider than `width`."""
    needed = _font(size).getlength(text)
    draw.text(at, text, _COLOURS["ink"], _font(int(size * min(1, width / needed))), anchor)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(BytesIO(files("happycity_web").joinpath("picture.woff2").read_bytes()), size)
