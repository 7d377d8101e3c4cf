"""A position as lines of text: the table, the cities, and the legal moves with what they bring.

A line is a tuple of segments, each a text and the name of a style, for terminals, pages and plain files.
Nothing is said by colour alone: each card's colour has its letter, and marks stand next to styles.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import wcwidth

from happycity.rules.cards import BUILDINGS, DWELLINGS, Card, CardKind, Colour, Mode
from happycity.rules.cities import Cities
from happycity.rules.deals import DECKS, Scoring
from happycity.rules.effects import effect_of
from happycity.rules.game import Game
from happycity.rules.moves import Move, MoveKind
from happycity.rules.scoring import Outcome, points_of, score, totals
from happycity.rules.views import Phase, View
from happycity.text.words import (
    COINS,
    HEARTS,
    INHABITANTS,
    PHASES,
    card_name,
    card_values,
    move_in_words,
    seat_name,
)

WIDTH = 80
"""Columns of a terminal unless it says otherwise; the board needs as many."""


class Style(StrEnum):
    """What a segment is; who shows it decides how that looks."""

    PLAIN = ""
    TITLE = "title"
    DIM = "dim"
    TURN = "turn"
    """The seat that has to decide."""
    CHOSEN = "chosen"
    """The move that was chosen."""
    BAD = "bad"
    """Something that went wrong."""
    YELLOW = "yellow"
    BLUE = "blue"
    GREEN = "green"
    ORANGE = "orange"
    PURPLE = "purple"
    SPECIAL = "special"


Segment = tuple[str, Style]
Line = tuple[Segment, ...]

_ASCII = str.maketrans(
    {INHABITANTS: "i", HEARTS: "h", "▶": ">", "…": "~", "→": ">", "←": "<", "↑": "^", "↓": "v", "✓": "+"}
)


def board_text(game: Game) -> str:
    """Return the table and the legal moves of a game as plain text of 80 columns, in ASCII."""
    view = game.view()
    options = [(move, game.coin_change(move)) for move in game.legal_moves]
    lines = [*board_lines(view, outcome=game.outcome), (), *options_lines(view, options)]
    return plain(lines, ascii_only=True).rstrip("\n")


def board_lines(
    view: View, *, bots: Sequence[str] = (), width: int = WIDTH, outcome: Outcome | None = None
) -> list[Line]:
    """Return the table as lines of at most `width` columns (80 or more).

    Inhabitants, hearts and points are those of a game that ends now, or of the `outcome`. Prices are those of
    the seat to decide.
    """
    width = max(WIDTH, width)
    cities = Cities.of_view(view)
    lines: list[Line] = [_heading(view, bots), ()]
    lines += _seats(view, outcome or score(cities), bots, width)
    if view.phase is not Phase.OVER:
        lines += [(), *_market(view, cities), *_specials(view, cities, width)]
    return lines


def options_lines(
    view: View,
    options: Sequence[tuple[Move, int]],
    *,
    bots: Sequence[str] = (),
    width: int = WIDTH,
    chosen: Move | None = None,
) -> list[Line]:
    """Return the numbered legal moves with what each brings; the chosen one is marked.

    `options` are moves with the change of the seat's coins; lines have at most `width` columns.
    """
    before = SeatTotals.of(Cities.of_view(view), view.seat)
    return [
        _option(number, move_in_words(move, coins, bots), hint, width=width, is_chosen=move is chosen)
        for number, (move, coins) in enumerate(options, start=1)
        for hint in [_hint(view, move, before)]
    ]


def plain(lines: Iterable[Line], *, ascii_only: bool = False) -> str:
    """Return lines as text without styles, each with its newline; in ASCII if asked."""
    text = "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)
    return to_ascii(text) if ascii_only else text


def to_ascii(text: str) -> str:
    """Return a text with ASCII's nearest characters, as many as it had."""
    letters = (unicodedata.normalize("NFKD", letter)[:1] for letter in text.translate(_ASCII))
    return "".join(letter if letter.isascii() else "?" for letter in letters)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return wcwidth.width(text)


def fit(text: str, width: int) -> str:
    """Return a text in exactly `width` columns, cut or filled up."""
    if columns(text) > width:
        text = wcwidth.clip(text, 0, width - 1) + "…"
    return wcwidth.ljust(text, width)


_NAME = 26  # columns of a bot's name
_HALF = 39  # columns of what stands next to something else


def _heading(view: View, bots: Sequence[str]) -> Line:
    if view.phase is Phase.OVER:
        return ((f"The game is over after round {view.round}", Style.TITLE),)
    when = "Market draft" if view.phase is Phase.MARKET else f"Round {view.round}"
    name = fit(seat_name(bots, view.seat), _NAME).rstrip()
    return ((f"{when}, {name}: {PHASES[view.phase]}", Style.TITLE),)


