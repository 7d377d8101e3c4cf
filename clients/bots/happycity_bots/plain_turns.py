"""Turns of a playout in which no effect is at work: the same as by moves, at half the cost."""

from __future__ import annotations

from bisect import insort
from typing import Final

from happycity.rules.cities import CARD
from happycity.rules.game import PILE, STACK, Game
from happycity.rules.rulebook import CENTRE_SIZE, CITY_SIZE, LAST_ROUND
from happycity_bots.outlook import VALUES, outlooks

FAIR_PURSE: Final = 4
"""The purse from which deck 2 is drawn in a playout."""
RICH_PURSE: Final = 7
"""The purse from which deck 3 is drawn."""

_POOR: Final = (0, 1, 2)
_FAIR: Final = (1, 0, 2)
_RICH: Final = (2, 1, 0)
_COST: Final = tuple(card.cost for card in CARD)
_STACKS: Final = tuple(STACK.items())
_NOBODY: Final = (False,) * 5


def piles_for(coins: int) -> tuple[int, int, int]:
    """Return the piles (0-2) in the order in which a city with so many coins draws from them."""
    if coins >= RICH_PURSE:
        return _RICH
    return _FAIR if coins >= FAIR_PURSE else _POOR


def play_plain_turns(game: Game, fast: tuple[bool, ...]) -> None:  # noqa: PLR0912 - calls are dear here
    """Play on from a discard step, all seats as by `quick_move`, until a special can be taken or at the end.

    No city may have an effect, and the game may not be an open one. There are no moves and no events: this is
    a second form of the rules for playouts, held to the first by a test that plays the same games by moves.
    """
    cities, seats, scoring, fast = game.cities, game.config.players, game.config.scoring, fast or _NOBODY
    coins, cards, incomes = cities.coins, cities.cards, cities.printed_incomes
    left, centre = game.dwellings, game.centre
    symbols = [cities.symbols(seat) for seat in range(seats)]
    most, seat = max([len(city) for city in cards]), game.seat
    while True:
        purse, (inhabitants, hearts) = coins[seat], symbols[seat]
        _refresh_centre(game, purse)
        by_positions, free = outlooks(scoring, CITY_SIZE - most), CITY_SIZE - len(cards[seat])
        best, bought = -1.0, 0  # any card makes more
        if not fast[seat]:
            best = by_positions[free].points(purse + 1, incomes[seat], inhabitants, hearts)
        owned = cities.owned[seat]
        numbers = [number for number in centre if _COST[number] <= purse and not owned >> number & 1]
        for number, stack in _STACKS:
            if _COST[number] <= purse and left[stack] and not owned >> number & 1:
                numbers.append(number)
        if numbers:
            worths = by_positions[free - 1].after_buying(numbers, purse, incomes[seat], inhabitants, hearts)
            if max(worths) > best:
                bought = numbers[worths.index(max(worths))]
        if bought:
            coins[seat] = purse - _COST[bought]
            if PILE[bought] < 0:
                left[STACK[bought]] -= 1
            else:
                centre.remove(bought)
            cities.add(seat, CARD[bought])
            _, people, love, _ = VALUES[bought]
            symbols[seat] = (inhabitants + people, hearts + love)
            most = max(most, CITY_SIZE + 1 - free)
        else:
            coins[seat] = purse + 1
        if cities.special_at[seat] < 0 and cities.eligible(seat, game.specials):
            game.seat = seat
            game._special_step()
            return
        seat += 1
        if seat == seats:
            if cities.full or game.round == LAST_ROUND:
                game._end()
                return
            seat, game.round = 0, game.round + 1
            for owner, income in enumerate(incomes):
                coins[owner] += income


def _refresh_centre(game: Game, purse: int) -> None:
    """Discard the first card of the centre, and draw by what the purse can pay (articles 3.3-3.5)."""
    centre, decks, discards = game.centre, game._decks, game._discards
    if centre:
        number = centre.pop(0)
        discards[PILE[number]].append(number)
    piles = piles_for(purse)
    while len(centre) < CENTRE_SIZE:
        for pile in piles:
            if decks[pile]:
                break
            if discards[pile]:
                game._rebuild(pile)
                break
        else:
            return
        insort(centre, decks[pile].pop())
