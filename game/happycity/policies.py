"""Policies that play a game to its end quickly, by name: what the playouts of a search are played with.

A policy looks at a whole `Game`, but at nothing that a view of it wouldn't tell.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from happycity.cards import Card
from happycity.deals import Scoring
from happycity.effects import EFFECTS, NO_EFFECT
from happycity.game import Game
from happycity.moves import COPY_BOX, Move, MoveKind
from happycity.rulebook import CITY_SIZE
from happycity.scoring import Outcome
from happycity.views import Phase

Policy = Callable[[Game, random.Random], Move]
"""Chooses one of a game's legal moves, of which there are two or more."""

_City = tuple[float, float, float, float]
"""A city's coins, income, inhabitants and hearts."""

SYMBOLS_AT_MOST = 3.2
"""Inhabitants and hearts that one bought card brings if money is no object."""
HALF_PRICE = 3.5
"""Coins a card at which it brings half as much as that."""
COIN_LEFT = 0.02
"""Points that a coin is worth at the end: coins only break ties (article 4.4)."""
STRETCH = 0.72
"""Turns that filling one free position takes: below 1, as a special takes no turn."""
DECK_PURSES = (0, 4, 7)
"""The purse from which decks 1, 2 and 3 are drawn."""

# Members of an enum, bound once: looking one up in its class costs as much as a whole step.
_SUM = Scoring.SUM
_DISCARD, _DRAW, _BUY, _SPECIAL, _MARKET = Phase.DISCARD, Phase.DRAW, Phase.BUY, Phase.SPECIAL, Phase.MARKET


def play_out(game: Game, policy: Policy, rng: random.Random) -> Outcome:
    """Play `game` to its end, all seats by `policy`, and return the outcome."""
    apply = game.apply
    while game.outcome is None:
        apply(policy(game, rng))
    return game.outcome


def random_move(game: Game, rng: random.Random) -> Move:
    """Return any legal move, each as likely as the others."""
    moves = game.legal_moves
    return moves[int(rng.random() * len(moves))]


def quick_move(game: Game, rng: random.Random) -> Move:
    """Return a sensible move at little cost; nothing is left to chance.

    Discard the first card, so that the centre never stands still; draw what the purse can pay; buy, take or
    copy what makes the most of the own city; draft the market whose colour most specials ask for.
    """
    phase = game.phase
    if phase is _DISCARD:
        return game.legal_moves[1]
    if phase is _DRAW:
        return _richest_draw(game)
    if phase is _BUY:
        return _best_card(game)
    if phase is _SPECIAL:
        return _best_special(game)
    if phase is _MARKET:
        return _most_wanted_market(game)
    return _best_copy(game)


POLICIES: Mapping[str, Policy] = {"quick": quick_move, "random": random_move}
"""All policies by name."""


def _richest_draw(game: Game) -> Move:
    moves, coins = game.legal_moves, game.coins(game.seat)
    for move in reversed(moves):
        if DECK_PURSES[move.number - 1] <= coins:
            return move
    return moves[0]


def _most_wanted_market(game: Game) -> Move:
    specials = game.view().specials

    def wanted(move: Move) -> int:
        assert move.card is not None
        return sum([move.card.colour in special.condition for special in specials])

    return max(game.legal_moves, key=wanted)


def _turns_to_come(game: Game, free: int) -> float:
    """Estimate the turns that a city with so many free positions has left after this one.

    The game ends once a city is full, and the fullest one gets a card in each round.
    """
    sizes = [len(game.city(seat)) for seat in range(game.config.players)]
    return min(CITY_SIZE - max(sizes), free * STRETCH)


def _city(game: Game, seat: int) -> _City:
    return game.coins(seat), game.income(seat), *game.symbols(seat)


