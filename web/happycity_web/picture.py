"""The picture of a finished game, which other sites show beside a link to it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from happycity import CARDS_BY_ID
from happycity.records.record import Json
from happycity_web.render import colour_name

SIZE = (1200, 630)
"""Width and height in pixels, as sites ask for."""

_STYLE = files("happycity_viewer").joinpath("static", "style.css").read_text(encoding="utf-8")
_COLOURS = dict(re.findall(r"--([\w-]+): (#\w+)", _STYLE.partition("@media")[0]))
"""Those of the pages in light mode, by their names."""
_INK, _SOFT = _COLOURS["ink"], _COLOURS["soft"]
_TOP, _EDGE = 148, 48
_ROW = 92
"""Between two lines of the result."""
_CARD, _COLUMNS, _GAP = (164, 138), 4, 12
_NAME = 24
"""Letters of a bot's name; longer ones are cut."""
_CITY_LEFT = SIZE[0] - _EDGE - _COLUMNS * _CARD[0] - (_COLUMNS - 1) * _GAP


def game_picture(game: Json) -> bytes:
    """Return a finished game of `game_json` as PNG: the result, and the winner's city at the end.

    Only the last position of the game is looked at. It takes some 60 ms.
    """
    image = Image.new("RGB", SIZE, _COLOURS["page"])
    draw = ImageDraw.Draw(image)
    bots = [name if len(name) <= _NAME else f"{name[: _NAME - 3]}..." for name in game["bots"]]
    results = game["end"]["results"]
    order = sorted(range(len(results)), key=lambda seat: int(results[seat]["rank"]))
    draw.text((_EDGE, 56), "Happy City arena", _INK, _sized(46), "lm")
    draw.text((SIZE[0] - _EDGE, 56), f"Match {game['match']}, {game['mode']}", _SOFT, _sized(34), "rm")
    draw.text((_CITY_LEFT - 32, _TOP - 26), "points", _SOFT, _sized(24), "rm")
    draw.text((_CITY_LEFT, _TOP - 26), f"The city of {bots[order[0]]}", _SOFT, _sized(24), "lm")
    for row, seat in enumerate(order):
        middle, points = _TOP + 36 + row * _ROW, str(results[seat]["points"])
        box = (_EDGE, middle - 28, _EDGE + 56, middle + 28)
        draw.rounded_rectangle(box, 12, _COLOURS["coin" if results[seat]["place"] == 1 else "sunken"])
        draw.text((_EDGE + 28, middle), str(results[seat]["place"]), _INK, _sized(36), "mm")
        draw.text((_EDGE + 74, middle), bots[seat], _INK, _font(bots[seat], 36, 226), "lm")
        draw.text((_CITY_LEFT - 32, middle), points, _INK, _font(points, 44, 90), "rm")
    for number, card in enumerate(game["plies"][-1]["cities"][order[0]]):
        row, column = divmod(number, _COLUMNS)
        _draw_card(draw, card, _CITY_LEFT + column * (_CARD[0] + _GAP), _TOP + row * (_CARD[1] + _GAP))
    written = BytesIO()
    image.save(written, "PNG", compress_level=3)
    return written.getvalue()


def _draw_card(draw: ImageDraw.ImageDraw, card_id: str, left: int, top: int) -> None:
    """Draw a card: a band in its colour, and its name, one word in a line."""
    card, (width, height) = CARDS_BY_ID[card_id], _CARD
    box = (left, top, left + width, top + height)
    draw.rounded_rectangle(box, 12, _COLOURS["surface"], _SOFT)
    draw.rounded_rectangle((*box[:2], box[2], top + 34), 12, _COLOURS[colour_name(card)], _SOFT)
    words = card.name.partition(" (")[0].split()
    font = _font(max(words, key=len), 28, width - 20)
    middle = (left + width // 2, top + 34 + (height - 34) // 2)
    draw.multiline_text(middle, "\n".join(words), _INK, font, "mm", spacing=2, align="center")


def _font(text: str, size: int, width: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return a font of a size in pixels, or as much smaller as a text needs to be no wider than `width`."""
    needed = _sized(size).getlength(text)
    return _sized(size if needed <= width else int(size * width / needed))


@cache
def _sized(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
