"""Positions and deals made by hand, for tests of single rules."""

import random
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from happycity import (
    CARDS_BY_ID,
    DWELLINGS,
    Card,
    Colour,
    Config,
    Deal,
    Game,
    Mode,
    Move,
    Outcome,
    Phase,
    Scoring,
    View,
)
from happycity.rules.cards import COLOURED_MARKETS, HAPPY_MARKET, deck_cards, specials_of
from happycity.rules.deals import DECKS, LAST_ROUND
from happycity.rules.effects import EFFECTS

NINE = "grocery shoe_shop school library florist bookshop igloo museum hospital"
"""A city that is full with its Happy Market."""
DECK_3 = "laboratory university spa casino ski_resort zoo treehouse stadium amusement_park"
"""All names of deck 3: two full cities of them leave nothing to draw."""


def card(card_id: str) -> Card:
    return CARDS_BY_ID[card_id]


def cards(ids: str) -> tuple[Card, ...]:
    """Return the cards whose ids `ids` lists, separated by spaces."""
    return tuple(map(card, ids.split()))


def options(game: Game) -> str:
    """Return the legal moves in notation, with commas between them."""
    return ", ".join(map(str, game.legal_moves))


def play(game: Game, *moves: str) -> Game:
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
    players: int = 0,
    mode: Mode = Mode.FAMILY,
    scoring: Scoring = Scoring.PRODUCT,
    round: int = 2,
    seat: int = 0,
    coins: Sequence[int] = (),
    cities: Sequence[str] = (),
    markets: Sequence[str] = (),
    centre: str = "",
    specials: str = "",
    dwellings: Sequence[int] | None = None,
    discards: Sequence[int] = (0, 0, 0),
    uses: Sequence[int] | None = None,
) -> View:
    """Return the view of a position; what isn't specified is as plain as it can be.

    There are as many players as cities, at least 2. Cities are given without their Happy Market; other seats
    have nothing else. In expert mode `markets` has its colours by seat, and the other seats have the first
    colours left. Coins are 2 by default. No special is face up, and the stacks lack the dwellings of the
    cities. `discards` is how many cards of each deck are discarded: the first ones that are nowhere else. No
    limited effect has been used yet. Incomes are the printed ones.
    """
    players = players or max(2, len(cities))
    built_by_seat = map(cards, (*cities, *[""] * (players - len(cities))))
    built = tuple(
        (market, *city) for market, city in zip(_markets(mode, players, markets), built_by_seat, strict=True)
    )
    face_up = sorted(cards(centre), key=attrgetter("number"))
    seen = [*face_up, *(owned for city in built for owned in city)]
    if dwellings is None:
        dwellings = [players - 1 - seen.count(dwelling) for dwelling in DWELLINGS]
    if uses is None:
        uses = [sum(EFFECTS[owned].uses for owned in city if owned in EFFECTS) for city in built]
    unseen = [_without(deck_cards(deck), [known for known in seen if known.deck == deck]) for deck in DECKS]
    return View(
        config=Config(players=players, mode=mode, scoring=scoring),
        round=round,
        seat=seat,
        phase=phase,
        coins=(*coins, *[2] * (players - len(coins))),
        incomes=tuple(sum(owned.income for owned in city) for city in built),
        cities=built,
        centre=tuple(face_up),
        specials=cards(specials),
        dwellings=tuple(dwellings),
        decks=tuple(len(left) - count for left, count in zip(unseen, discards, strict=True)),
        discards=tuple(tuple(left[:count]) for left, count in zip(unseen, discards, strict=True)),
        uses=tuple(uses),
    )


def _without(pile: Iterable[Card], known: Iterable[Card]) -> list[Card]:
    rest = list(pile)
    for each in known:
        rest.remove(each)
    return rest


def _markets(mode: Mode, players: int, colours: Sequence[str]) -> list[Card]:
    if mode is Mode.FAMILY:
        return [HAPPY_MARKET] * players
    left = [str(colour) for colour in Colour if str(colour) not in colours]
    return [COLOURED_MARKETS[Colour[name.upper()]] for name in (*colours, *left)][:players]


def position(phase: Phase, **setup: Any) -> Game:
    """Return a game that looks like `view_with` of the same arguments."""
    return Game.from_view(view_with(phase, **setup), random.Random(1))


def expert(phase: Phase, **setup: Any) -> Game:
    setup["mode"] = Mode.EXPERT
    return position(phase, **setup)


def next_round(**setup: Any) -> Game:
    setup["seat"] = _last_seat(setup)
    return expert(Phase.SPECIAL, **setup)


def last_turn_over(**setup: Any) -> Game:
    """Return an expert game when all turns of its last round are over: it has ended, or a Sphinx chooses."""
    setup["round"] = LAST_ROUND
    return next_round(**setup)


def outcome_of(game: Game) -> Outcome:
    assert game.outcome is not None
    return game.outcome


def price_of(game: Game, seat: int, known: Card) -> int:
    return game.cities.prices[seat][known.number]


def _last_seat(setup: dict[str, Any]) -> int:
    return (setup.get("players") or max(2, len(setup.get("cities", ())))) - 1


def stacked_deal(
    *,
    players: int = 2,
    mode: Mode = Mode.FAMILY,
    seed: int = 0,
    decks: Sequence[str] = ("", "", ""),
    specials: str = "",
    box: str = "",
) -> Deal:
    """Return a deal with the named cards on top of decks 1, 2 and 3, and of the box, and specials face up.

    All that isn't named follows in table order.
    """
    orders = [_first(top, deck_cards(deck)) for deck, top in zip(DECKS, decks, strict=True)]
    unused = cards(box)
    row = _first(specials, [special for special in specials_of(mode) if special not in unused])
    return Deal(
        config=Config(players=players, mode=mode),
        seed=seed,
        decks=(orders[0], orders[1], orders[2]),
        specials=row[: players + 2],
        box=(*unused, *row[players + 2 :]),
    )


def _first(ids: str, pile: Iterable[Card]) -> tuple[Card, ...]:
    return (*cards(ids), *_without(pile, cards(ids)))
