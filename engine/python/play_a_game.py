"""Play a game at random by the installed wheel, which needs nothing else: a check for each platform."""

import random
import sys
from enum import Enum
from typing import NamedTuple

from happycity_engine import Position


class Mode(Enum):
    """The modes, as `happycity.Mode`."""

    EXPERT = "expert"


class Scoring(Enum):
    """The scorings, as `happycity.Scoring`."""

    PRODUCT = "product"


class Config(NamedTuple):
    """A kind of game, as `happycity.Config`."""

    players: int = 4
    mode: Mode = Mode.EXPERT
    scoring: Scoring = Scoring.PRODUCT


rng, position = random.Random(1), Position.deal(Config(), seed=1)
while position.outcome is None:
    position.apply(rng.choice(position.legal_moves))
sys.stdout.write(f"{position.outcome}\n")
