"""Moves as numbers: one fixed numbering for every mode and number of players."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from happycity.errors import ConfigError
from happycity.rules.moves import Move

ACTION_NUMBERING: Final = 1
"""The version of the numbering. It goes up whenever a number gets another meaning."""
ACTIONS: Final[tuple[Move, ...]] = tuple(Move.all())
"""The move with each number."""
ACTION_COUNT: Final = len(ACTIONS)

_NUMBERS: Final = {move: number for number, move in enumerate(ACTIONS)}


def action_of(move: Move) -> int:
    """Return the number of a move, 0 to `ACTION_COUNT` - 1."""
    return _NUMBERS[move]


def move_of(action: int) -> Move:
    """Return the move with a number that a learner chose.

    Raises:
        ConfigError: no move has the number; a negative one would count from the end.
    """
    if not 0 <= action < ACTION_COUNT:
        raise ConfigError(f"action: {action} is not between 0 and {ACTION_COUNT - 1}")
    return ACTIONS[action]


def write_masks(options: Iterable[Sequence[Move]], out: NDArray[np.int8]) -> None:
    """Write for each row of `out` (rows x `ACTION_COUNT`) which actions are legal: 1, or else 0."""
    out.fill(0)
    flat = out.reshape(-1)
    flat[[row * ACTION_COUNT + _NUMBERS[move] for row, moves in enumerate(options) for move in moves]] = 1


def mask_of(moves: Sequence[Move]) -> NDArray[np.int8]:
    """Return a mask of all actions: 1 for those of `moves`, or else 0."""
    mask = np.empty(ACTION_COUNT, np.int8)
    write_masks([moves], mask[np.newaxis])
    return mask