def _seats(view: View, outcome: Outcome, bots: Sequence[str], width: int) -> Iterator[Line]:
    bot = _NAME - 1
    points = "points" if view.phase is Phase.OVER else "points now"
    if view.config.scoring is Scoring.SUM:
        points = "points (sum)"
    head = (
        f"  {'seat':<{bot}}{'coins':>6}{'income':>8}{'inhabitants':>12}{'hearts':>8}{points:>13}{'cards':>6}"
    )
    yield ((head, Style.DIM),)
    for seat, city in enumerate(view.cities):
        turns = seat == view.seat and view.phase is not Phase.OVER
        style = Style.TURN if turns else Style.PLAIN
        name = fit(f"{seat + 1} {bots[seat]}" if seat < len(bots) else f"{seat + 1}", bot)
        numbers = (
            f"{view.coins[seat]:>6}{view.incomes[seat]:>+8}{outcome.inhabitants[seat]:>12}"
            f"{outcome.hearts[seat]:>8}{outcome.points[seat]:>13}{len(city):>6}"
        )
        yield (("▶ " if turns else "  ", style), (name, style), (numbers, style))
        cards = [_card(card, card_values(card), _uses(view, seat, card)) for card in city]
        yield from _flow(cards, indent=4, width=width)


def _uses(view: View, seat: int, card: Card) -> str:
    return f" ({view.uses[seat]} left)" if view.uses[seat] and card.kind is CardKind.SPECIAL else ""


def _market(view: View, cities: Cities) -> Iterator[Line]:
    """Lay out centre and dwellings side by side."""
    head = f"{'Centre':<18} price gives", f"{'Dwellings':<21} price gives left"
    yield ((f"{head[0]:<{_HALF}}{head[1]}", Style.DIM),)
    centre = [_offer(view, cities, card, width=15) for card in view.centre]
    dwellings = [
        _offer(view, cities, card, width=18, left=left)
        for card, left in zip(DWELLINGS, view.dwellings, strict=True)
    ]
    for index in range(max(len(centre), len(dwellings))):
        left = centre[index] if index < len(centre) else ()
        right = dwellings[index] if index < len(dwellings) else ()
        gap = " " * (_HALF - _length(left))
        yield (*left, (gap, Style.PLAIN), *right)
    decks = "   ".join(
        f"{deck}: {left} ({len(discarded)})"
        for deck, left, discarded in zip(DECKS, view.decks, view.discards, strict=True)
    )
    yield (("Decks (discarded)   ", Style.DIM), (decks, Style.PLAIN))


def _offer(view: View, cities: Cities, card: Card, *, width: int, left: int | None = None) -> Line:
    """Show a card that is for sale, and why the seat to decide can't buy it, if that is so."""
    price, missing = cities.prices[view.seat][card.number], coins_short(cities, view.seat, card)
    if card in view.cities[view.seat]:
        why = "owned"
    elif left == 0:
        why = "none"
    else:
        why = f"{missing} short" if missing else ""
    style = Style.DIM if why else Style.PLAIN
    stock = "" if left is None else f"x{left} "
    values = f"{card_values(card):<6}" if left is None else f"{card_values(card):<3}"
    return (
        (" ", Style.PLAIN),
        *_badge(card),
        (f" {fit(card_name(card), width)} {price:>3} {values} {stock}{why}", style),
    )


def _specials(view: View, cities: Cities, width: int) -> Iterator[Line]:
    """List the specials on the table; in the expert game with what they do."""
    owns = any(card.kind is CardKind.SPECIAL for card in view.cities[view.seat])
    mode = view.config.mode
    met = [] if owns else cities.eligible(view.seat, view.specials)
    yield ((f"{f'Specials ({mode.value} game)':<23}needs  gives", Style.DIM),)
    entries = [_special(card, is_met=card in met) for card in view.specials]
    if mode is Mode.FAMILY:
        yield from _columns_of(entries, width)
        return
    for card, entry in zip(view.specials, entries, strict=True):
        room = width - _length(entry)
        yield (*entry, (fit(card.effect_text, room).rstrip(), Style.DIM))


def _special(card: Card, *, is_met: bool) -> Line:
    needs = "".join(_LETTERS[colour] * count for colour, count in card.condition.items())
    return (
        ("✓" if is_met else " ", Style.PLAIN),
        *_badge(card),
        (f" {fit(card.name, 18)}  {needs:<5}  {card_values(card):<8} ", Style.PLAIN),
    )


_LETTERS = {1: "Y", 2: "B", 3: "G", 4: "O", 5: "P"}
_COLOURS = {1: Style.YELLOW, 2: Style.BLUE, 3: Style.GREEN, 4: Style.ORANGE, 5: Style.PURPLE}
LEGEND: Line = (
    (f"{COINS} income  {INHABITANTS} inhabitants  {HEARTS} hearts ", Style.DIM),
    *[
        segment
        for colour, word in zip(_LETTERS, ("yellow", "blue", "green", "orange", "purple"), strict=True)
        for segment in ((" ", Style.PLAIN), (_LETTERS[colour], _COLOURS[colour]), (f" {word}", Style.DIM))
    ],
)
"""What letters and symbols mean."""


