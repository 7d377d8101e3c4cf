"""The rules engine: cards, deals, moves, games. No I/O but its card tables, no clock, no own randomness."""

from happycity.rules.cards import (
    BUILDINGS,
    CARDS,
    CARDS_BY_ID,
    COLOURED_MARKETS,
    DWELLINGS,
    HAPPY_MARKET,
    SPECIALS,
    Card,
    CardKind,
    Colour,
    Mode,
    cards_of_kind,
    deck_cards,
    specials_of,
)
from happycity.rules.cities import Cities
from happycity.rules.deals import DECKS, MAX_SEED, Config, Deal, Scoring, reshuffle_rng, shuffled
from happycity.rules.effects import EFFECTS, NO_EFFECT, Effect, Gains, Occasion, Table, effect_of
from happycity.rules.game import Game
from happycity.rules.moves import COPY_BOX, Move, MoveKind
from happycity.rules.rulebook import CENTRE_SIZE, CITY_SIZE, LAST_ROUND, START_COINS, happiness
from happycity.rules.scoring import Outcome, rank, score
from happycity.rules.views import Event, EventKind, Phase, View

__all__ = [
    "BUILDINGS",
    "CARDS",
    "CARDS_BY_ID",
    "CENTRE_SIZE",
    "CITY_SIZE",
    "COLOURED_MARKETS",
    "COPY_BOX",
    "DECKS",
    "DWELLINGS",
    "EFFECTS",
    "HAPPY_MARKET",
    "LAST_ROUND",
    "MAX_SEED",
    "NO_EFFECT",
    "SPECIALS",
    "START_COINS",
    "Card",
    "CardKind",
    "Cities",
    "Colour",
    "Config",
    "Deal",
    "Effect",
    "Event",
    "EventKind",
    "Gains",
    "Game",
    "Mode",
    "Move",
    "MoveKind",
    "Occasion",
    "Outcome",
    "Phase",
    "Scoring",
    "Table",
    "View",
    "cards_of_kind",
    "deck_cards",
    "effect_of",
    "happiness",
    "rank",
    "reshuffle_rng",
    "score",
    "shuffled",
    "specials_of",
]
