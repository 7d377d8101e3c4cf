from tests.tournament.storage.conftest import path, store, url

__all__ = ["path", "store", "url"]