def _badge(card: Card) -> Line:
    """Return the letter of a card's colour, `*` for a special, `-` for a card without a colour."""
    if card.kind is CardKind.SPECIAL:
        return (("*", Style.SPECIAL),)
    if card.colour is None:
        return (("-", Style.PLAIN),)
    return ((_LETTERS[card.colour], _COLOURS[card.colour]),)


def _card(card: Card, values: str, more: str) -> Line:
    name = "Happy Market" if card.kind is CardKind.MARKET else card.name
    return (*_badge(card), (f" {name}", Style.PLAIN), (f" {values}{more}" if values else more, Style.DIM))


_GAINING = (MoveKind.BUILD, MoveKind.DWELL, MoveKind.TAKE, MoveKind.MARKET)


@dataclass(frozen=True, slots=True)
class SeatTotals:
    """What a seat has if the game ended now."""

    points: int
    income: int
    inhabitants: int
    """The total of the city, which counts as 0 where it is below (article 4.2)."""
    hearts: int
    """The total of the city, as of inhabitants."""

    @classmethod
    def of(cls, cities: Cities, seat: int) -> SeatTotals:
        """Return what a seat has in cities."""
        return cls(points_of(cities, seat), cities.income(seat), *totals(cities, seat))


def totals_after(view: View, move: Move) -> SeatTotals | None:
    """Return what the seat to decide has with the card that a move adds to its city; None if it adds none."""
    adds = move.kind in _GAINING and move.card is not None
    return SeatTotals.of(cities_after(view, move), view.seat) if adds else None


def cities_after(view: View, move: Move) -> Cities:
    """Return the cities with the card that a move adds to the one of the seat to decide, if it adds one.

    What the card brings later, and by its effect at once, is left out.
    """
    cities, seat = Cities.of_view(view), view.seat
    if move.kind in _GAINING and move.card is not None:
        if effect_of(move.card).replaces_last:
            cities.remove_last(seat)
        cities.add(seat, move.card)
    return cities


def coins_short(cities: Cities, seat: int, card: Card) -> int:
    """Return how many coins a seat lacks for a card; 0 if it has enough."""
    return max(0, cities.prices[seat][card.number] - cities.coins[seat])


def colours_short(view: View, cities: Cities) -> dict[Card, dict[Colour, int]]:
    """Return by special of the table how many cards of which colours the city of the seat to decide lacks.

    A city with a special can have no other one, so nothing is returned for it.
    """
    if cities.special_at[view.seat] >= 0:
        return {}
    own = {colour: cities.count(view.seat, colour) for colour in Colour}
    return {
        card: {colour: count - own[colour] for colour, count in card.condition.items() if count > own[colour]}
        for card in view.specials
    }


def deck_prices(deck: int) -> tuple[int, int]:
    """Return the lowest and the highest price of the buildings in a deck."""
    prices = [card.cost for card in BUILDINGS if card.deck == deck]
    return min(prices), max(prices)


def _hint(view: View, move: Move, before: SeatTotals) -> str:
    """Return what a card gives and what it adds to points and income; of a deck, its prices."""
    if move.kind is MoveKind.DRAW:
        lowest, highest = deck_prices(move.number)
        left, discarded = view.decks[move.number - 1], len(view.discards[move.number - 1])
        cards = f"{left} cards left" if left else f"{discarded} discarded cards are shuffled"
        return f"{lowest} to {highest} coins, {cards}"
    after = totals_after(view, move)
    if after is None or move.card is None:
        return ""
    hints = [card_values(move.card)]
    if after.points != before.points:
        hints.append(f"{after.points - before.points:+} points")
    if after.income != before.income:
        hints.append(f"{after.income - before.income:+} income")
    return ", ".join(filter(None, hints)) or move.card.effect_text


def _option(number: int, text: str, hint: str, *, width: int, is_chosen: bool) -> Line:
    style = Style.CHOSEN if is_chosen else Style.PLAIN
    room = width - 42
    line = (
        f"{'▶' if is_chosen else ' '} {number:>2}  {fit(text, 36) if hint else fit(text, width - 6).rstrip()}"
    )
    return ((line, style), (fit(hint, room).rstrip(), Style.DIM))


def _length(line: Line) -> int:
    return sum(columns(text) for text, _ in line)


def _flow(items: Iterable[Line], *, indent: int, width: int) -> Iterator[Line]:
    """Put items one after the other, two spaces apart, on as many lines as they need."""
    line: Line = ((" " * indent, Style.PLAIN),)
    is_empty = True
    for item in items:
        if not is_empty and _length(line) + 2 + _length(item) > width:
            yield line
            line, is_empty = ((" " * indent, Style.PLAIN),), True
        line = (*line, *item) if is_empty else (*line, ("  ", Style.PLAIN), *item)
        is_empty = False
    if not is_empty:
        yield line


def _columns_of(items: Sequence[Line], width: int) -> Iterator[Line]:
    """Put items next to each other, as many as there is room for."""
    count = width // _HALF
    for start in range(0, len(items), count):
        line: Line = ()
        for item in items[start : start + count]:
            line = (*line, *item, (" " * max(0, _HALF - _length(item)), Style.PLAIN))
        yield line
