from tests.tournament.storage.conftest import store

__all__ = ["store"]