def _prospect(scoring: Scoring, turns: float, city: _City) -> float:
    """Estimate the points at the end of a city with so many turns to come.

    The money still to come is spread over the cards still to be bought. A card brings the more symbols the
    more is spent on it, with diminishing returns; they make up for whichever of inhabitants and hearts is
    behind, then for both.
    """
    coins, income, inhabitants, hearts = city
    money = coins + income * turns
    symbols = SYMBOLS_AT_MOST * turns * money / (money + HALF_PRICE * turns) if turns and money > 0 else 0.0
    spare = COIN_LEFT * coins
    if scoring is _SUM:
        return inhabitants + hearts + symbols + spare
    if abs(inhabitants - hearts) <= symbols:
        even = (inhabitants + hearts + symbols) / 2
        return even * even + spare
    behind, ahead = (hearts, inhabitants) if inhabitants > hearts else (inhabitants, hearts)
    behind += symbols
    return behind * ahead + spare if behind > 0 else spare


def _best_card(game: Game) -> Move:
    moves, seat, scoring = game.legal_moves, game.seat, game.config.scoring
    coins, income, inhabitants, hearts = _city(game, seat)
    free = CITY_SIZE - len(game.city(seat))
    idle = coins + game.coins_for_nothing(seat)
    choice = moves[0]  # the coin
    best = _prospect(scoring, _turns_to_come(game, free), (idle, income, inhabitants, hearts))
    turns = _turns_to_come(game, free - 1)
    for move in moves:
        card = move.card
        if card is not None:
            left, paid = coins - game.price(seat, card), income + card.income
            city = (left, paid, inhabitants + card.inhabitants, hearts + card.hearts)
            worth = _prospect(scoring, turns, city)
            if worth > best:
                choice, best = move, worth
    return choice


def _best_special(game: Game) -> Move:
    seat = game.seat
    turns = _turns_to_come(game, CITY_SIZE - len(game.city(seat)))
    choice = game.legal_moves[0]  # to decline
    best = _prospect(game.config.scoring, turns, _city(game, seat))
    for move in game.legal_moves[1:]:
        assert move.card is not None
        worth = _worth_with(game, seat, move.card)
        if worth > best:
            choice, best = move, worth
    return choice


def _worth_with(game: Game, seat: int, special: Card) -> float:
    """Estimate the points at the end of a city that takes a special."""
    effect = EFFECTS.get(special, NO_EFFECT)
    free = CITY_SIZE - len(game.city(seat)) - (0 if effect.replaces_last else 1)
    city = _city_with(game, seat, special)
    worth = _prospect(game.config.scoring, _turns_to_come(game, free), city)
    if effect is not NO_EFFECT:
        # What effects do besides is rarely worth less than the cards that the special asks for.
        worth += sum(special.condition.values())
    return worth if effect.points is None else effect.points(game, seat, round(worth))


def _city_with(game: Game, seat: int, special: Card) -> _City:
    """Return a city that takes a special: the printed values, and what the effect would give now."""
    effect, cards = EFFECTS.get(special, NO_EFFECT), game.city(seat)
    coins, income, inhabitants, hearts = _city(game, seat)
    income, inhabitants, hearts = (
        income + special.income,
        inhabitants + special.inhabitants,
        hearts + special.hearts,
    )
    if effect.income is not None:
        income += effect.income(game, seat, len(cards))
    if effect.inhabitants is not None:
        inhabitants += effect.inhabitants(game, seat, len(cards))
    if effect.hearts is not None:
        hearts += effect.hearts(game, seat, len(cards))
    if effect.replaces_last:
        lost = cards[-1]
        return coins, income - lost.income, inhabitants - lost.inhabitants, hearts - lost.hearts
    return coins, income, inhabitants, hearts


def _best_copy(game: Game) -> Move:
    """Return the copy of an opponent's special that ends best; the box is not to be looked into."""
    choice, best = game.neutral_move, -1
    for move in game.legal_moves:
        if move.kind is MoveKind.COPY and move is not COPY_BOX:
            ending = game.copy()
            ending.apply(move)
            assert ending.outcome is not None
            if ending.outcome.points[game.seat] > best:
                choice, best = move, ending.outcome.points[game.seat]
    return choice
