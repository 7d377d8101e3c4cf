"""Happy City: rules engine, views and records.

The ground floor of the arena. It does no I/O beyond its own card tables, reads no clock, and takes its
randomness from the caller.
"""

from happycity.cards import CARDS, CARDS_BY_ID, DWELLINGS, Card, CardKind, Colour, Mode
from happycity.deals import Config, Deal, Scoring
from happycity.errors import (
    ConfigError,
    DealError,
    HappyCityError,
    IllegalMoveError,
    InvalidMoveError,
    RecordError,
    ReplayError,
)
from happycity.game import Game
from happycity.moves import Move, MoveKind
from happycity.scoring import Outcome
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity.views import Event, EventKind, Phase, View

__all__ = [
    "CARDS",
    "CARDS_BY_ID",
    "DWELLINGS",
    "Card",
    "CardKind",
    "Colour",
    "Config",
    "ConfigError",
    "Deal",
    "DealError",
    "Event",
    "EventKind",
    "FailurePolicy",
    "Fallback",
    "Game",
    "HappyCityError",
    "IllegalMoveError",
    "InvalidMoveError",
    "Mode",
    "Move",
    "MoveKind",
    "Outcome",
    "Phase",
    "RecordError",
    "ReplayError",
    "Scoring",
    "TimeControl",
    "View",
]
