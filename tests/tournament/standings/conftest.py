from __future__ import annotations

from tests.tournament.play.conftest import store

__all__ = ["store"]
