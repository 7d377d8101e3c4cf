"""Where games are kept: the store of a server, and the files and stores that games are read from."""

from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.database import StoreError
from happycity_tournament.storage.store import Progress, Store, StoredTournament, Troubles

__all__ = ["AsyncStore", "Progress", "Store", "StoreError", "StoredTournament", "Troubles"]
