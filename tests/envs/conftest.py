"""A tournament whose games are made into data sets."""

from tests.tournament.conftest import played, run

__all__ = ["played", "run"]
