"""What bots and programs need of the rules; `happycity` has these names."""

from happycity.errors import (
    ConfigError,
    DealError,
    HappyCityError,
    IllegalMoveError,
    InvalidMoveError,
    RecordError,
    ReplayError,
)
from happycity.match import (
    BotInfo,
    Ending,
    FailurePolicy,
    Fallback,
    Incident,
    IncidentKind,
    SeatResult,
    TimeControl,
    VoidReason,
)
from happycity.rules.cards import CARDS, CARDS_BY_ID, DWELLINGS, Card, CardKind, Colour, Mode
from happycity.rules.deals import Config, Deal, Scoring
from happycity.rules.game import Game
from happycity.rules.moves import Move, MoveKind
from happycity.rules.scoring import Outcome
from happycity.rules.views import Event, EventKind, Phase, View

__all__ = [
    "CARDS",
    "CARDS_BY_ID",
    "DWELLINGS",
    "BotInfo",
    "Card",
    "CardKind",
    "Colour",
    "Config",
    "ConfigError",
    "Deal",
    "DealError",
    "Ending",
    "Event",
    "EventKind",
    "FailurePolicy",
    "Fallback",
    "Game",
    "HappyCityError",
    "IllegalMoveError",
    "Incident",
    "IncidentKind",
    "InvalidMoveError",
    "Mode",
    "Move",
    "MoveKind",
    "Outcome",
    "Phase",
    "RecordError",
    "ReplayError",
    "Scoring",
    "SeatResult",
    "TimeControl",
    "View",
    "VoidReason",
]
