"""Positions and deals made by hand, for tests of single rules."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from operator import attrgetter

from happycity import (
    CARDS_BY_ID,
    DWELLINGS,
    Card,
    Config,
    Deal,
    Game,
    Mode,
    Move,
    Phase,
    Scoring,
    View,
)
from happycity.cards import HAPPY_MARKET, deck_cards, specials_of
from happycity.deals import DECKS

# Cities one card short of full beside their Happy Market, and full ones.
EIGHT = "grocery shoe_shop school library florist bookshop igloo museum"
NINE = f"{EIGHT} hospital"
DECK_3 = "laboratory university spa casino ski_resort zoo treehouse stadium amusement_park"
"""All names of deck 3: two full cities of them leave nothing to draw."""
DECK_2_BUT_OFFICES = (
    "museum observatory hospital hardware_store perfumery shopping_centre garage grand_hotel restaurant"
)


def card(card_id: str) -> Card:
    return CARDS_BY_ID[card_id]


def cards(ids: str) -> tuple[Card, ...]:
    """Return the cards whose ids `ids` lists, separated by spaces."""
    return tuple(map(card, ids.split()))


def options(game: Game) -> list[str]:
    """Return the notation of the legal moves."""
    return [str(move) for move in game.legal_moves]


def play(game: Game, *moves: str) -> Game:
    """Play `moves`, given in notation, and return the game."""
    for text in moves:
        game.apply(Move.parse(text))
    return game


def skip_to(game: Game, phase: Phase, *, seat: int) -> Game:
    """Play neutral moves up to the next decision of `seat` in `phase`, and return the game."""
    while (game.seat, game.phase) != (seat, phase):
        game.apply(game.neutral_move)
    return game


def view_with(
    phase: Phase,
    *,
    players: int = 2,
    scoring: Scoring = Scoring.PRODUCT,
    round: int = 2,
    seat: int = 0,
    coins: Sequence[int] = (),
    cities: Sequence[str] = (),
    centre: str = "",
    specials: str = "",
    dwellings: Sequence[int] | None = None,
    discards: Sequence[int] = (0, 0, 0),
) -> View:
    """Return the view of a position; what isn't told is as plain as it can be.

    Cities are told without their Happy Market; seats not told have nothing else. Coins not told are 2. No
    special is face up, no card of the decks is discarded, and the stacks lack the dwellings of the cities.
    """
    untold = players - len(cities)
    built = tuple((HAPPY_MARKET, *cards(city)) for city in (*cities, *[""] * untold))
    face_up = sorted(cards(centre), key=attrgetter("number"))
    seen = [*face_up, *(owned for city in built for owned in city)]
    if dwellings is None:
        dwellings = [players - 1 - seen.count(dwelling) for dwelling in DWELLINGS]
    hidden = [len(deck_cards(deck)) - sum(known.deck == deck for known in seen) for deck in DECKS]
    return View(
        config=Config(players=players, scoring=scoring),
        round=round,
        seat=seat,
        phase=phase,
        coins=(*coins, *[2] * (players - len(coins))),
        incomes=tuple(sum(owned.income for owned in city) for city in built),
        cities=built,
        centre=tuple(face_up),
        specials=cards(specials),
        dwellings=tuple(dwellings),
        decks=tuple(count - discarded for count, discarded in zip(hidden, discards, strict=True)),
        discards=tuple(discards),
    )


def position(
    phase: Phase,
    *,
    players: int = 2,
    scoring: Scoring = Scoring.PRODUCT,
    round: int = 2,
    seat: int = 0,
    coins: Sequence[int] = (),
    cities: Sequence[str] = (),
    centre: str = "",
    specials: str = "",
    dwellings: Sequence[int] | None = None,
    discards: Sequence[int] = (0, 0, 0),
) -> Game:
    """Return a game that looks like `view_with` of the same arguments."""
    view = view_with(
        phase,
        players=players,
        scoring=scoring,
        round=round,
        seat=seat,
        coins=coins,
        cities=cities,
        centre=centre,
        specials=specials,
        dwellings=dwellings,
        discards=discards,
    )
    return Game.from_view(view, random.Random(1))


def stacked_deal(
    *, players: int = 2, seed: int = 0, decks: Sequence[str] = ("", "", ""), specials: str = ""
) -> Deal:
    """Return a deal with the named cards on top of decks 1, 2 and 3, and the named specials face up.

    All that isn't named follows in table order.
    """
    orders = [_first(top, deck_cards(deck)) for deck, top in zip(DECKS, decks, strict=True)]
    row = _first(specials, specials_of(Mode.FAMILY))
    return Deal(
        config=Config(players=players),
        seed=seed,
        decks=(orders[0], orders[1], orders[2]),
        specials=row[: players + 2],
        box=row[players + 2 :],
    )


def _first(ids: str, pile: Iterable[Card]) -> tuple[Card, ...]:
    rest = list(pile)
    for named in cards(ids):
        rest.remove(named)
    return (*cards(ids), *rest)
